//! What leads from one level of a table to the next: the entry, and the form of the nodes that it
//! leads to. Each family has its own rule; [`crate::layout`] says both.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::layout::{
    INDEX_MASK, V4_KIND_SHIFT, V4_STRIDE, V6_INDEX_SHIFT, V6_NARROW, V6_STRIDE, V6_WIDE,
};
use crate::storage::Zeroable;

/// A leaf, or what leads to a node.
pub trait Entry: Copy + Eq + Debug + Default + From<u16> + Into<u64> + Send + Sync {
    /// An entry that readers may be looking at.
    type Cell: Zeroable + Send + Sync + 'static;

    /// Bits of an address that a node consumes.
    const STRIDE: u32;

    /// Slots of a node.
    const SLOTS: u32 = 1 << Self::STRIDE;

    /// Words of a node before its elements.
    const HEADER: u32;

    /// Widths of elements that hold leaves only, narrowest first, as powers of two of a bit.
    const LEAF_WIDTHS: &'static [u32];

    /// Width of elements that hold entries.
    const WIDTH: u32;

    /// A leaf that cannot be.
    const NOT_YET: Self;

    /// Loads an entry with all that was stored before it.
    fn load(cell: &Self::Cell) -> Self;

    /// Stores an entry after all that was stored before.
    fn store(self, cell: &Self::Cell);

    /// The entry for a node at word `at`.
    fn to_node(vector: u64, log2_bits: u32, at: u32) -> Self;

    /// Does no node follow?
    fn is_leaf(self) -> bool;

    /// First word of the node.
    fn at(self) -> u32;

    /// Width of the node's elements, as a power of two of a bit.
    fn log2_bits(self) -> u32;

    /// The element of the node that begins in the lowest bit of `word`.
    #[must_use]
    fn element(self, word: u64) -> Self;

    /// The node's vector in the lower [`Entry::SLOTS`] bits. `first` loads the first word of the
    /// node.
    fn vector(self, first: impl FnOnce() -> u64) -> u64;

    /// One step down: the element for the slot that the upper bits of `rest` name. `word` loads a
    /// word of the nodes.
    #[must_use]
    #[inline(always)]
    #[allow(clippy::inline_always)] // Compiled once for each set of instructions.
    fn step(self, rest: u64, word: impl Fn(usize) -> u64) -> Self {
        let at = self.at() as usize;
        // 63 less the slot: what shifts the bit of the slot to the end of the word.
        let complement = !(rest >> (64 - Self::STRIDE)) & 63;
        let run = (self.vector(|| word(at)) << complement).count_ones();
        let bit = run << self.log2_bits();
        let word = word(at + (Self::HEADER + (bit >> 6)) as usize);
        self.element(word >> (bit & 63))
    }

    /// The same for an address searched alone: a branch that ends the search anyway may save work.
    #[must_use]
    #[inline(always)]
    #[allow(clippy::inline_always)] // As above.
    fn step_alone(self, rest: u64, word: impl Fn(usize) -> u64) -> Self {
        self.step(rest, word)
    }
}

/// IPv4: a kind and a value. A node begins with its vector.
impl Entry for u32 {
    type Cell = AtomicU32;

    const STRIDE: u32 = V4_STRIDE;
    const HEADER: u32 = 1;
    const LEAF_WIDTHS: &'static [u32] = &[3, 4];
    const WIDTH: u32 = 5;
    const NOT_YET: Self = 1 << 16;

    #[inline]
    fn load(cell: &AtomicU32) -> Self {
        cell.load(Ordering::Acquire)
    }

    fn store(self, cell: &AtomicU32) {
        cell.store(self, Ordering::Release);
    }

    fn to_node(_: u64, log2_bits: u32, at: u32) -> Self {
        (log2_bits - 2) << V4_KIND_SHIFT | at
    }

    #[inline]
    fn is_leaf(self) -> bool {
        self >> V4_KIND_SHIFT == 0
    }

    #[inline]
    fn at(self) -> u32 {
        self & INDEX_MASK
    }

    #[inline]
    fn log2_bits(self) -> u32 {
        (self >> V4_KIND_SHIFT) + 2
    }

    #[inline]
    fn element(self, word: u64) -> Self {
        word as Self & (Self::MAX >> (32 - (1_u32 << self.log2_bits())))
    }

    #[inline]
    fn vector(self, first: impl FnOnce() -> u64) -> u64 {
        first()
    }
}

/// IPv6: the vector itself, and where the elements are.
impl Entry for u64 {
    type Cell = AtomicU64;

    const STRIDE: u32 = V6_STRIDE;
    const HEADER: u32 = 0;
    const LEAF_WIDTHS: &'static [u32] = &[4];
    const WIDTH: u32 = 6;
    const NOT_YET: Self = 1 << 16;

    #[inline]
    fn load(cell: &AtomicU64) -> Self {
        cell.load(Ordering::Acquire)
    }

    fn store(self, cell: &AtomicU64) {
        cell.store(self, Ordering::Release);
    }

    fn to_node(vector: u64, log2_bits: u32, at: u32) -> Self {
        let width = if log2_bits == Self::WIDTH {
            V6_WIDE
        } else {
            V6_NARROW
        };
        width | Self::from(at) << V6_INDEX_SHIFT | vector
    }

    #[inline]
    fn is_leaf(self) -> bool {
        self < V6_NARROW
    }

    #[inline]
    fn at(self) -> u32 {
        (self >> V6_INDEX_SHIFT) as u32 & INDEX_MASK
    }

    #[inline]
    fn log2_bits(self) -> u32 {
        4 + ((self >> 62) as u32 & 2)
    }

    #[inline]
    fn element(self, word: u64) -> Self {
        // All ones if elements are wide.
        let wide = (self.cast_signed() >> 63).cast_unsigned();
        word & (wide | 0xFFFF)
    }

    #[inline]
    fn vector(self, _: impl FnOnce() -> u64) -> u64 {
        self
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // As above.
    fn step_alone(self, rest: u64, word: impl Fn(usize) -> u64) -> Self {
        if self < V6_WIDE {
            return self.step(rest, word);
        }
        let complement = !(rest >> (64 - Self::STRIDE)) & 63;
        word((self.at() + (self << complement).count_ones()) as usize)
    }
}
