//! Whether the rounds behind a figure are evidence for it: which of them others disturbed, and how
//! far they lie apart.
//!
//! Where most rounds were calm, or many, a figure is of these alone.

use serde::{Deserialize, Serialize};

use crate::interval::median_interval;

/// So many calm rounds are enough, however many were not.
const ENOUGH: usize = 7;
/// Figures of calm rounds may lie apart by this factor.
const CALM_SPREAD: f64 = 1.5;
/// And others.
const DISTURBED_SPREAD: f64 = 1.1;

/// Why there is no evidence for a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Weak {
    /// Most rounds were disturbed, and they differ, or are only two.
    Disturbed,
    /// The rounds differ too much, whatever disturbed them.
    Scattered,
}

/// Values that count, and whether they are evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Those that count.
    pub values: Vec<f64>,
    /// How many of all were not disturbed.
    pub calm: usize,
    /// Why they are no evidence; `None` where they are.
    pub weak: Option<Weak>,
}

/// Judges the values of rounds, each with whether it was disturbed; `seed` fixes the draws behind
/// their interval. One value of `of` rounds is no evidence unless there was one round only; two of which
/// none was calm are none either.
pub fn judge(rounds: &[(f64, bool)], of: usize, seed: u64) -> Judged {
    let calm = |&(value, disturbed): &(f64, bool)| (!disturbed).then_some(value);
    let calm: Vec<f64> = rounds.iter().filter_map(calm).collect();
    let undisturbed = calm.len();
    let (values, most, why) = if calm.len() * 2 > rounds.len() || calm.len() >= ENOUGH {
        (calm, CALM_SPREAD, Weak::Scattered)
    } else {
        let all = rounds.iter().map(|&(value, _)| value).collect();
        (all, DISTURBED_SPREAD, Weak::Disturbed)
    };
    let interval = median_interval(&values, seed);
    // Rounds without a frame say why in words of their own; they are all alike.
    let scattered = interval.high > 0.0 && interval.high > most * interval.low;
    // What slows one for long enough slows two alike.
    let alike = undisturbed == 0 && values.len() == 2;
    let weak = scattered || alike || (of > 1 && values.len() == 1);
    Judged {
        values,
        calm: undisturbed,
        weak: weak.then_some(why),
    }
}

#[cfg(test)]
#[path = "../tests/unit/evidence.rs"]
mod tests;
