//! One core's ring: the memory that the kernel fills and we empty (`perf_event_open(2)`, "MMAP
//! layout").
//!
//! The kernel writes at `data_head`; we own the bytes from `data_tail` up to it once `data_head`
//! has been read with acquire order, and give them back by storing `data_tail` with release order.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{MmapOptions, MmapRaw};
use perf_event_open_sys::bindings::perf_event_mmap_page;
use rustix::param::page_size;

/// A mapped ring.
#[derive(Debug)]
pub(crate) struct Ring {
    memory: MmapRaw,
    page: usize,
    size: usize,
    scratch: Vec<u8>,
}

impl Ring {
    /// Maps `pages` (a power of two) data pages of the event `fd`.
    pub(crate) fn map(fd: &OwnedFd, pages: usize) -> io::Result<Self> {
        let page = page_size();
        let size = pages * page;
        Ok(Self {
            memory: MmapOptions::new().len(page + size).map_raw(fd)?,
            page,
            size,
            scratch: Vec::new(),
        })
    }

    fn description(&self) -> *mut perf_event_mmap_page {
        self.memory.as_mut_ptr().cast()
    }

    fn head(&self) -> &AtomicU64 {
        // SAFETY: the first page is a perf_event_mmap_page for as long as `self` lives; the field
        // is 8-byte aligned, and both sides treat it as an atomic word.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.description()).data_head) }
    }

    fn tail(&self) -> &AtomicU64 {
        // SAFETY: as for `head`.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.description()).data_tail) }
    }

    /// `length` bytes of the data area from `offset` on, which must lie between tail and head.
    fn data(&self, offset: usize, length: usize) -> &[u8] {
        assert!(offset + length <= self.size, "{offset} + {length}");
        // SAFETY: inside the data area (asserted), which is mapped as long as `self` lives; the
        // kernel does not write between tail and head.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(self.page + offset), length) }
    }

    /// Hands every record in the ring, oldest first, to `take` (type, body without its 8-byte head)
    /// and frees its room.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(u32, &[u8])) {
        const HEAD: usize = 8;
        let head = self.head().load(Ordering::Acquire);
        let mut at = self.tail().load(Ordering::Relaxed);
        let mut scratch = std::mem::take(&mut self.scratch);
        while at < head {
            let offset = (at % self.size as u64) as usize;
            // Records are 8-byte aligned, so their heads do not wrap: type, misc, length.
            let [a, b, c, d, _, _, low, high] = *self.data(offset, HEAD) else {
                break;
            };
            let kind = u32::from_le_bytes([a, b, c, d]);
            let length = usize::from(u16::from_le_bytes([low, high]));
            if length < HEAD {
                break;
            }
            let first = length.min(self.size - offset);
            if first == length {
                take(kind, &self.data(offset, length)[HEAD..]);
            } else {
                scratch.clear();
                scratch.extend_from_slice(&self.data(offset, first)[HEAD..]);
                scratch.extend_from_slice(self.data(0, length - first));
                take(kind, &scratch);
            }
            at += length as u64;
        }
        self.scratch = scratch;
        self.tail().store(at, Ordering::Release);
    }
}
