//! The ring against a queue, and against a hostile other side. Apart from it, since
//! `tests/loom.rs` compiles the ring alone.

use std::collections::VecDeque;

use proptest::prelude::*;

use crate::memory::{Heap, Memory};
use crate::ring::{CONSUMER, Consumer, PREFIX, Place, Producer, RingError};
use crate::sync::Ordering;

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
