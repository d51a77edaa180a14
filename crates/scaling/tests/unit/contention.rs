use host::cores::CoreId;
use host::pressure::Caches;

use super::*;
use crate::harness::plan::{Mode, Placement};
use crate::workloads::bench::Bench;

#[test]
fn every_loop_succeeds() {
    for (name, start) in TESTS {
        let mut body = start();
        assert!((0..3).all(|_| body() >= 1.0), "{name}");
    }
}

#[test]
fn each_loop_is_swept_as_processes_and_as_threads() {
    let bench = Bench {
        cores: vec![CoreId(0), CoreId(1)],
        caches: Caches {
            last: 1 << 20,
            second: 1 << 18,
        },
        quick: true,
        seed: 1,
        program: "corelane".to_owned(),
        kernel: false,
        placements: vec![Placement::Pinned],
        interrupted: || false,
    };
    let Kind::Loop(lap) = &WORKLOAD.kind else {
        panic!("a loop");
    };
    let prepared = lap.prepare("contention", &bench);
    let found: Vec<_> = prepared.iter().map(|one| one.as_ref().unwrap()).collect();
    assert_eq!(found.len(), 2 * TESTS.len());
    for (place, one) in found.iter().enumerate() {
        let threads = one
            .request
            .command
            .ends_with(&["--threads", "{cores}"].map(str::to_owned));
        let mode = if threads { Mode::Threads } else { Mode::Copies };
        assert_eq!((threads, one.request.mode), (place % 2 == 1, Some(mode)));
        assert!(
            one.label
                .ends_with(if threads { "threads" } else { "processes" })
        );
    }
}

#[test]
fn the_threads_of_a_process_work_together() {
    let Kind::Loop(lap) = &WORKLOAD.kind else {
        panic!("a loop");
    };
    let time = std::time::Duration::from_millis(5);
    assert!(lap.rate(1, 1, time) > 0.0 && lap.rate(1, 3, time) > 0.0);
}
