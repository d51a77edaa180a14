//! The reading end of a ring buffer that programs write (`BPF_MAP_TYPE_RINGBUF`).
//!
//! The kernel's memory is mapped here: what is read is where the program wrote it. A record is the
//! reader's until the next one is asked for; then the program may write there again. Records that find no room
//! are lost, which the program counts.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use memmap2::{MmapOptions, MmapRaw};

const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;
/// In front of each record: its length with the bits above, and what the kernel needs.
const HEADER: usize = 8;
const PAGE: usize = 4096;

/// A ring buffer of which this is the only reader.
#[derive(Debug)]
pub struct Ring {
    /// How far we have read: the first page.
    consumer: MmapRaw,
    /// How far programs have written, a page; behind it the records, twice in a row.
    producer: MmapRaw,
    bytes: usize,
    /// Of records.
    at: u64,
    /// How far the record that was handed out reaches.
    end: u64,
}

impl Ring {
    /// Maps a ring buffer of `bytes` bytes, a power of two.
    ///
    /// # Errors
    /// The kernel's: no ring buffer, or another size.
    pub fn new(ring: impl AsFd, bytes: usize) -> io::Result<Self> {
        let ring = ring.as_fd().try_clone_to_owned()?;
        if !bytes.is_power_of_two() || bytes < PAGE {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let consumer = MmapOptions::new().len(PAGE).map_raw(&ring)?;
        let producer = MmapOptions::new()
            .offset(PAGE as u64)
            .len(PAGE + 2 * bytes)
            .map_raw_read_only(&ring)?;
        let mut ring = Self {
            consumer,
            producer,
            bytes,
            at: 0,
            end: 0,
        };
        ring.at = ring.read().load(Ordering::Acquire);
        ring.end = ring.at;
        Ok(ring)
    }

    /// How far we have read.
    #[expect(clippy::cast_ptr_alignment, reason = "the beginning of a page")]
    fn read(&self) -> &AtomicU64 {
        // SAFETY: the first word of a mapped page, which programs read and only we write, as the
        // atomic that it is for both.
        unsafe { &*self.consumer.as_mut_ptr().cast::<AtomicU64>() }
    }

    /// How far programs have written.
    #[expect(clippy::cast_ptr_alignment, reason = "the beginning of a page")]
    fn written(&self) -> u64 {
        // SAFETY: the first word of a mapped page, which the kernel writes by atomic stores.
        let word = unsafe { &*self.producer.as_ptr().cast::<AtomicU64>() };
        word.load(Ordering::Acquire)
    }

    /// What is said in front of the record at a multiple of 8 bytes.
    #[expect(
        clippy::cast_ptr_alignment,
        reason = "a multiple of 8 behind the beginning of a page"
    )]
    fn header(&self, place: usize) -> u32 {
        // SAFETY: `place` is within the records' first copy, a multiple of 8 there (positions are),
        // and the kernel writes the word by atomic stores.
        let word = unsafe { &*self.producer.as_ptr().add(place).cast::<AtomicU32>() };
        word.load(Ordering::Acquire)
    }

    /// The next record, if one is there. The one before is given back.
    pub fn next_record(&mut self) -> Option<&[u8]> {
        loop {
            if self.at < self.end {
                self.at = self.end;
                self.read().store(self.at, Ordering::Release);
            }
            if self.at >= self.written() {
                return None;
            }
            let place = PAGE + (self.at as usize & (self.bytes - 1));
            let word = self.header(place);
            if word & BUSY != 0 {
                return None;
            }
            let length = (word & !DISCARDED) as usize;
            if length > self.bytes - HEADER {
                return None;
            }
            self.end = self.at + (length + HEADER).next_multiple_of(8) as u64;
            if word & DISCARDED == 0 {
                // SAFETY: a whole record lies in the two copies, which are one mapping; programs do
                // not write there until we say that it was read, which needs this value again.
                let record = unsafe { self.producer.as_ptr().add(place + HEADER) };
                // SAFETY: as above.
                return Some(unsafe { std::slice::from_raw_parts(record, length) });
            }
        }
    }
}
