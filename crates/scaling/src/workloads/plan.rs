//! How long the built-in workloads take, computed from what they will do: known before they run,
//! and held below a quarter of an hour for all of them on two cores.

use std::time::Duration;

use super::bench::Bench;
use super::{Kind, Workload};
use crate::harness::allowance;
use crate::harness::pace::Pace;

/// Starting a process of ours, setting up its block, and its first turn.
const START: Duration = Duration::from_millis(60);

/// How long each copy of a loop runs.
pub const fn lap(quick: bool) -> Duration {
    Duration::from_millis(if quick { 60 } else { 250 })
}

/// Rounds of a loop's sweep.
pub const fn rounds(quick: bool) -> usize {
    if quick { 5 } else { 9 }
}

/// How long a sweep of a command takes at most: one that takes `run` on one core, and less on more.
pub fn sweep(bench: &Bench, run: Duration, rounds: Option<usize>) -> Duration {
    // All counts under each placement, and the control.
    let counts = allowance::counts(bench.cores.len() as u32, &[]).len();
    let runs = counts * bench.placements.len() + 1;
    Pace::of(bench.quick, rounds).longest(runs, run)
}

/// How long `workload` takes at most, by what it will do and on a processor of 2.5 GHz that has
/// nothing else to do.
pub fn planned(workload: &Workload, bench: &Bench) -> Duration {
    match &workload.kind {
        Kind::Loop(lap_of) => {
            let variants = (lap_of.variants)(&bench.caches).len() as u32;
            let run = lap(bench.quick) + START;
            let ways = if lap_of.threads { 2 } else { 1 };
            ways * variants * sweep(bench, run, Some(rounds(bench.quick)))
        }
        Kind::Program { planned, .. } | Kind::Experiment { planned, .. } => planned(bench),
    }
}

#[cfg(test)]
#[path = "../../tests/unit/workloads_plan.rs"]
mod tests;
