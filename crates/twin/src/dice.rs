//! Choices, drawn from one seed.

use figures::Random;

/// Draws; the same seed gives the same draws.
pub(crate) struct Dice(Random);

impl Dice {
    #[cfg(test)]
    pub(crate) const fn new(seed: u64) -> Self {
        Self(Random::new(seed))
    }

    /// The draws of one part of a work, which do not depend on those of the others.
    pub(crate) const fn of_stream(seed: u64, number: u64) -> Self {
        let start = Random::new(seed.rotate_left(32) ^ number).next_u64();
        Self(Random::new(start))
    }

    /// True once in `times`.
    pub(crate) const fn one_in(&mut self, times: usize) -> bool {
        self.0.below(times) == 0
    }

    /// A number from `low` to below `high`.
    pub(crate) const fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.0.below(high - low)
    }

    /// One of these, which are at least one.
    pub(crate) fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.0.below(items.len())]
    }

    /// Random bits.
    pub(crate) const fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Random bits, for an IPv6 address.
    pub(crate) const fn wide(&mut self) -> u128 {
        self.0.next_u128()
    }
}
