//! A machine in small whose truth is known: what the statistics are tested on without a machine.

use figures::Random;

use crate::ab::{Block, Sample};

/// Runs scatter by 2 %, one of twenty is held up by up to a half, and all grow slower by 1 % in
/// four runs.
pub struct Machine {
    random: Random,
    runs: u32,
}

impl Machine {
    /// One that does the same for the same seed.
    pub const fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            runs: 0,
        }
    }

    /// Seconds that a run takes which should take `seconds`.
    pub fn seconds(&mut self, seconds: f64) -> f64 {
        let units: f64 = (0..12).map(|_| self.random.unit()).sum();
        let held_up = if self.random.below(20) == 0 {
            1.0 + 0.5 * self.random.unit()
        } else {
            1.0
        };
        self.runs += 1;
        let drift = 1.0025_f64.powf(f64::from(self.runs));
        seconds * held_up * drift * (1.0 + 0.02 * (units - 6.0))
    }

    /// A block of A, which takes a second, and B, which takes `slower` times as long.
    pub fn block(&mut self, slower: f64) -> Block {
        let a_outside = self.random.below(2) == 0;
        Block::run(a_outside, |side| {
            let truth = if side == 0 { 1.0 } else { slower };
            Ok::<_, std::convert::Infallible>(sample(self.seconds(truth)))
        })
        .unwrap_or_else(|never| match never {})
    }

    /// So many blocks.
    pub fn blocks(&mut self, count: usize, slower: f64) -> Vec<Block> {
        (0..count).map(|_| self.block(slower)).collect()
    }
}

const fn sample(seconds: f64) -> Sample {
    Sample {
        cost: seconds,
        wall: seconds,
        user: 0.9 * seconds,
        system: 0.0,
        faults: 100,
        voluntary_switches: 3,
    }
}

/// How many of 1,000 comparisons, each of so many blocks on a machine of its own, `count` counts.
pub fn of_thousand(blocks: usize, slower: f64, count: impl Fn(&[Block]) -> bool) -> usize {
    let mut random = Random::new(1);
    (0..1000)
        .filter(|_| count(&Machine::new(random.next_u64()).blocks(blocks, slower)))
        .count()
}
