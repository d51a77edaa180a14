//! From 64 painted slots to the words of a node, after the rules of [`crate::layout`].

use super::routes::ones;
use crate::layout::{KIND_SHIFT, LONGEST_NODE};

/// The form of a node: where its runs begin, and how wide its elements are. Word counts follow from
/// these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// The vector word.
    pub(super) vector: u64,
    /// 1, 2, 3: elements of 8, 16, 32 bits.
    pub(super) kind: u32,
}

impl Form {
    /// The tightest form for these slots; `edges` holds every slot that may differ from the one
    /// before it.
    pub(super) fn of<T: Copy + PartialEq + Into<u32>>(slots: &[T; 64], edges: u64) -> Self {
        let mut vector = 0;
        let mut largest: u32 = slots[0].into();
        for slot in ones(edges & !1) {
            let value = slots[slot as usize];
            if value != slots[slot as usize - 1] {
                vector |= 1 << slot;
                largest |= value.into();
            }
        }
        let kind = match largest {
            0..=0xFF => 1,
            0x100..=0xFFFF => 2,
            _ => 3,
        };
        Self { vector, kind }
    }

    /// Words of a node of this form.
    pub(super) fn words(self) -> u32 {
        1 + (self.runs() << (self.kind + 2)).div_ceil(64)
    }

    /// How many runs there are.
    pub(super) fn runs(self) -> u32 {
        self.vector.count_ones() + 1
    }

    /// The bits of one element.
    pub(super) fn element_mask(self) -> u32 {
        u32::MAX >> (32 - (1 << (self.kind + 2)))
    }

    /// Can an element hold this value?
    pub(super) fn fits(self, value: u32) -> bool {
        value <= self.element_mask()
    }

    /// Can a node of this form hold slots whose tightest form is `other`?
    pub(super) fn holds(self, other: Self) -> bool {
        other.vector & !self.vector == 0 && other.kind <= self.kind
    }

    /// Where the element of a slot is: word after the vector, and bit in it.
    pub(super) fn position(self, slot: u32) -> (u32, u32) {
        let run = (self.vector << (63 - slot)).count_ones();
        let bit = run << (self.kind + 2);
        (bit >> 6, bit & 63)
    }

    /// Is the slot a run of its own?
    pub(super) fn isolates(self, slot: u32) -> bool {
        let begins = |slot: u32| slot == 0 || slot == 64 || self.vector >> slot & 1 == 1;
        begins(slot) && begins(slot + 1)
    }

    /// The node's words, vector first; [`Form::words`] of them count.
    pub(super) fn pack<T: Copy + Into<u32>>(self, slots: &[T; 64]) -> [u64; LONGEST_NODE] {
        let mut words = [0_u64; LONGEST_NODE];
        words[0] = self.vector;
        let width = 1 << (self.kind + 2);
        let mut bit = 64;
        for slot in ones(self.vector | 1) {
            let value: u32 = slots[slot as usize].into();
            words[bit >> 6] |= u64::from(value) << (bit & 63);
            bit += width;
        }
        words
    }

    /// The entry that leads to a node of this form at word `at`.
    pub(super) fn entry(self, at: u32) -> u32 {
        self.kind << KIND_SHIFT | at
    }
}

#[cfg(test)]
mod tests {
    use figures::Random;

    use super::*;

    #[test]
    fn every_slot_is_found_where_the_form_says() {
        let mut random = Random::new(9);
        for round in 0..3000 {
            let limit = [3, 256, 60_000, 1 << 32][round % 4];
            let mut value = random.below(limit) as u32;
            let slots: [u32; 64] = std::array::from_fn(|_| {
                if random.below(4) == 0 {
                    value = random.below(limit) as u32;
                }
                value
            });
            let form = Form::of(&slots, u64::MAX);
            let words = form.pack(&slots);
            assert!(form.holds(form));
            for slot in 0..64 {
                let (word, bit) = form.position(slot);
                assert!(1 + word < form.words());
                assert_eq!(
                    (words[1 + word as usize] >> bit) as u32 & form.element_mask(),
                    slots[slot as usize]
                );
                let alone = (slot == 0 || slots[slot as usize] != slots[slot as usize - 1])
                    && (slot == 63 || slots[slot as usize] != slots[slot as usize + 1]);
                assert_eq!(form.isolates(slot), alone);
            }
        }
    }

    #[test]
    fn the_longest_node_has_33_words() {
        let slots: [u32; 64] = std::array::from_fn(|slot| u32::MAX - slot as u32);
        assert_eq!(Form::of(&slots, u64::MAX).words() as usize, LONGEST_NODE);
        assert_eq!(
            Form::of(&[7_u16; 64], u64::MAX),
            Form { vector: 0, kind: 1 }
        );
    }
}
