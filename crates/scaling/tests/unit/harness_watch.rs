//! Of `scaling/src/harness/watch.rs`.

use std::ffi::CString;

use super::*;
use crate::harness::keeper::Spec;

#[test]
fn state_and_session_are_read_past_a_strange_name() {
    assert_eq!(fields("7 (a) S (b) R 1 7 5 0 -1"), (Some('R'), Some(5)));
    assert_eq!(fields(""), (None, None));
}

#[test]
fn waiting_and_pressure_are_read_in_the_kernels_forms() {
    assert_eq!(run_queue_wait("1200 3400 5\n"), Some(3400));
    assert_eq!(run_queue_wait(""), None);
    let text = "some avg10=98.59 avg60=81.95 avg300=36.96 total=3683231274\nfull avg10=0.00 \
                avg60=0.00 avg300=0.00 total=0\n";
    assert!((total(text).unwrap() - 3_683.231_274).abs() < 1e-9);
    assert_eq!(total("full avg10=0.00 total=0"), None);
    let stalled = stalled([1.0, 0.0, 2.0], [1.5, 0.0, 9.0], 2.0);
    assert!((stalled.cpu - 0.25).abs() < 1e-12 && (stalled.io - 1.0).abs() < 1e-12);
}

#[test]
fn two_busy_tasks_on_one_core_wait_for_it() {
    let core = host::cores::allowed_cores().unwrap()[0].0;
    let script =
        "busy() { i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; }; busy & busy & wait";
    let spec = Spec {
        argv: ["sh", "-c", script]
            .iter()
            .map(|s| CString::new(*s).unwrap())
            .collect(),
        env: Vec::new(),
        copies: vec![Some(vec![core])],
        timeout: Duration::from_secs(30),
        capture: false,
        count_events: false,
        repeat: false,
        interrupted: || false,
    };
    let mut keeper = Keeper::start(&spec).unwrap();
    let (outcome, watched) = watch(&mut keeper).unwrap();
    let two: f64 = watched.wanting.iter().skip(2).sum();
    assert!(two > 0.2 * outcome.wall.as_secs_f64(), "{watched:?}");
    match watched.queued {
        Some(queued) => assert!(queued > 0.1 * outcome.wall.as_secs_f64(), "{watched:?}"),
        None => needs::skipped!("this kernel has no schedstat"),
    }
}
