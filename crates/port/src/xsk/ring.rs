//! The four rings of an `AF_XDP` socket: arrays in memory shared with the kernel, each with one
//! producer and one consumer.
//!
//! The producer writes elements, then its index with release order; the consumer loads that index
//! with acquire order, reads elements, then stores its own index. The indices run freely and wrap;
//! an element's place is its index modulo the size, a power of two. Each side keeps a copy of the
//! other's index and looks again only when the copy says that nothing is left.

use std::io;
use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use memmap2::{MmapOptions, MmapRaw};
use rustix::io::Errno;
use rustix::net::xdp::XdpRingOffset;

/// One ring with elements of type `T`, seen from our side: producer of FILL and TX, consumer of RX
/// and COMPLETION.
#[derive(Debug)]
pub(super) struct Ring<T> {
    producer: *const AtomicU32,
    consumer: *const AtomicU32,
    flags: *const AtomicU32,
    elements: *mut T,
    size: u32,
    /// Our own index: no other core writes it.
    own: u32,
    /// The kernel's index as last seen.
    other: u32,
    _mapping: MmapRaw,
    element: PhantomData<T>,
}

// SAFETY: the pointers go into the mapping that the ring owns.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T: Copy> Ring<T> {
    /// Maps the ring of `size` elements at page offset `page` of the socket.
    pub(super) fn map(
        socket: BorrowedFd<'_>,
        offsets: &XdpRingOffset,
        size: u32,
        page: u64,
    ) -> io::Result<Self> {
        debug_assert!(size.is_power_of_two());
        // Before Linux 5.4 rings had no flags.
        let Some(flags) = offsets.flags else {
            return Err(Errno::OPNOTSUPP.into());
        };
        let bytes = offsets.desc as usize + size as usize * size_of::<T>();
        let mapping = MmapOptions::new()
            .offset(page)
            .len(bytes)
            .populate()
            .map_raw(&socket)?;
        let start = mapping.as_mut_ptr();
        // SAFETY: the kernel gave these offsets for this mapping; it aligns them for what lies
        // there.
        let at = |offset: u64| unsafe { start.add(offset as usize) };
        let mut ring = Self {
            producer: at(offsets.producer).cast(),
            consumer: at(offsets.consumer).cast(),
            flags: at(flags).cast(),
            elements: at(offsets.desc).cast(),
            size,
            own: 0,
            other: 0,
            _mapping: mapping,
            element: PhantomData,
        };
        // A new ring is empty: both indices are equal, as a rule zero.
        ring.own = ring.consumer().load(Ordering::Acquire);
        ring.other = ring.own;
        Ok(ring)
    }

    /// As producer: goes on where the last one, perhaps of another process, has stopped.
    pub(super) fn produce_on(&mut self) {
        self.own = self.producer().load(Ordering::Acquire);
        self.other = self.consumer().load(Ordering::Acquire);
    }

    /// As consumer: the same.
    pub(super) fn consume_on(&mut self) {
        self.own = self.consumer().load(Ordering::Acquire);
        self.other = self.own;
    }

    /// Elements.
    pub(super) const fn size(&self) -> u32 {
        self.size
    }

    #[inline]
    fn producer(&self) -> &AtomicU32 {
        // SAFETY: a field of the mapping, which lives as long as `self`; shared with the kernel,
        // hence atomic.
        unsafe { &*self.producer }
    }

    #[inline]
    fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as for `producer`.
        unsafe { &*self.consumer }
    }

    #[inline]
    fn element(&self, index: u32) -> *mut T {
        // SAFETY: the mask keeps the place within the `size` elements of the mapping.
        unsafe { self.elements.add((index & (self.size - 1)) as usize) }
    }

    /// Does the kernel want to be woken to go on with this ring?
    #[inline]
    pub(super) fn needs_wakeup(&self) -> bool {
        // SAFETY: as for `producer`.
        let flags = unsafe { &*self.flags };
        flags.load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    /// As producer: how many elements fit, at least `wanted` if there is so much room at all.
    #[inline]
    pub(super) fn room(&mut self, wanted: u32) -> u32 {
        let room = |ring: &Self| ring.size - ring.own.wrapping_sub(ring.other);
        if room(self) < wanted {
            self.other = self.consumer().load(Ordering::Acquire);
        }
        room(self)
    }

    /// As producer: writes one element, for which [`Ring::room`] has shown room. The kernel sees it
    /// after [`Ring::publish`].
    #[inline]
    pub(super) fn put(&mut self, value: T) {
        // SAFETY: a place of ours, which the kernel does not read before `publish`.
        unsafe { self.element(self.own).write(value) };
        self.own = self.own.wrapping_add(1);
    }

    /// As producer: shows the kernel what was put.
    #[inline]
    pub(super) fn publish(&self) {
        self.producer().store(self.own, Ordering::Release);
    }

    /// As producer: what was put last, as long as there is something that the kernel has not taken.
    /// Only while it cannot take anything: before the socket is bound, or when that has failed.
    pub(super) fn take_back(&mut self) -> Option<T> {
        self.other = self.consumer().load(Ordering::Acquire);
        if self.own == self.other {
            return None;
        }
        self.own = self.own.wrapping_sub(1);
        // SAFETY: we wrote this element, and the kernel does not use it.
        Some(unsafe { self.element(self.own).read() })
    }

    /// As producer: has the kernel taken everything?
    #[inline]
    pub(super) fn is_drained(&mut self) -> bool {
        self.room(self.size) == self.size
    }

    /// As consumer: how many elements wait, looking again when fewer than `wanted` are known of.
    #[inline]
    pub(super) fn waiting(&mut self, wanted: u32) -> u32 {
        if self.other.wrapping_sub(self.own) < wanted {
            self.other = self.producer().load(Ordering::Acquire);
        }
        self.other.wrapping_sub(self.own)
    }

    /// As consumer: takes one element, which [`Ring::waiting`] has shown. The kernel may reuse its
    /// place after [`Ring::release`].
    #[inline]
    pub(super) fn take(&mut self) -> T {
        // SAFETY: the kernel has published this element and does not write it before `release`.
        let value = unsafe { self.element(self.own).read() };
        self.own = self.own.wrapping_add(1);
        value
    }

    /// As consumer: as if the last `count` had not been taken. Not behind [`Ring::release`].
    #[inline]
    pub(super) fn put_back(&mut self, count: u32) {
        self.own = self.own.wrapping_sub(count);
    }

    /// As consumer: gives the places of what was taken back.
    #[inline]
    pub(super) fn release(&self) {
        self.consumer().store(self.own, Ordering::Release);
    }
}
