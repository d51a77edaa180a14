//! The search: what a reader does. The rule is in [`crate::layout`].

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::{Family, TableStorage};
use crate::layout::{KIND_SHIFT, STRIDE, VALUE_MASK};
use crate::next_hop::NextHop;

/// A reader's handle on one copy of a table: the arrays, and nothing that is written.
#[derive(Clone, Debug)]
pub struct View<A> {
    storage: TableStorage<A>,
}

impl<A: Family> View<A> {
    pub(super) fn new(storage: TableStorage<A>) -> Self {
        Self { storage }
    }

    /// The same, borrowed.
    pub(super) fn of(storage: &TableStorage<A>) -> Arrays<'_> {
        Arrays {
            root: storage.root.elements(),
            nodes: storage.nodes.elements(),
        }
    }

    /// The next hop of the longest prefix that contains the address, or [`NextHop::NONE`].
    #[inline]
    pub fn lookup(&self, address: A) -> NextHop {
        Self::of(&self.storage).lookup(address)
    }

    /// The next hops of as many addresses as the shorter slice has.
    pub fn lookup_burst(&self, addresses: &[A], out: &mut [NextHop]) {
        Self::of(&self.storage).lookup_burst(addresses, out);
    }
}

/// The two arrays, borrowed for a burst.
#[derive(Clone, Copy)]
pub(super) struct Arrays<'a> {
    root: &'a [AtomicU32],
    nodes: &'a [AtomicU64],
}

impl Arrays<'_> {
    pub(super) fn lookup_burst<A: Family>(self, addresses: &[A], out: &mut [NextHop]) {
        for (&address, out) in addresses.iter().zip(out) {
            *out = self.lookup(address);
        }
    }

    #[inline]
    pub(super) fn lookup<A: Family>(self, address: A) -> NextHop {
        let (index, start) = address.root_index();
        let mut entry = self.root_entry(index);
        let mut rest = address.first_64() << start;
        let mut left = (64 - start) / STRIDE;
        while entry >> KIND_SHIFT != 0 {
            if left == 0 {
                return self.lookup_beyond_64(entry, address);
            }
            entry = self.step(entry, !rest >> 58);
            rest <<= STRIDE;
            left -= 1;
        }
        NextHop(entry as u16)
    }

    /// The search from bit 60 on: few routes are that long.
    #[cold]
    fn lookup_beyond_64<A: Family>(self, mut entry: u32, address: A) -> NextHop {
        let mut rest = address.left_aligned() << 60;
        while entry >> KIND_SHIFT != 0 {
            entry = self.step(entry, !(rest >> 64) as u64 >> 58);
            rest <<= STRIDE;
        }
        NextHop(entry as u16)
    }

    #[inline]
    fn root_entry(self, index: usize) -> u32 {
        debug_assert!(index < self.root.len());
        // SAFETY: `root_index` is below `Family::ROOT` for every address, and the table checked the array's length.
        unsafe { self.root.get_unchecked(index) }.load(Ordering::Acquire)
    }

    #[inline]
    fn word(self, index: usize) -> u64 {
        debug_assert!(index < self.nodes.len());
        // SAFETY: the writer publishes an entry only for a node that lies within the array, vector and elements, and
        // the number of vector bits bounds the element asked for.
        unsafe { self.nodes.get_unchecked(index) }.load(Ordering::Acquire)
    }

    /// One step down. `complement` is 63 minus the slot.
    #[inline]
    fn step(self, entry: u32, complement: u64) -> u32 {
        let log2_bits = (entry >> KIND_SHIFT) + 2;
        let at = (entry & VALUE_MASK) as usize;
        let run = (self.word(at) << complement).count_ones();
        let bit = run << log2_bits;
        let word = self.word(at + 1 + (bit >> 6) as usize);
        (word >> (bit & 63)) as u32 & (u32::MAX >> (32 - (1_u32 << log2_bits)))
    }
}
