//! Frame buffers: one piece of memory per worker, cut into equal buffers, and the handles to them.
//!
//! Who owns what:
//! - The **pool** owns the memory. Bytes of a frame can be reached only through the pool, with a
//!   reference to the frame in hand, so Rust's borrow rules hold for them as for any other bytes.
//! - A **[`Frame`]** is the right to one buffer and can be neither copied nor made outside this
//!   crate's pools. Whoever holds it gives it to a burst, to a port, or back with
//!   [`Pool::release`]. A frame that is dropped is a buffer lost to the pool until the pool goes;
//!   it is never handed out twice.
//! - Free buffers are a stack: the buffer released last is allocated first, because its lines are
//!   still in the cache. With run to completion a worker so touches one burst of buffers, however
//!   large the pool.
//! - A frame longer than a buffer has **several** ([`Pool::join`]); the handle stands for all, and
//!   all go back with it. Only a port that says so makes such frames or sends them.
//! - A port that lends buffers to the kernel exchanges frames for **offsets** with [`Pool::lend`]
//!   and [`Pool::reclaim`]; the ledger of what is out is the port's.
//!
//! A frame used with another pool than its own reaches other bytes or panics on the bounds; it
//! cannot reach memory outside the pool. The distance between buffers is an odd number of cache
//! lines by default: at a power of two the first lines of all buffers would compete for a few cache
//! sets.

mod pieces;
mod shared;

use std::fs::File;
use std::io;

use memmap2::{Advice, MmapOptions, MmapRaw};

use self::pieces::Link;
use crate::{Burst, PortError};

/// Bytes of a cache line on the machines this runs on.
pub const LINE: usize = 64;

/// The right to one buffer of a [`Pool`], and where in it the frame lies.
#[derive(Debug)]
pub struct Frame {
    buffer: u32,
    start: u16,
    length: u16,
}

impl Frame {
    /// What stands in the unused places of a burst: no buffer of any pool.
    pub(crate) const NOTHING: Self = Self {
        buffer: u32::MAX,
        start: 0,
        length: 0,
    };

    #[inline]
    pub(crate) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::NOTHING)
    }

    /// Bytes of the frame, without frame check sequence.
    #[inline]
    pub const fn length(&self) -> u16 {
        self.length
    }

    /// Bytes in front of the frame that a header may grow into.
    #[inline]
    pub const fn headroom(&self) -> u16 {
        self.start
    }

    /// Moves the beginning of the frame `bytes` towards the start of its buffer. `false`, and
    /// nothing changed, when there is no such room.
    #[inline]
    #[must_use]
    pub fn grow_front(&mut self, bytes: u16) -> bool {
        match (
            self.start.checked_sub(bytes),
            self.length.checked_add(bytes),
        ) {
            (Some(start), Some(length)) => {
                (self.start, self.length) = (start, length);
                true
            }
            _ => false,
        }
    }

    /// Takes `bytes` off the front. `false`, and nothing changed, when the frame is shorter.
    #[inline]
    #[must_use]
    pub fn shrink_front(&mut self, bytes: u16) -> bool {
        match self.length.checked_sub(bytes) {
            Some(length) => {
                self.length = length;
                self.start += bytes;
                true
            }
            None => false,
        }
    }
}

/// How a pool is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Buffers.
    pub buffers: u32,
    /// Bytes from one buffer to the next.
    pub stride: u32,
    /// Bytes kept free in front of a fresh frame.
    pub headroom: u16,
}

impl Layout {
    /// For frames up to 1518 bytes and their tags: 2048 bytes behind 64 of headroom, an odd number
    /// of lines apart.
    pub const fn ordinary(buffers: u32) -> Self {
        Self {
            buffers,
            stride: 33 * LINE as u32,
            headroom: LINE as u16,
        }
    }

    /// For frames up to `frame_bytes` with their tags, at least [`Layout::ordinary`]'s and at most
    /// [`Layout::LARGEST`] bytes; an odd number of lines apart.
    pub const fn holding(buffers: u32, frame_bytes: u32) -> Self {
        let ordinary = Self::ordinary(buffers);
        let frame_bytes = if frame_bytes > Self::LARGEST {
            Self::LARGEST
        } else {
            frame_bytes
        };
        let lines = (frame_bytes + ordinary.headroom as u32).div_ceil(LINE as u32) | 1;
        let stride = lines * LINE as u32;
        if stride <= ordinary.stride {
            return ordinary;
        }
        Self { stride, ..ordinary }
    }

    /// The longest frame that a pool is cut for: an Ethernet jumbo frame with room to spare.
    pub const LARGEST: u32 = 9_728;

    /// For memory that the kernel wants in power-of-two chunks (`AF_XDP`, `if_xdp.h`).
    pub const fn chunks(buffers: u32, stride: u32, headroom: u16) -> Self {
        Self {
            buffers,
            stride,
            headroom,
        }
    }
}

/// The frame buffers of one worker.
#[derive(Debug)]
pub struct Pool {
    /// The buffers, and a line of slack behind the last for [`Pool::line`].
    memory: MmapRaw,
    /// The same memory, when another process can have it.
    file: Option<File>,
    layout: Layout,
    free: Vec<u32>,
    /// By buffer, for frames of several.
    links: Box<[Link]>,
    /// Frames of several buffers under way.
    scattered: u32,
}

impl Pool {
    /// Maps the memory, in huge pages where the kernel gives them, and fills the free stack.
    ///
    /// # Errors
    /// [`PortError::Memory`] when the kernel has none or the layout has no room for a frame.
    pub fn new(layout: Layout) -> Result<Self, PortError> {
        let mapped = Self::bytes_of(layout)?;
        let refuse = |source| PortError::Memory {
            bytes: mapped,
            source,
        };
        let memory = MmapOptions::new().len(mapped).map_anon().map_err(refuse)?;
        // Miri knows no huge pages; a refusal only costs speed.
        #[cfg(not(miri))]
        let _ignored = memory.advise(Advice::HugePage);
        let free = (0..layout.buffers).rev().collect();
        Ok(Self {
            memory: memory.into(),
            file: None,
            layout,
            free,
            links: vec![Link::NONE; layout.buffers as usize].into(),
            scattered: 0,
        })
    }

    /// Bytes of the memory and its slack.
    fn bytes_of(layout: Layout) -> Result<usize, PortError> {
        let bytes = layout.buffers as usize * layout.stride as usize + LINE;
        // A frame's start and length are 16-bit.
        if layout.buffers == 0
            || layout.stride > u32::from(u16::MAX)
            || layout.stride <= u32::from(layout.headroom)
        {
            let source = io::Error::from(io::ErrorKind::InvalidInput);
            return Err(PortError::Memory { bytes, source });
        }
        Ok(bytes)
    }

    /// How it is cut.
    pub const fn layout(&self) -> Layout {
        self.layout
    }

    /// Buffers that can be allocated now.
    pub fn available(&self) -> usize {
        self.free.len()
    }

    /// The memory of all buffers, for a kernel that is to write into it; valid as long as the pool.
    pub fn memory(&self) -> (*mut u8, usize) {
        (self.memory.as_mut_ptr(), self.memory.len() - LINE)
    }

    /// The longest frame that a fresh buffer holds.
    pub const fn capacity(&self) -> u16 {
        self.layout.stride as u16 - self.layout.headroom
    }

    /// A buffer for a frame of `length` bytes, whose bytes are whatever was there before. `None`
    /// when none is free or `length` does not fit.
    #[inline]
    pub fn allocate(&mut self, length: u16) -> Option<Frame> {
        if length > self.capacity() {
            return None;
        }
        let buffer = self.free.pop()?;
        Some(Frame {
            buffer,
            start: self.layout.headroom,
            length,
        })
    }

    /// Appends up to `count` fresh frames of `length` bytes to `burst`; says how many: fewer when
    /// the burst is full or the pool empty, none when `length` does not fit.
    #[inline]
    pub fn allocate_burst(&mut self, count: usize, length: u16, burst: &mut Burst) -> usize {
        let count = count.min(burst.room()).min(self.free.len());
        if length > self.capacity() {
            return 0;
        }
        let rest = self.free.len() - count;
        let start = self.layout.headroom;
        burst.extend(self.free[rest..].iter().rev().map(|&buffer| Frame {
            buffer,
            start,
            length,
        }));
        self.free.truncate(rest);
        count
    }

    /// Gives a frame's buffer back, or its buffers.
    #[inline]
    pub fn release(&mut self, frame: Frame) {
        if self.is_scattered(&frame) {
            self.release_pieces(frame);
        } else {
            self.free.push(frame.buffer);
        }
    }

    /// Takes back a lent buffer, by the offset of any of its bytes. What lies in no buffer is nobody's.
    #[inline]
    pub(crate) fn give_back(&mut self, offset: u64) {
        if let Some(frame) = self.reclaim(offset, 0) {
            self.free.push(frame.buffer);
        }
    }

    /// Gives all buffers of a burst back and empties it.
    #[inline]
    pub fn release_all(&mut self, burst: &mut Burst) {
        if self.has_scattered() {
            burst.drain().for_each(|frame| self.release(frame));
            return;
        }
        // Last in, first out: the first frame of this burst is the first of the next.
        self.free
            .extend(burst.frames().iter().rev().map(|frame| frame.buffer));
        burst.forget();
    }

    /// The offset of the frame's first byte in [`Pool::memory`] and its length, for the kernel; the
    /// frame is the port's until it calls [`Pool::reclaim`]. One of several buffers is lent piece by
    /// piece ([`Pool::split_first`]).
    #[allow(
        clippy::needless_pass_by_value,
        reason = "a handle is consumed so that it cannot be used again"
    )]
    pub fn lend(&self, frame: Frame) -> (u64, u16) {
        (self.offset(&frame, 0) as u64, frame.length)
    }

    /// The frame of `length` bytes at `offset`, as lent before. `None` when that lies in no buffer.
    pub fn reclaim(&self, offset: u64, length: u16) -> Option<Frame> {
        let stride = u64::from(self.layout.stride);
        let buffer = u32::try_from(offset / stride).ok()?;
        let start = (offset % stride) as u16;
        let fits = u64::from(start) + u64::from(length) <= stride;
        (buffer < self.layout.buffers && fits).then_some(Frame {
            buffer,
            start,
            length,
        })
    }

    /// Where the frame starts in the memory, with at least `bytes` behind it.
    #[inline]
    fn offset(&self, frame: &Frame, bytes: usize) -> usize {
        let offset = frame.buffer as usize * self.layout.stride as usize + usize::from(frame.start);
        assert!(
            offset + bytes <= self.memory.len(),
            "a frame of another pool"
        );
        offset
    }

    /// How much of a frame is in its first buffer.
    #[inline]
    fn length_here(&self, frame: &Frame) -> u16 {
        if self.is_scattered(frame) {
            self.first_length(frame)
        } else {
            frame.length
        }
    }

    /// The bytes of a frame; of several buffers those in the first.
    #[inline]
    pub fn bytes(&self, frame: &Frame) -> &[u8] {
        self.slice(frame, self.length_here(frame))
    }

    /// So many bytes from where the frame starts.
    #[inline]
    fn slice(&self, frame: &Frame, length: u16) -> &[u8] {
        let length = usize::from(length);
        let offset = self.offset(frame, length);
        // SAFETY: `offset` has checked that the range lies in the mapping, which lives as long as
        // `self`; nobody writes to it while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.memory.as_mut_ptr().add(offset), length) }
    }

    /// The same bytes, to change.
    #[inline]
    pub fn bytes_mut(&mut self, frame: &Frame) -> &mut [u8] {
        let length = usize::from(self.length_here(frame));
        let offset = self.offset(frame, length);
        // SAFETY: as in `slice`; `self` is borrowed for writing, so this is the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_mut_ptr().add(offset), length) }
    }

    /// The 64 bytes that begin with the frame, whatever its length: behind a shorter frame they are
    /// leftovers. Reading a header here needs no test of the length first.
    #[inline]
    pub fn line(&self, frame: &Frame) -> &[u8; LINE] {
        let offset = self.offset(frame, LINE);
        // SAFETY: `offset` has checked that 64 bytes lie in the mapping; an array of bytes has no
        // alignment and no invalid values, and the mapping came zeroed.
        unsafe { &*self.memory.as_mut_ptr().add(offset).cast::<[u8; LINE]>() }
    }

    /// The 64 bytes that begin with the frame, to change.
    #[inline]
    pub fn line_mut(&mut self, frame: &Frame) -> &mut [u8; LINE] {
        let offset = self.offset(frame, LINE);
        // SAFETY: as in `line`; `self` is borrowed for writing, so this is the only reference.
        unsafe { &mut *self.memory.as_mut_ptr().add(offset).cast::<[u8; LINE]>() }
    }
}

#[cfg(test)]
#[path = "../tests/unit/pool.rs"]
mod tests;
