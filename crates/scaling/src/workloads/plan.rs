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
    // All counts, pinned, and the control.
    let runs = allowance::counts(bench.cores.len() as u32, &[]).len() + 1;
    Pace::of(bench.quick, rounds).longest(runs, run)
}

/// How long `workload` takes at most, by what it will do and on a processor of 2.5 GHz that has
/// nothing else to do.
pub fn planned(workload: &Workload, bench: &Bench) -> Duration {
    match &workload.kind {
        Kind::Loop(lap_of) => {
            let variants = (lap_of.variants)(&bench.caches).len() as u32;
            let run = lap(bench.quick) + START;
            variants * sweep(bench, run, Some(rounds(bench.quick)))
        }
        Kind::Program { planned, .. } | Kind::Experiment { planned, .. } => planned(bench),
    }
}

#[cfg(test)]
mod tests {
    use host::cores::CoreId;

    use super::super::all;
    use super::*;
    use host::pressure::Caches;

    fn bench(cores: u32, quick: bool) -> Bench {
        Bench {
            cores: (0..cores).map(CoreId).collect(),
            caches: Caches {
                last: 36 << 20,
                second: 1 << 20,
            },
            quick,
            seed: 1,
            program: String::new(),
            kernel: false,
            interrupted: || false,
        }
    }

    fn suite(bench: &Bench) -> Duration {
        all().iter().map(|workload| planned(workload, bench)).sum()
    }

    #[test]
    fn the_suite_is_planned_for_less_than_thirteen_minutes_on_two_cores() {
        for workload in all() {
            println!(
                "{:14} {:?}",
                workload.name,
                planned(workload, &bench(2, false))
            );
        }
        let full = suite(&bench(2, false));
        assert!(full < Duration::from_mins(13), "{full:?}");
        let quick = suite(&bench(2, true));
        assert!(quick < full / 2, "{quick:?}");
    }

    #[test]
    fn every_workload_has_a_plan_and_the_kernel_is_told() {
        let plain = bench(2, false);
        for workload in all() {
            let time = planned(workload, &plain);
            assert!(time > Duration::ZERO, "{}", workload.name);
            assert!(
                planned(workload, &bench(8, false)) >= time,
                "{}",
                workload.name
            );
        }
        let with = Bench {
            kernel: true,
            ..plain.clone()
        };
        assert!(suite(&with) > suite(&plain) + Duration::from_mins(5));
    }
}
