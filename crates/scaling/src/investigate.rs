//! Everything that looks for the cause besides the sweep itself: instruments first, which only
//! watch, then interventions, which change one thing at a time.

use figures::{Estimate, ratios};
use host::pressure::Caches;
use host::topology::Topology;

use crate::cause::blame::Evidence;
use crate::cause::counters::Inflation;
use crate::cause::intervention::Intervention;
use crate::cause::pressure::Sensitivity;
use crate::harness::bandwidth::{Ceiling, Traffic};
use crate::harness::interrupts::move_interrupts;
use crate::harness::one_core;
use crate::harness::plan::{Job, Placement};
use crate::harness::press::{Pressing, press};
use crate::harness::profile::{Profile, profile};
use crate::harness::runs::{Runs, SweepError};
use crate::harness::sweep::Sweep;
use crate::harness::watch::Watched;

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// Cores of the runs that were watched and recorded.
    pub cores: u32,
    /// Seconds of the watched run.
    pub seconds: f64,
    /// What was seen of it.
    pub watched: Watched,
    /// A run under the profiler.
    pub profile: Option<Profile>,
    /// What the memory gives.
    pub ceiling: Ceiling,
    /// What the command takes of it.
    pub traffic: Option<Traffic>,
    /// Clock of all cores busy over that of one.
    pub clock: Option<f64>,
    /// Pressure on one shared resource at a time.
    pub pressure: Vec<Sensitivity>,
    /// Changes to the machine or the placement.
    pub interventions: Vec<Intervention>,
    /// What could not be done, and why.
    pub refused: Vec<String>,
}

impl Findings {
    /// What the parts of the split are divided by.
    pub fn evidence<'a>(&'a self, counters: Option<&'a Inflation>) -> Evidence<'a> {
        Evidence {
            budget: self.profile.as_ref().map(|profile| &profile.budget),
            counters,
            pressure: &self.pressure,
        }
    }
}

/// Looks for the cause of what `job` lost on `most` cores in `swept`. `inflation` is the factor by
/// which its work got dearer.
///
/// # Errors
/// When the command fails or hangs, and when interrupted.
pub fn investigate(
    job: &Job,
    most: u32,
    topology: &Topology,
    swept: &Sweep,
    pressing: &Pressing,
) -> Result<Findings, SweepError> {
    let caches = Caches::read(topology);
    let all = Placement::Pinned.on(most);
    let (outcome, watched) = Runs::start(job, all)?.watch()?;
    let mut refused = Vec::new();
    let mut profiled = None;
    if topology.cores.len() == most as usize {
        match profile(job, all)? {
            Ok(found) => profiled = Some(found),
            Err(why) => refused.push(format!("where the idle cores' time went ({why})")),
        }
    } else {
        refused.push(format!(
            "where the idle cores' time went (the profiler accounts for all {} cores of the \
             machine, the sweep had {most})",
            topology.cores.len()
        ));
    }
    let traffic = Traffic::measure(job, caches)?;
    let pressure = press(job, topology, pressing)?;
    let mut interventions: Vec<Intervention> = pinning(swept, job.seed).into_iter().collect();
    match move_interrupts(job, pressing.rounds)? {
        Ok(moved) => interventions.push(moved),
        Err(why) => refused.push(format!("what device interrupts cost the command ({why})")),
    }
    Ok(Findings {
        cores: most,
        seconds: outcome.wall.as_secs_f64(),
        watched,
        profile: profiled,
        ceiling: Ceiling::measure(&job.order, caches, pressing.looks),
        traffic,
        clock: one_core::clock(&job.order),
        pressure,
        interventions,
        refused,
    })
}

/// Pinned instead of free on all cores, from the rounds of the sweep; `None` unless both were
/// swept.
pub fn pinning(swept: &Sweep, seed: u64) -> Option<Intervention> {
    let seconds = |placement: Placement| -> Option<Vec<f64>> {
        let series = swept.series.iter().find(|s| s.placement == placement)?;
        series
            .rounds
            .iter()
            .map(|round| Some(1.0 / round.last()?.rate))
            .collect()
    };
    let (pinned, free) = (seconds(Placement::Pinned)?, seconds(Placement::Free)?);
    let effect = Estimate::of(&ratios(&pinned, &free), seed);
    let again: Vec<f64> = swept.control.iter().map(|ratio| 1.0 / ratio).collect();
    let what = "all tasks pinned to their cores instead of free".to_owned();
    Some(Intervention::new(
        what,
        &effect,
        &Estimate::of(&again, seed),
    ))
}
