//! What the machine's cores share, measured by loops that use nothing else.

use std::time::Duration;

use dut::error::Error;
use figures::{Estimate, Rounds};
use host::CoreId;
use host::pressure::Caches;
use serde::{Deserialize, Serialize};

use super::probe::{Probe, Work, line_move};

/// Interleaved rounds: enough for the interval of a median.
const ROUNDS: usize = figures::BOOTSTRAP_MINIMUM;
/// Most pairs of cores between which a line is moved.
const PAIRS: usize = 4;
/// Shortest look at a loop.
const WINDOW_MIN: Duration = Duration::from_millis(5);
/// Longest: more says no more.
const WINDOW_MAX: Duration = Duration::from_millis(25);

/// The machine: medians over the rounds with their intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Machine {
    /// Cores that all loops together had.
    pub(crate) cores: usize,
    /// Bytes of a core's second-level cache.
    pub(crate) second_level: u64,
    /// Bytes of the last-level cache.
    pub(crate) last_level: u64,
    /// Bytes of the buffer that stands for memory.
    pub(crate) buffer: u64,
    /// Bytes of the forwarding table.
    pub(crate) table: u64,
    /// Bytes a second that one core reads.
    pub(crate) read_one: Estimate,
    /// The same of all but one together.
    pub(crate) read_others: Estimate,
    /// The same of all together.
    pub(crate) read_all: Estimate,
    /// Part of its rate among all but one that a reading core keeps among all.
    pub(crate) reader_keeps: Estimate,
    /// How many times longer a core computes when all compute.
    pub(crate) computing: Estimate,
    /// Nanoseconds of a load from the buffer, one core loading.
    pub(crate) load_one: Estimate,
    /// The same, all cores loading.
    pub(crate) load_all: Estimate,
    /// Nanoseconds of a load from the table's size, the other cores at rest.
    pub(crate) table_load: Estimate,
    /// How many times longer it takes while the others read memory.
    pub(crate) table_loaded: Estimate,
    /// Nanoseconds of a cache line from one core to another.
    pub(crate) line_move: Estimate,
}

/// What is measured in a round.
#[derive(Clone, Copy)]
enum Look {
    ReadOne,
    ReadOthers,
    ReadAll,
    ComputeOne,
    ComputeAll,
    LoadOne,
    LoadAll,
    Table,
    TableLoaded,
    LineMove,
}

impl Look {
    const ALL: [Self; 10] = [
        Self::ReadOne,
        Self::ReadOthers,
        Self::ReadAll,
        Self::ComputeOne,
        Self::ComputeAll,
        Self::LoadOne,
        Self::LoadAll,
        Self::Table,
        Self::TableLoaded,
        Self::LineMove,
    ];

    /// Takes it, in round `round`: bytes or steps a second, or nanoseconds.
    fn take(self, at: &Site, round: usize, window: Duration) -> f64 {
        let (one, others) = at.split(round);
        let all = at.cores;
        let rate = |cores, work| at.probe.rate(cores, work, window);
        let table = Work::Load(at.table);
        match self {
            Self::ReadOne => rate(&[one], Work::Read),
            Self::ReadOthers => rate(&others, Work::Read),
            Self::ReadAll => rate(all, Work::Read),
            Self::ComputeOne => rate(&[one], Work::Compute),
            Self::ComputeAll => rate(all, Work::Compute),
            Self::LoadOne => 1e9 / rate(&[one], Work::Load(at.probe.bytes())),
            Self::LoadAll => all.len() as f64 * 1e9 / rate(all, Work::Load(at.probe.bytes())),
            Self::Table => 1e9 / rate(&[one], table),
            Self::TableLoaded => {
                let load = || at.probe.rate(&[one], table, window);
                1e9 / at.probe.beside(&others, Work::Read, load).0
            }
            Self::LineMove => {
                let pairs = others.len().min(PAIRS);
                let other = others[round % pairs];
                line_move([one, other], window)
            }
        }
    }
}

/// What is measured, and with what.
pub(super) struct Site<'a> {
    /// At least two.
    pub(super) cores: &'a [CoreId],
    pub(super) caches: Caches,
    pub(super) probe: &'a Probe,
    /// Bytes of the forwarding table.
    pub(super) table: usize,
}

impl Site<'_> {
    /// The core that works alone in this round, and the others.
    pub(super) fn split(&self, round: usize) -> (CoreId, Vec<CoreId>) {
        let one = self.cores[round % self.cores.len()];
        let others = self.cores.iter().copied().filter(|&core| core != one);
        (one, others.collect())
    }
}

impl Machine {
    /// Measures it in about `time`.
    ///
    /// # Errors
    /// When the user interrupts, and when a loop did nothing.
    pub(super) fn measure(site: &Site, time: Duration, seed: u64) -> Result<Self, Error> {
        let window = time / (ROUNDS * Look::ALL.len()) as u32;
        let window = window.clamp(WINDOW_MIN, WINDOW_MAX);
        let mut rounds = Rounds::new(Look::ALL.len(), seed);
        let mut round = 0;
        let mut taken = 0;
        rounds.run(ROUNDS, |look| {
            host::cleanup::check()?;
            let value = Look::ALL[look].take(site, round, window);
            taken += 1;
            round = taken / Look::ALL.len();
            Ok::<f64, Error>(value)
        })?;
        let machine = Self::of(site, &rounds, seed);
        if machine.is_finite() {
            Ok(machine)
        } else {
            Err(
                "the loops that measure the machine got no time on its cores; try again when \
                 other programs leave them"
                    .into(),
            )
        }
    }

    fn of(site: &Site, rounds: &Rounds<f64>, seed: u64) -> Self {
        let count = site.cores.len() as f64;
        let value = |look: Look| -> Vec<f64> { rounds.values(look as usize, |value| *value) };
        let estimate = |look| Estimate::of(&value(look), seed);
        // A core's share of the second against its share of the first, times `factor`.
        let ratio = |of: Look, to: Look, factor: f64| {
            let pairs = value(of).into_iter().zip(value(to));
            let ratios: Vec<f64> = pairs.map(|(of, to)| factor * of / to).collect();
            Estimate::of(&ratios, seed)
        };
        Self {
            cores: site.cores.len(),
            second_level: site.caches.second as u64,
            last_level: site.caches.last as u64,
            buffer: site.probe.bytes() as u64,
            table: site.table as u64,
            read_one: estimate(Look::ReadOne),
            read_others: estimate(Look::ReadOthers),
            read_all: estimate(Look::ReadAll),
            reader_keeps: ratio(Look::ReadAll, Look::ReadOthers, (count - 1.0) / count),
            computing: ratio(Look::ComputeOne, Look::ComputeAll, count),
            load_one: estimate(Look::LoadOne),
            load_all: estimate(Look::LoadAll),
            table_load: estimate(Look::Table),
            table_loaded: ratio(Look::TableLoaded, Look::Table, 1.0),
            line_move: estimate(Look::LineMove),
        }
    }

    /// All its estimates, those of time and of rate alike.
    fn estimates(&self) -> [Estimate; 10] {
        [
            self.read_one,
            self.read_others,
            self.read_all,
            self.reader_keeps,
            self.computing,
            self.load_one,
            self.load_all,
            self.table_load,
            self.table_loaded,
            self.line_move,
        ]
    }

    /// Whether each is a positive number with ends in order.
    pub(super) fn is_finite(&self) -> bool {
        self.estimates().iter().all(|of| {
            let ends = [of.interval.low, of.value, of.interval.high];
            ends.iter().all(|end| end.is_finite() && *end > 0.0) && ends.is_sorted()
        })
    }

    /// The pace of one of all but one readers against that of a reader alone.
    pub(super) fn crowded(&self) -> f64 {
        let others = self.read_others.value / (self.cores as f64 - 1.0);
        others / self.read_one.value
    }
}

#[cfg(test)]
#[path = "../../tests/unit/model/machine.rs"]
mod tests;
