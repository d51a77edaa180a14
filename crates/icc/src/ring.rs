//! A queue of records between one producer and one consumer, in words that both can reach.
//!
//! A record is a header word (low half: payload bytes, high half: a tag for the layer above) and
//! its payload rounded up to words. Positions count words since the ring was formatted and never
//! wrap in practice (2^64 words); `position & mask` is the place. Payload words are relaxed
//! atomics: on every machine we run on they are plain loads and stores, and a peer that scribbles
//! cannot make them undefined behaviour. The producer's position is stored with release after the
//! words, the consumer's after it has copied them out.

use crate::memory::Memory;
use crate::sync::Ordering;

/// Words before the data: the producer's position and the consumer's, a cache line each, each
/// followed by a line that stays empty so that adjacent-line prefetch does not join them.
const PREFIX: usize = 32;
const CONSUMER: usize = 16;

/// What went wrong at a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RingError {
    /// No room now.
    Full,
    /// The record could never fit.
    TooLong { most: usize },
    /// The buffer is too small; the record is still there.
    Buffer { needs: usize },
    /// The other side left a position or length that cannot be.
    Corrupt,
}

/// Where a ring lies in its memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// First word.
    pub(crate) first: usize,
    /// Data words, a power of two.
    pub(crate) capacity: usize,
}

impl Place {
    /// Words that the ring takes in all.
    pub(crate) const fn words(capacity: usize) -> usize {
        PREFIX + capacity
    }

    fn data(self, position: u64) -> usize {
        self.first + PREFIX + (position as usize & (self.capacity - 1))
    }
}

/// The writing end.
pub(crate) struct Producer<M> {
    memory: M,
    place: Place,
    written: u64,
    consumed: u64,
}

impl<M: Memory> Producer<M> {
    /// Takes up the ring where its last producer left it.
    pub(crate) fn new(memory: M, place: Place) -> Self {
        let written = memory.word(place.first).load(Ordering::Acquire);
        let consumed = memory.word(place.first + CONSUMER).load(Ordering::Acquire);
        Self {
            memory,
            place,
            written,
            consumed,
        }
    }

    pub(crate) fn send(&mut self, tag: u32, payload: &[u8]) -> Result<(), RingError> {
        let capacity = self.place.capacity as u64;
        let needs = 1 + payload.len().div_ceil(8) as u64;
        if needs > capacity {
            return Err(RingError::TooLong {
                most: (self.place.capacity - 1) * 8,
            });
        }
        if self.room()? < needs {
            self.consumed = self
                .memory
                .word(self.place.first + CONSUMER)
                .load(Ordering::Acquire);
            if self.room()? < needs {
                return Err(RingError::Full);
            }
        }
        let header = u64::from(tag) << 32 | payload.len() as u64;
        self.put(0, header);
        for (index, bytes) in payload.chunks(8).enumerate() {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            self.put(1 + index as u64, u64::from_le_bytes(word));
        }
        self.written += needs;
        self.memory
            .word(self.place.first)
            .store(self.written, Ordering::Release);
        Ok(())
    }

    /// Free words by the consumer's position as last read.
    fn room(&self) -> Result<u64, RingError> {
        let used = self
            .written
            .checked_sub(self.consumed)
            .ok_or(RingError::Corrupt)?;
        (self.place.capacity as u64)
            .checked_sub(used)
            .ok_or(RingError::Corrupt)
    }

    fn put(&self, offset: u64, word: u64) {
        self.memory
            .word(self.place.data(self.written + offset))
            .store(word, Ordering::Relaxed);
    }
}

/// The reading end.
pub(crate) struct Consumer<M> {
    memory: M,
    place: Place,
    written: u64,
    consumed: u64,
}

impl<M: Memory> Consumer<M> {
    /// Takes up the ring where its last consumer left it.
    pub(crate) fn new(memory: M, place: Place) -> Self {
        let consumed = memory.word(place.first + CONSUMER).load(Ordering::Acquire);
        Self {
            memory,
            place,
            written: consumed,
            consumed,
        }
    }

    /// Copies the next record into `buffer`: its tag and its length in bytes, or `None` when there
    /// is none. A record longer than `buffer` stays and is reported with its length.
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<(u32, usize)>, RingError> {
        if self.written == self.consumed {
            self.written = self.memory.word(self.place.first).load(Ordering::Acquire);
            if self.written == self.consumed {
                return Ok(None);
            }
        }
        let ready = self
            .written
            .checked_sub(self.consumed)
            .filter(|&words| words <= self.place.capacity as u64)
            .ok_or(RingError::Corrupt)?;
        let header = self.get(0);
        let length = (header & u64::from(u32::MAX)) as usize;
        let words = 1 + length.div_ceil(8) as u64;
        if words > ready {
            return Err(RingError::Corrupt);
        }
        let Some(target) = buffer.get_mut(..length) else {
            return Err(RingError::Buffer { needs: length });
        };
        for (index, bytes) in target.chunks_mut(8).enumerate() {
            let word = self.get(1 + index as u64).to_le_bytes();
            bytes.copy_from_slice(&word[..bytes.len()]);
        }
        self.consumed += words;
        self.memory
            .word(self.place.first + CONSUMER)
            .store(self.consumed, Ordering::Release);
        Ok(Some(((header >> 32) as u32, length)))
    }

    fn get(&self, offset: u64) -> u64 {
        self.memory
            .word(self.place.data(self.consumed + offset))
            .load(Ordering::Relaxed)
    }
}

#[cfg(all(test, feature = "loom"))]
mod model {
    use super::*;
    use crate::memory::Heap;

    /// Every interleaving of two sends and the receives that wait for them: order kept, nothing
    /// lost, nothing seen before it is whole, and the reused words never mix two records.
    #[test]
    fn two_records_through_a_ring_of_two_words() {
        loom::model(|| {
            let place = Place {
                first: 0,
                capacity: 2,
            };
            let memory = Heap::new(Place::words(place.capacity));
            let mut producer = Producer::new(memory.clone(), place);
            let sender = loom::thread::spawn(move || {
                for value in [7_u64, 9] {
                    while producer.send(value as u32, &value.to_le_bytes()).is_err() {
                        loom::thread::yield_now();
                    }
                }
            });
            let mut consumer = Consumer::new(memory, place);
            for expected in [7_u64, 9] {
                let mut buffer = [0; 8];
                loop {
                    if let Some((tag, length)) = consumer.receive(&mut buffer).unwrap() {
                        assert_eq!((u64::from(tag), length), (expected, 8));
                        assert_eq!(u64::from_le_bytes(buffer), expected);
                        break;
                    }
                    loom::thread::yield_now();
                }
            }
            sender.join().unwrap();
        });
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;
    use crate::memory::Heap;

    const PLACE: Place = Place {
        first: 3,
        capacity: 64,
    };

    fn ring() -> (Heap, Producer<Heap>, Consumer<Heap>) {
        let memory = Heap::new(PLACE.first + Place::words(PLACE.capacity));
        let producer = Producer::new(memory.clone(), PLACE);
        let consumer = Consumer::new(memory.clone(), PLACE);
        (memory, producer, consumer)
    }

    proptest! {
        /// Against a queue: any mix of sends and receives, with the ends re-attached now and then.
        #[test]
        fn behaves_as_a_bounded_queue(
            steps in prop::collection::vec((any::<u8>(), 0_usize..120), 1..200),
        ) {
            let (memory, mut producer, mut consumer) = ring();
            let mut model = VecDeque::new();
            let mut used = 0;
            for (index, (kind, length)) in steps.into_iter().enumerate() {
                match kind % 5 {
                    0..=1 => {
                        let payload = vec![index as u8; length];
                        let words = 1 + length.div_ceil(8);
                        let sent = producer.send(index as u32, &payload);
                        if used + words <= PLACE.capacity {
                            prop_assert_eq!(sent, Ok(()));
                            used += words;
                            model.push_back((index as u32, payload));
                        } else {
                            prop_assert_eq!(sent, Err(RingError::Full));
                        }
                    }
                    2..=3 => {
                        let mut buffer = [0; 512];
                        let got = consumer.receive(&mut buffer).unwrap();
                        let want = model.pop_front();
                        used -= want
                            .as_ref()
                            .map_or(0, |(_, payload)| 1 + payload.len().div_ceil(8));
                        prop_assert_eq!(
                            got.map(|(tag, length)| (tag, buffer[..length].to_vec())),
                            want
                        );
                    }
                    _ => {
                        producer = Producer::new(memory.clone(), PLACE);
                        consumer = Consumer::new(memory.clone(), PLACE);
                    }
                }
            }
        }

        /// Whatever the other side writes, receiving ends in a record, in nothing, or in an error.
        #[test]
        fn never_trusts_the_other_side(
            words in prop::collection::vec(any::<u64>(), 1..12),
            position in any::<u64>(),
        ) {
            let (memory, mut producer, mut consumer) = ring();
            for (index, word) in words.iter().enumerate() {
                memory.word(PLACE.first + PREFIX + index).store(*word, Ordering::Relaxed);
            }
            memory.word(PLACE.first).store(position, Ordering::Relaxed);
            let mut buffer = [0; 64];
            for _ in 0..4 {
                let _ = consumer.receive(&mut buffer);
            }
            memory.word(PLACE.first + CONSUMER).store(position, Ordering::Relaxed);
            for _ in 0..4 {
                let _ = producer.send(0, &[0; 400]);
            }
        }
    }

    #[test]
    fn a_record_that_can_never_fit_says_how_long_it_may_be() {
        let (_, mut producer, _) = ring();
        assert_eq!(
            producer.send(0, &[0; 505]),
            Err(RingError::TooLong { most: 504 })
        );
        assert_eq!(producer.send(0, &[0; 504]), Ok(()));
    }

    #[test]
    fn a_small_buffer_keeps_the_record() {
        let (_, mut producer, mut consumer) = ring();
        producer.send(1, b"twelve bytes").unwrap();
        let mut small = [0; 4];
        assert_eq!(
            consumer.receive(&mut small),
            Err(RingError::Buffer { needs: 12 })
        );
        let mut large = [0; 12];
        assert_eq!(consumer.receive(&mut large), Ok(Some((1, 12))));
        assert_eq!(&large, b"twelve bytes");
    }

    #[test]
    fn a_length_beyond_what_is_there_is_corrupt() {
        let (memory, _, mut consumer) = ring();
        memory
            .word(PLACE.first + PREFIX)
            .store(1_000, Ordering::Relaxed);
        memory.word(PLACE.first).store(2, Ordering::Relaxed);
        assert_eq!(consumer.receive(&mut [0; 2_000]), Err(RingError::Corrupt));
    }
}
