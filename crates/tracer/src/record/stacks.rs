//! Code places, each kept once and spoken of by its number.

use std::collections::HashMap;

use crate::event::Tid;

/// Distinct code places of samples that are kept; what a long run has more goes unsampled.
const SAMPLED_PLACES: usize = 16_384;

/// A thread and the addresses of its frames, innermost first.
type Place = (Tid, Vec<u64>);

/// All code places so far.
#[derive(Default)]
pub(crate) struct Stacks {
    numbers: HashMap<Place, u32>,
    /// In the order of their numbers.
    all: Vec<Place>,
    /// How many of them [`Stacks::fresh`] has given out.
    shown: usize,
}

impl Stacks {
    /// The number of a code place.
    pub(crate) fn number(&mut self, tid: Tid, frames: Vec<u64>) -> u32 {
        let next = self.all.len() as u32;
        let key = (tid, frames);
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        self.all.push(key.clone());
        self.numbers.insert(key, next);
        next
    }

    /// As [`Stacks::number`], but new places only while there is room.
    pub(crate) fn bounded(&mut self, tid: Tid, frames: Vec<u64>) -> Option<u32> {
        let key = (tid, frames);
        match self.numbers.get(&key) {
            Some(number) => Some(*number),
            None if self.all.len() < SAMPLED_PLACES => Some(self.number(key.0, key.1)),
            None => None,
        }
    }

    /// Those that came since it was asked last.
    pub(crate) fn fresh(&mut self) -> &[Place] {
        let before = std::mem::replace(&mut self.shown, self.all.len());
        &self.all[before..]
    }

    /// All, in the order of their numbers.
    pub(crate) fn all(&self) -> &[Place] {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_kept_once() {
        let mut stacks = Stacks::default();
        assert_eq!(stacks.number(1, vec![10, 20]), 0);
        assert_eq!(stacks.number(1, vec![10]), 1);
        assert_eq!(stacks.bounded(1, vec![10, 20]), Some(0));
        assert_eq!(stacks.fresh().len(), 2);
        assert_eq!(stacks.number(2, vec![10]), 2);
        assert_eq!(stacks.fresh(), [(2, vec![10])]);
    }
}
