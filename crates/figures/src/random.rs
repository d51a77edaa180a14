//! The generator of random numbers, so that every random order and every draw can be repeated from
//! the printed seed.

/// `SplitMix64` (Steele, Lea, Flood, OOPSLA 2014): one word of state, passes `BigCrush`, never
/// repeats within 2^64 draws.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A generator that gives the same sequence for the same seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// The next 128 bits.
    pub const fn next_u128(&mut self) -> u128 {
        ((self.next_u64() as u128) << 64) | self.next_u64() as u128
    }

    /// A number below `bound`; 0 when `bound` is 0. The multiply-shift leaves a bias below 2^-32
    /// for the bounds used here.
    pub const fn below(&mut self, bound: usize) -> usize {
        ((self.next_u64() as u128 * bound as u128) >> 64) as usize
    }

    /// A number from 0 to below 1, in steps of 2^-53.
    pub const fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Puts `items` in random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// The numbers below `count` in random order.
    pub fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        self.shuffle(&mut order);
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_reference_implementation() {
        // Vigna's splitmix64.c with the seed 1234567.
        let mut random = Random::new(1_234_567);
        let first = [0; 3].map(|_| random.next_u64());
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(first, expected);
    }

    #[test]
    fn same_seed_gives_the_same_order_and_every_item_once() {
        let order = |seed| Random::new(seed).order(20);
        assert_eq!(order(7), order(7));
        assert_ne!(order(7), order(8));
        let mut sorted = order(7);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn below_reaches_every_value_and_no_other() {
        let mut random = Random::new(1);
        let mut seen = [0_u32; 5];
        for _ in 0..5000 {
            seen[random.below(5)] += 1;
        }
        assert!(seen.iter().all(|&n| n > 850), "{seen:?}");
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn units_lie_evenly_from_nought_to_below_one() {
        let mut random = Random::new(2);
        let mut tenths = [0_u32; 10];
        for _ in 0..10_000 {
            tenths[(random.unit() * 10.0) as usize] += 1;
        }
        assert!(tenths.iter().all(|&n| n > 850), "{tenths:?}");
    }
}
