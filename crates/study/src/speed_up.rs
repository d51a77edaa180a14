//! What more workers bring: each round's rate with several against the same round's rate with one,
//! measured right before or after.

use dut::case::{Case, Sample};
use figures::Rounds;
use serde::{Deserialize, Serialize};

use crate::row::Key;

/// Several workers against one, same engine, table organisation and frame size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SpeedUp {
    #[serde(flatten)]
    pub(crate) key: Key,
    /// Rounds in which both were measured and frames came through with one.
    pub(crate) rounds: usize,
    /// Times the frames of one worker: the median of the rounds' own ratios.
    pub(crate) times: f64,
    /// Lower end of the interval of that median: of at least nine rounds a bootstrap's 2.5
    /// percentile, else the lowest round.
    pub(crate) low: f64,
    /// Its upper end.
    pub(crate) high: f64,
}

impl SpeedUp {
    /// All of `cases` with more than one worker and no route changes that had frames come through
    /// with one; `rounds` are theirs, in the same order.
    pub(crate) fn all(cases: &[Case], rounds: &Rounds<Sample>) -> Vec<Self> {
        let speed_up = |(index, case): (usize, &Case)| {
            let one = Case {
                workers: 1,
                ..case.clone()
            };
            let alone = cases.iter().position(|other| *other == one)?;
            let rate = |sample: &Sample| sample.frames_per_second;
            let ratio = rounds.ratio(index, alone, rate);
            ratio.value.is_finite().then(|| Self {
                key: case.into(),
                rounds: rounds.ratios(index, alone, rate).len(),
                times: ratio.value,
                low: ratio.interval.low,
                high: ratio.interval.high,
            })
        };
        (0..)
            .zip(cases)
            .filter(|(_, case)| case.workers > 1 && case.changes == 0)
            .filter_map(speed_up)
            .collect()
    }
}

#[cfg(test)]
#[path = "../tests/unit/speed_up.rs"]
mod tests;
