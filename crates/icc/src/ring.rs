//! A queue of records between one producer and one consumer, in words that both can reach.
//!
//! A record is a header word (low half: payload bytes, high half: a tag for the layer above) and
//! its payload rounded up to words. Positions count words since the ring was formatted and never
//! wrap in practice (2^64 words); `position & mask` is the place. Payload words are relaxed
//! atomics: on every machine we run on they are plain loads and stores, and a peer that scribbles
//! cannot make them undefined behaviour. The producer's position is stored with release after the
//! words, the consumer's after it has copied them out.

use super::memory::Memory;
use super::sync::Ordering;

/// Words before the data: the producer's position and the consumer's, a cache line each, each
/// followed by a line that stays empty so that adjacent-line prefetch does not join them.
pub(crate) const PREFIX: usize = 32;
pub(crate) const CONSUMER: usize = 16;

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
