//! What a sweep gives for one placement: a run at each core count in each round.

use figures::median;
use serde::{Deserialize, Serialize};

use super::plan::Placement;
use crate::cause::split::{Cost, Split, split};
use crate::laws::rates::Rates;

/// A task alone on its core gives way to the kernel's own threads some ten times a second, one that
/// shares it a hundred times.
const CROWDED: f64 = 100.0;
/// Seconds below which a few switches say nothing.
const CROWDED_LEAST: f64 = 0.05;

/// One timed run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// Units of work a second: one over the wall time for one job, copies over it for copies, or
    /// what the program itself printed.
    pub rate: f64,
    /// Seconds of wall time.
    pub wall: f64,
    /// Seconds of user CPU time of the process tree.
    pub user: f64,
    /// Seconds of system CPU time of the process tree.
    pub system: f64,
    /// Seconds stolen from the setting's cores; 0 for runs shorter than the kernel's clock can
    /// tell.
    pub steal: f64,
    /// Switches because another task was due.
    pub involuntary_switches: u64,
    /// Whether other programs or the hypervisor took more than a twentieth of the cores.
    pub disturbed: bool,
}

impl Run {
    /// What the run cost on so many `cores`, and the work it did.
    pub fn cost(&self, cores: u32) -> Cost {
        Cost {
            cores,
            work: self.rate * self.wall,
            wall: self.wall,
            user: self.user,
            system: self.system,
            steal: self.steal,
        }
    }

    /// Whether others had so much of the cores that nobody can tell what the command would have
    /// used: seen in `/proc/stat`, or in a run too short for that by how often its tasks had to
    /// give way.
    pub fn crowded(&self) -> bool {
        self.disturbed || self.involuntary_switches as f64 > CROWDED * self.wall.max(CROWDED_LEAST)
    }
}

/// All rounds of one placement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Series {
    /// Who chose the cores.
    pub placement: Placement,
    /// Core counts.
    pub counts: Vec<u32>,
    /// For each round a run at each count.
    pub rounds: Vec<Vec<Run>>,
}

impl Series {
    /// The rates, for the laws.
    pub fn rates(&self) -> Rates {
        Rates {
            cores: self.counts.clone(),
            rates: self
                .rounds
                .iter()
                .map(|round| round.iter().map(|run| run.rate).collect())
                .collect(),
        }
    }

    /// The median of a figure at place `place`.
    pub fn median(&self, place: usize, figure: impl Fn(&Run) -> f64) -> f64 {
        median(self.rounds.iter().map(|round| figure(&round[place])))
    }

    /// Cores kept busy at place `place`: CPU time over wall time, median over the rounds.
    pub fn busy(&self, place: usize) -> f64 {
        self.median(place, |run| (run.user + run.system) / run.wall.max(1e-9))
    }

    /// The split of the efficiency on the most cores in each round that allows one.
    pub fn splits(&self) -> Vec<Split> {
        let most = self.counts.last().copied().unwrap_or(1);
        let of_round = |round: &Vec<Run>| split(&round.first()?.cost(1), &round.last()?.cost(most));
        self.rounds.iter().filter_map(of_round).collect()
    }

    /// What the setting at place `place` cost, and the work it did, as means over the rounds.
    pub fn cost(&self, place: usize) -> Cost {
        let count = self.rounds.len().max(1) as f64;
        let sum = |figure: fn(&Run) -> f64| {
            self.rounds
                .iter()
                .map(|round| figure(&round[place]))
                .sum::<f64>()
                / count
        };
        Cost {
            cores: self.counts[place],
            work: sum(|run| run.rate * run.wall),
            wall: sum(|run| run.wall),
            user: sum(|run| run.user),
            system: sum(|run| run.system),
            steal: sum(|run| run.steal),
        }
    }
}
