//! What more workers bring: each round's rate with several against the mean of the same round's
//! rates with one, on each of the cores in turn, measured right before or after.
//!
//! Each in turn, for cores differ: one that takes the machine's interrupts forwards less, and a
//! speed-up against it alone is too large.
//!
//! Where too few rounds had all of these calm, it is the ratio of their calm trials, whatever the rounds.

use dut::case::Case;
use figures::{Estimate, Rounds, Weak, judge};
use serde::{Deserialize, Serialize};

use crate::evidence::{Measured, calm_ratio, ratios};
use crate::row::Key;

/// Several workers against one, same engine, table organisation and frame size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SpeedUp {
    #[serde(flatten)]
    pub(crate) key: Key,
    /// Rounds that count: several and single cores were measured, and frames came through on each. Or
    /// calm trials of each, where too few rounds had all calm.
    pub(crate) rounds: usize,
    /// Times the frames of one worker, the mean of the cores: the median of the rounds' own ratios, or
    /// the ratio of the medians of calm trials.
    pub(crate) times: f64,
    /// Lower end of the interval of that median: of at least nine rounds a bootstrap's 2.5
    /// percentile, else the lowest round.
    pub(crate) low: f64,
    /// Its upper end.
    pub(crate) high: f64,
    /// Why the rounds are no evidence; absent where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) weak: Option<Weak>,
}

impl SpeedUp {
    /// All of `cases` with more than one worker and no route changes that had frames come through
    /// with one; `rounds` are theirs, in the same order, and `seed` fixes the draws behind
    /// intervals.
    pub(crate) fn all(cases: &[Case], rounds: &Rounds<Measured>, seed: u64) -> Vec<Self> {
        let speed_up = |(index, case): (usize, &Case)| {
            let alone: Vec<usize> = (0..cases.len())
                .filter(|&other| is_one_of(&cases[other], case))
                .collect();
            let judged = judge(&ratios(rounds, &[index], &alone), rounds.count(), seed);
            let paired = (judged.values.len(), Estimate::of(&judged.values, seed));
            let unpaired = judged
                .weak
                .and_then(|_| calm_ratio(rounds, &[index], &alone, seed));
            let (count, ratio) = unpaired.unwrap_or(paired);
            ratio.value.is_finite().then(|| Self {
                key: case.into(),
                rounds: count,
                times: ratio.value,
                low: ratio.interval.low,
                high: ratio.interval.high,
                weak: judged.weak.filter(|_| unpaired.is_none()),
            })
        };
        (0..)
            .zip(cases)
            .filter(|(_, case)| case.workers > 1 && case.changes == 0)
            .filter_map(speed_up)
            .collect()
    }
}

/// Whether `other` is one of the cores alone, in what is else the same case.
pub(crate) fn is_one_of(other: &Case, case: &Case) -> bool {
    let alone = Case {
        first: other.first,
        workers: 1,
        ..case.clone()
    };
    *other == alone
}

#[cfg(test)]
#[path = "../tests/unit/speed_up.rs"]
mod tests;
