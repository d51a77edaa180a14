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

    /// Hands every record in the ring, oldest first, to `take` (type, misc, body without its 8-byte
    /// head) and frees its room.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(u32, &[u8])) {
        let head = self.head().load(Ordering::Acquire);
        let mut at = self.tail().load(Ordering::Relaxed);
        while at < head {
            let offset = (at % self.size as u64) as usize;
            // SAFETY: `offset` lies in the data area and records are 8-byte aligned, so the 8-byte
            // head does not wrap; the kernel does not write between tail and head.
            let start = unsafe { self.memory.as_ptr().add(self.page + offset) };
            // SAFETY: as above.
            let record_head = unsafe { std::slice::from_raw_parts(start, 8) };
            let kind = u32::from_le_bytes([
                record_head[0],
                record_head[1],
                record_head[2],
                record_head[3],
            ]);
            let length = usize::from(u16::from_le_bytes([record_head[6], record_head[7]]));
            if length < 8 {
                break;
            }
            if offset + length <= self.size {
                // SAFETY: the record lies wholly inside the data area, between tail and head.
                take(kind, unsafe {
                    std::slice::from_raw_parts(start.add(8), length - 8)
                });
            } else {
                let first = self.size - offset - 8;
                self.scratch.clear();
                // SAFETY: the record's part up to the end of the data area, after its head.
                self.scratch
                    .extend_from_slice(unsafe { std::slice::from_raw_parts(start.add(8), first) });
                // SAFETY: the record's rest at the beginning of the data area.
                let rest = unsafe {
                    std::slice::from_raw_parts(
                        self.memory.as_ptr().add(self.page),
                        length - 8 - first,
                    )
                };
                self.scratch.extend_from_slice(rest);
                take(kind, &self.scratch);
            }
            at += length as u64;
        }
        self.tail().store(at, Ordering::Release);
    }
}
