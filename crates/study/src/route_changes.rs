//! What route changes cost: each round's rate with changes against the same round's rate without,
//! measured right before or after.

use dut::case::Case;
use dut::kind::Table;
use figures::{Rounds, Weak, judge};
use serde::{Deserialize, Serialize};

use crate::evidence::Measured;

/// Below this share of the route changes asked for, the report says how many were made.
const ENOUGH: f64 = 0.95;

/// Forwarding while routes changed, against none. Shares are of the frames without changes, round
/// by round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct RouteChanges {
    pub(crate) engine: String,
    pub(crate) table: Table,
    /// Route changes a second asked for.
    pub(crate) asked: u64,
    /// Route changes a second really made: the median of the rounds.
    pub(crate) made: f64,
    /// Share of the frames that was kept: the median of the rounds.
    pub(crate) kept: f64,
    /// Its lowest round.
    pub(crate) kept_low: f64,
    /// Its highest round.
    pub(crate) kept_high: f64,
    /// Why the rounds are no evidence; absent where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) weak: Option<Weak>,
}

impl RouteChanges {
    /// All of `cases` that have route changes, where frames came through without; `rounds` are
    /// theirs, in the same order, and `seed` fixes the draws behind intervals.
    pub(crate) fn all(cases: &[Case], rounds: &Rounds<Measured>, seed: u64) -> Vec<Self> {
        let cost = |(index, case): (usize, &Case)| {
            let is_quiet = |other: &Case| other.changes == 0 && other.differs_in_changes_only(case);
            let quiet = cases.iter().position(is_quiet)?;
            // A round in which no frame went beside changes kept nothing, and counts.
            let pairs = rounds.pairs(index, quiet);
            let pairs = pairs.filter(|(_, quiet)| quiet.frames_per_second > 0.0);
            let kept = pairs.map(|(changing, quiet)| {
                let share = changing.frames_per_second / quiet.frames_per_second;
                (share, changing.disturbed || quiet.disturbed)
            });
            let judged = judge(&kept.collect::<Vec<_>>(), rounds.count(), seed);
            let kept = &judged.values;
            let made = rounds.values(index, |sample| sample.changes_per_second);
            let (kept_low, kept_high) = figures::range(kept);
            (!kept.is_empty()).then(|| Self {
                engine: case.kind.engine().to_owned(),
                table: case.kind.table(),
                asked: case.changes,
                made: figures::median(&made),
                kept: figures::median(kept),
                kept_low,
                kept_high,
                weak: judged.weak,
            })
        };
        let changing = (0..).zip(cases).filter(|(_, case)| case.changes > 0);
        changing.filter_map(cost).collect()
    }

    /// Whether so few changes were made that it has to be said.
    pub(crate) fn fell_behind(&self) -> bool {
        self.made < ENOUGH * self.asked as f64
    }
}

#[cfg(test)]
#[path = "../tests/unit/route_changes.rs"]
mod tests;
