//! From painted slots to the words of a node, after the rules of [`crate::layout`].

use std::marker::PhantomData;

use super::entry::Entry;
use super::routes::ones;
use crate::layout::LONGEST_NODE;

/// The form of a node: where its runs begin, and how wide its elements are. Word counts follow from
/// these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form<E> {
    /// Where runs begin.
    pub(super) vector: u64,
    /// Width of an element, as a power of two of a bit.
    pub(super) log2_bits: u32,
    rule: PhantomData<E>,
}

#[allow(clippy::inline_always)] // Compiled once for each set of instructions.
impl<E: Entry> Form<E> {
    /// The tightest form for these slots; `edges` holds every slot that may differ from the one
    /// before it.
    #[inline(always)]
    pub(super) fn of<T: Copy + PartialEq + Into<u64>>(slots: &[T; 64], edges: u64) -> Self {
        let mut vector = 0;
        let mut largest: u64 = slots[0].into();
        for slot in ones(edges & (u64::MAX >> (64 - E::SLOTS)) & !1) {
            let value = slots[slot as usize];
            if value != slots[slot as usize - 1] {
                vector |= 1 << slot;
                largest |= value.into();
            }
        }
        let holds = |log2_bits: &u32| largest >> (1 << log2_bits) == 0;
        let log2_bits = E::LEAF_WIDTHS.iter().copied().find(holds);
        Self::new(vector, log2_bits.unwrap_or(E::WIDTH))
    }

    #[inline]
    fn new(vector: u64, log2_bits: u32) -> Self {
        Self {
            vector,
            log2_bits,
            rule: PhantomData,
        }
    }

    /// The form of the node that an entry leads to, whose vector this is; none for a leaf.
    #[inline]
    pub(super) fn behind(entry: E, vector: u64) -> Option<Self> {
        (!entry.is_leaf()).then(|| Self::new(vector, entry.log2_bits()))
    }

    /// Words of a node of this form.
    pub(super) fn words(self) -> u32 {
        E::HEADER + (self.runs() << self.log2_bits).div_ceil(64)
    }

    /// How many runs there are.
    #[inline]
    pub(super) fn runs(self) -> u32 {
        self.vector.count_ones() + 1
    }

    /// The bits of one element.
    pub(super) fn element_mask(self) -> u64 {
        u64::MAX >> (64 - (1 << self.log2_bits))
    }

    /// Can an element hold this value?
    pub(super) fn fits(self, value: u64) -> bool {
        value <= self.element_mask()
    }

    /// Can a node of this form hold slots whose tightest form is `other`?
    pub(super) fn holds(self, other: Self) -> bool {
        other.vector & !self.vector == 0 && other.log2_bits <= self.log2_bits
    }

    /// Where the element of a slot is: word of the node, and bit in it.
    #[inline]
    pub(super) fn position(self, slot: u32) -> (u32, u32) {
        let run = (self.vector << (63 - slot)).count_ones();
        let bit = run << self.log2_bits;
        (E::HEADER + (bit >> 6), bit & 63)
    }

    /// Bit *i*: a run begins at slot *i*.
    pub(super) fn begins(self) -> u64 {
        self.vector | 1
    }

    /// Has each run either only slots of these, or none of them?
    #[inline]
    pub(super) fn separates(self, slots: u64) -> bool {
        let edges = (slots ^ slots << 1) & (u64::MAX >> (64 - E::SLOTS));
        edges & !self.begins() == 0
    }

    /// Is the slot a run of its own?
    pub(super) fn isolates(self, slot: u32) -> bool {
        self.separates(1 << slot)
    }

    /// The node's words; [`Form::words`] of them count.
    #[inline(always)]
    pub(super) fn pack<T: Copy + Into<u64>>(self, slots: &[T; 64]) -> [u64; LONGEST_NODE] {
        let mut words = [0_u64; LONGEST_NODE];
        // The first word is the vector, if the rule has one there, or the first elements.
        words[0] = self.vector * u64::from(E::HEADER);
        let width = 1 << self.log2_bits;
        let mut bit = 64 * E::HEADER as usize;
        for slot in ones(self.begins()) {
            let value: u64 = slots[slot as usize].into();
            words[bit >> 6] |= value << (bit & 63);
            bit += width;
        }
        words
    }

    /// The entry that leads to a node of this form at word `at`.
    pub(super) fn entry(self, at: u32) -> E {
        E::to_node(self.vector, self.log2_bits, at)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/encode.rs"]
mod tests;
