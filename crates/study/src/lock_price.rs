//! What the lock costs, apart from what goes with it: each organisation's rate against that of one
//! table without a lock that is asked one address at a time, round by round.
//!
//! A table behind a lock is asked one address at a time, because the lock is taken for each frame.
//! Held against tables that are read in bursts it would bear the price of giving up bursts too.

use dut::case::{Case, SMALLEST};
use dut::kind::Table;
use figures::{Estimate, Rounds, Weak, judge};
use serde::{Deserialize, Serialize};

use crate::evidence::{Measured, ratios};
use crate::row::Key;

/// What others are held against.
pub(crate) const BASE: Table = Table::OneByOne;
/// What is held against it, in the order shown.
pub(crate) const HELD: [Table; 3] = [Table::Locked, Table::LockedPerCore, Table::Shared];

/// An organisation against one address at a time without a lock, same workers, smallest frames.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct LockPrice {
    #[serde(flatten)]
    pub(crate) key: Key,
    /// Rounds in which both were measured.
    pub(crate) rounds: usize,
    /// Share of the other's frames: the median of the rounds' own ratios.
    pub(crate) share: f64,
    /// Lower end of the interval of that median.
    pub(crate) low: f64,
    /// Its upper end.
    pub(crate) high: f64,
    /// Why the rounds are no evidence; absent where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) weak: Option<Weak>,
}

impl LockPrice {
    /// Those of one worker, the mean of the cores, and of all; `rounds` are of `cases`, in the same
    /// order, and `seed` fixes the draws behind intervals.
    pub(crate) fn all(cases: &[Case], rounds: &Rounds<Measured>, seed: u64) -> Vec<Self> {
        let of = |table: Table, workers: usize| -> Vec<usize> {
            let own = |&index: &usize| {
                let case = &cases[index];
                (case.kind.table(), case.workers) == (table, workers)
                    && (case.frame_bytes, case.changes) == (SMALLEST, 0)
                    && !case.kind.needs_root()
            };
            (0..cases.len()).filter(own).collect()
        };
        let most = cases.iter().map(|case| case.workers).max().unwrap_or(1);
        let counts = if most == 1 { vec![1] } else { vec![1, most] };
        let price = |(table, workers)| {
            let own = of(table, workers);
            let judged = judge(
                &ratios(rounds, &own, &of(BASE, workers)),
                rounds.count(),
                seed,
            );
            let share = Estimate::of(&judged.values, seed);
            share.value.is_finite().then_some(())?;
            Some(Self {
                key: Key::from(&cases[*own.first()?]),
                rounds: judged.values.len(),
                share: share.value,
                low: share.interval.low,
                high: share.interval.high,
                weak: judged.weak,
            })
        };
        let wanted = HELD
            .into_iter()
            .flat_map(|table| counts.iter().map(move |&workers| (table, workers)));
        wanted.filter_map(price).collect()
    }

    /// The price where the rounds tell it. A lock saves no work, so a share above 1 is noise as
    /// long as its interval holds 1.
    pub(crate) fn told(&self) -> Option<&Self> {
        let is_lock = matches!(self.key.table, Table::Locked | Table::LockedPerCore);
        let is_noise = is_lock && self.share > 1.0 && self.low <= 1.0;
        (!is_noise && self.weak.is_none()).then_some(self)
    }

    /// `40 % (38 to 43)`.
    pub(crate) fn in_words(&self) -> String {
        let [share, low, high] = [self.share, self.low, self.high].map(|share| share * 100.0);
        format!("{share:.0} % ({low:.0} to {high:.0})")
    }
}

#[cfg(test)]
#[path = "../tests/unit/lock_price.rs"]
mod tests;
