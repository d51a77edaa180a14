//! A map from prefix to something small, in parts of their own: each is walked, or grown, in well
//! under a millisecond even when the whole holds the Internet's table, so that nothing that waits
//! for the control plane waits for such a walk.

use std::collections::HashMap;

use fib::{Address, Prefix};

/// How many parts; a full table has some 14,000 prefixes in each.
const PART_BITS: u32 = 6;
/// See above.
pub(crate) const PARTS: usize = 1 << PART_BITS;

/// The map.
#[derive(Debug)]
pub(super) struct Slots<A, T>(Vec<HashMap<Prefix<A>, T>>);

impl<A: Address, T> Default for Slots<A, T> {
    fn default() -> Self {
        Self((0..PARTS).map(|_| HashMap::new()).collect())
    }
}

/// Neighbouring prefixes go to different parts (multiplicative hashing by the golden ratio, Knuth
/// 6.4).
pub(super) fn part_of<A: Address>(prefix: Prefix<A>) -> usize {
    let bits = prefix.address().left_aligned();
    let folded = (bits >> 64) as u64 ^ bits as u64 ^ u64::from(prefix.length());
    (folded.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - PART_BITS)) as usize
}

impl<A: Address, T> Slots<A, T> {
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(HashMap::len).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(HashMap::is_empty)
    }

    pub(super) fn get(&self, prefix: Prefix<A>) -> Option<&T> {
        self.0[part_of(prefix)].get(&prefix)
    }

    pub(super) fn get_mut(&mut self, prefix: Prefix<A>) -> Option<&mut T> {
        self.0[part_of(prefix)].get_mut(&prefix)
    }

    pub(super) fn contains(&self, prefix: Prefix<A>) -> bool {
        self.get(prefix).is_some()
    }

    pub(super) fn insert(&mut self, prefix: Prefix<A>, value: T) {
        self.0[part_of(prefix)].insert(prefix, value);
    }

    pub(super) fn remove(&mut self, prefix: Prefix<A>) {
        self.0[part_of(prefix)].remove(&prefix);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Prefix<A>, &T)> {
        self.0.iter().flatten()
    }

    /// One part, from 0 to [`PARTS`]; nothing beyond.
    pub(super) fn part_entries(&self, number: usize) -> impl Iterator<Item = (&Prefix<A>, &T)> {
        self.0.get(number).into_iter().flatten()
    }

    /// The prefixes of one part, from 0 to [`PARTS`]; none beyond.
    pub(super) fn part(&self, number: usize) -> impl Iterator<Item = Prefix<A>> {
        self.0
            .get(number)
            .into_iter()
            .flat_map(HashMap::keys)
            .copied()
    }

    /// Gives back memory that one part once needed and no longer does.
    pub(super) fn shrink_part(&mut self, number: usize) {
        if let Some(part) = self.0.get_mut(number) {
            part.shrink_to_fit();
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/slots.rs"]
mod tests;
