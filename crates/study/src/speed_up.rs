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
mod tests {
    use dut::kind::Kind;
    use fib::TableOrganisation;

    use super::*;
    use crate::testing::rounds;

    fn case(workers: usize) -> Case {
        Case {
            kind: Kind::Memory(Some(TableOrganisation::Shared)),
            workers,
            frame_bytes: 64,
            changes: 0,
        }
    }

    /// The machine slows down by half between the second round and the third; the ratio of medians
    /// would be 3, or 1.
    #[test]
    fn rounds_are_compared_with_themselves() {
        let cases = [case(1), case(2)];
        let rounds = rounds([[100.0, 100.0, 50.0], [200.0, 190.0, 105.0]]);
        let all = SpeedUp::all(&cases, &rounds);
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].key.workers, all[0].rounds), (2, 3));
        assert!((all[0].times - 2.0).abs() < 1e-12);
        assert!((all[0].low - 1.9).abs() < 1e-12 && (all[0].high - 2.1).abs() < 1e-12);
    }

    #[test]
    fn without_a_frame_on_one_worker_there_is_no_ratio() {
        let cases = [case(1), case(2)];
        let rounds = rounds([[0.0, 0.0], [1.0, 1.0]]);
        assert!(SpeedUp::all(&cases, &rounds).is_empty());
    }
}
