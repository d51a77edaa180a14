//! What `ab` says of nothing against nothing, and whether it finds a slow-down that is there: on
//! this machine, now.

use std::time::Duration;

use figures::Random;
use host::loops;
use serde::{Deserialize, Serialize};

use super::loads::STEPS;
use crate::ab::judge::{Verdict, ratio};
use crate::ab::measure::run_blocks;
use crate::ab::{Block, Request};
use crate::harness::runs::SweepError;
use crate::statistics::signed_rank::LEAST;

/// The slow-down that has to be found, and in which share of the comparisons.
pub const SLOWER: f64 = 0.03;
/// See [`SLOWER`].
pub const POWER: f64 = 0.95;
/// Blocks of a comparison by `ab` that ends within two minutes.
const BLOCKS: usize = 60;
/// Comparisons drawn to tell how often the slow-down is found.
const DRAWS: usize = 1000;
/// Comparisons of nothing with nothing, and when measuring less.
const COMPARISONS: [usize; 2] = [1000, 100];

/// How many of so many comparisons of nothing with nothing may say a difference: one in a hundred, but
/// always three, since chance alone makes as many of few.
pub fn alarms_allowed(comparisons: usize) -> usize {
    (comparisons / 100).max(3)
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Noise {
    /// Comparisons of a command with itself.
    pub comparisons: usize,
    /// How many of them said that it differs from itself.
    pub different: usize,
    /// Blocks measured of a command and one that has 3 % more to do.
    pub blocks: usize,
    /// Share of the comparisons drawn from these blocks that called the second slower.
    pub found: f64,
}

impl Noise {
    /// Whether the instrument does not cry wolf, and finds what is there.
    pub fn holds(&self) -> bool {
        self.different <= alarms_allowed(self.comparisons) && self.found >= POWER
    }

    /// Judges blocks of `nothing` against nothing, cut into comparisons of the fewest blocks, and
    /// of a slow-down that is `there`.
    pub fn of(nothing: &[Block], there: &[Block], seed: u64) -> Self {
        let comparisons = nothing.chunks_exact(LEAST);
        Self {
            comparisons: comparisons.len(),
            different: comparisons
                .filter(|blocks| verdict(blocks).is_some_and(Verdict::differs))
                .count(),
            blocks: there.len(),
            found: found(there, seed),
        }
    }
}

fn verdict(blocks: &[Block]) -> Option<Verdict> {
    Some(Verdict::of(ratio(blocks)?.interval, SLOWER))
}

/// The share of [`DRAWS`] comparisons, each of [`BLOCKS`] blocks drawn from these, that call B
/// slower.
fn found(blocks: &[Block], seed: u64) -> f64 {
    if blocks.is_empty() {
        return 0.0;
    }
    let mut random = Random::new(seed);
    let mut draw = || -> Vec<Block> {
        (0..BLOCKS)
            .map(|_| blocks[random.below(blocks.len())])
            .collect()
    };
    let slower = (0..DRAWS).filter(|_| verdict(&draw()) == Some(Verdict::Slower));
    slower.count() as f64 / DRAWS as f64
}

/// The pieces of work: a millisecond, a tenth of a second, and that with 3 % more to do.
const PIECES: [(&str, u64); 3] = [
    ("tick", STEPS / 300),
    ("slice", STEPS / 3),
    ("slower-slice", STEPS / 300 * 103),
];

/// Does the piece of this name; whether there is one.
pub fn work(name: &str) -> bool {
    let piece = PIECES.iter().find(|(own, _)| *own == name);
    piece.is_some_and(|&(_, steps)| {
        loops::spin(steps, 1);
        true
    })
}

/// Measures. `program` is this one, as in [`super::verdict::calibrate`].
///
/// # Errors
/// When a run fails, and when interrupted.
pub fn measure(program: &str, quick: bool, seed: u64) -> Result<Noise, SweepError> {
    let command = |name: &str| {
        let words = [program, "scale", "calibrate", "--load", name];
        words.map(str::to_owned).to_vec()
    };
    let request = |a: &str, b: &str, blocks: usize| Request {
        commands: [command(a), command(b)],
        worth: SLOWER,
        // A thousand comparisons take two to three minutes.
        budget: Duration::from_mins(4),
        blocks,
        cause: false,
        prepare: None,
        progress: None,
        timeout: Duration::from_mins(1),
        seed,
        interrupted: host::interrupted,
    };
    let nothing = LEAST * COMPARISONS[usize::from(quick)];
    let there = if quick { BLOCKS / 3 } else { BLOCKS };
    Ok(Noise::of(
        &run_blocks(&request("tick", "tick", nothing))?,
        &run_blocks(&request("slice", "slower-slice", there))?,
        seed,
    ))
}

#[cfg(test)]
#[path = "../../tests/unit/noise.rs"]
mod tests;
