//! Of `scaling/src/harness/oddities.rs`.

use super::*;
use crate::harness::series::Run;

/// A job that keeps `busy` cores busy whatever it is given; on two cores `disturbed` or not.
fn ignores(busy: f64, disturbed: bool, switches: u64) -> bool {
    let job = Job {
        command: vec!["job".to_owned()],
        mode: Mode::Threads,
        order: Vec::new(),
        timeout: Duration::from_secs(1),
        progress: None,
        prepare: None,
        seed: 1,
        interrupted: || false,
    };
    let trial = Outcome {
        wall: Duration::from_secs(1),
        ..Outcome::default()
    };
    let run = |disturbed| Run {
        rate: 1.0,
        wall: 1.0,
        user: busy,
        system: 0.0,
        steal: 0.0,
        involuntary_switches: switches,
        disturbed,
    };
    let series = Series {
        placement: Placement::Pinned,
        counts: vec![1, 2],
        rounds: vec![vec![run(false), run(disturbed)]; 3],
    };
    oddities(&job, &trial, &[series])
        .iter()
        .any(|note| matches!(note, Note::IgnoresCores { .. }))
}

#[test]
fn a_command_ignores_its_cores_only_where_it_could_have_had_them() {
    assert!(ignores(1.0, false, 5));
    assert!(!ignores(1.0, true, 5), "others had the cores");
    assert!(!ignores(1.0, false, 200), "it had to give way");
    assert!(!ignores(0.1, false, 5), "it waits");
    assert!(!ignores(1.8, false, 5), "it uses them");
}
