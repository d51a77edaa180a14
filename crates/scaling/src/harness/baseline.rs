//! One core is each core in turn.
//!
//! A core that serves the machine's interrupts does less than the others, and a speed-up against it
//! alone is too large. In every round two runs are made on one core, each on the next one of all
//! cores in an order of its own; the round's baseline is their mean. The one over the other is the
//! control.

use figures::Random;
use host::cores::CoreId;

use super::plan::{Job, Placement};
use super::runs::{Runs, SweepError};
use super::series::Run;
use super::sweep::Station;

/// The stations of a run on one core.
pub(super) struct Baseline<'a> {
    stations: Vec<Station<'a>>,
    next: usize,
}

impl<'a> Baseline<'a> {
    /// Stations on `cores`, at most one for each of so many `runs`.
    pub(super) fn start(
        job: &'a Job,
        cores: &'a [CoreId],
        runs: usize,
    ) -> Result<Self, SweepError> {
        let order = Random::new(job.seed).order(cores.len());
        let chosen = order.into_iter().take(runs.max(1));
        let stations = chosen.map(|place| {
            let runs = Runs::confined(job, Placement::Pinned.on(1), cores[place])?;
            Ok(Station::new(runs, &cores[place..=place]))
        });
        Ok(Self {
            stations: stations.collect::<Result<_, SweepError>>()?,
            next: 0,
        })
    }

    /// The next core's station; `None` without a core.
    pub(super) fn next(&mut self) -> Option<&mut Station<'a>> {
        let place = self.next % self.stations.len().max(1);
        self.next += 1;
        self.stations.get_mut(place)
    }
}

/// The mean of two runs on one core each: the rate that two cores have alone, for each of them.
pub(super) fn mean(first: &Run, second: &Run) -> Run {
    let half = |figure: fn(&Run) -> f64| f64::midpoint(figure(first), figure(second));
    let rate = half(|run| run.rate);
    Run {
        rate,
        wall: half(|run| run.rate * run.wall) / rate,
        user: half(|run| run.user),
        system: half(|run| run.system),
        steal: half(|run| run.steal),
        involuntary_switches: first
            .involuntary_switches
            .midpoint(second.involuntary_switches),
        disturbed: first.disturbed || second.disturbed,
    }
}
