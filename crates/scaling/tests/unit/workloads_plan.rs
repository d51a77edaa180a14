//! Of `scaling/src/workloads/plan.rs`.

use host::cores::CoreId;

use super::super::all;
use super::*;
use crate::harness::plan::Placement;
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
        placements: vec![Placement::Pinned],
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

#[test]
fn free_beside_pinned_takes_longer() {
    let pinned = bench(2, false);
    let both = Bench {
        placements: vec![Placement::Pinned, Placement::Free],
        ..pinned.clone()
    };
    assert!(suite(&both) > suite(&pinned));
}
