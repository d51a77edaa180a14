//! The row that a case becomes.

use dut::case::Case;
use dut::kind::Table;
use figures::{Estimate, Weak};
use report::units::{BitsPerSecond, FramesPerSecond};
use serde::{Deserialize, Serialize};

/// What a figure of the study is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Key {
    pub(crate) engine: String,
    pub(crate) table: Table,
    pub(crate) workers: usize,
    pub(crate) frame_bytes: u32,
}

impl From<&Case> for Key {
    fn from(case: &Case) -> Self {
        Self {
            engine: case.kind.engine().to_owned(),
            table: case.kind.table(),
            workers: case.workers,
            frame_bytes: case.frame_bytes,
        }
    }
}

/// A case with its result: the median of the rounds that count, and the lowest and highest of them. In JSON
/// the rates are plain numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Row {
    #[serde(flatten)]
    pub(crate) key: Key,
    /// Prefixes in the forwarding table.
    pub(crate) routes: usize,
    /// Distinct destinations that the frames went to.
    pub(crate) destinations: usize,
    /// Route changes asked for.
    pub(crate) route_changes_per_second: u64,
    /// Median of the rounds; of calm trials alone where too few rounds had all of a row's calm.
    pub(crate) frames_per_second: FramesPerSecond,
    /// The same at layer 2: frames × bytes with FCS × 8.
    pub(crate) bits_per_second: BitsPerSecond,
    /// Lowest round, frames a second; of calm trials the lower end of the interval.
    pub(crate) low: FramesPerSecond,
    /// Highest round, frames a second; of calm trials the upper end.
    pub(crate) high: FramesPerSecond,
    /// The highest rate at which a search found nothing lost; `None` where none was found, or
    /// nobody searched.
    #[serde(default)]
    pub(crate) no_loss_frames_per_second: Option<FramesPerSecond>,
    /// Why the rounds are no evidence; absent where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) weak: Option<Weak>,
}

impl Row {
    /// The row of `case` from its `rates` by round, frames/s.
    pub(crate) fn new(case: &Case, rates: &[f64], routes: usize, destinations: usize) -> Self {
        let frames_per_second = FramesPerSecond(figures::median(rates));
        let (low, high) = figures::range(rates);
        Self {
            key: case.into(),
            routes,
            destinations,
            route_changes_per_second: case.changes,
            frames_per_second,
            bits_per_second: frames_per_second.at(case.frame_bytes),
            low: FramesPerSecond(low),
            high: FramesPerSecond(high),
            no_loss_frames_per_second: None,
            weak: None,
        }
    }

    /// The same with this rate, frames/s.
    pub(crate) fn at(self, rate: Estimate) -> Self {
        let frames_per_second = FramesPerSecond(rate.value);
        Self {
            frames_per_second,
            bits_per_second: frames_per_second.at(self.key.frame_bytes),
            low: FramesPerSecond(rate.interval.low),
            high: FramesPerSecond(rate.interval.high),
            ..self
        }
    }

    /// Whether it is that of `key` without route changes.
    pub(crate) fn is_quiet(&self, key: &Key) -> bool {
        self.route_changes_per_second == 0 && self.key == *key
    }
}

#[cfg(test)]
#[path = "../tests/unit/row.rs"]
mod tests;
