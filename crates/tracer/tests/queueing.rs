//! The theory of queues, against cases that are known by hand.

use tracer::analyse::queueing::{acquisitions, solve};

#[test]
fn one_thread_never_queues() {
    let alone = solve(&[10.0], 30.0, 1);
    assert!((alone.throughput - 1.0 / 40.0).abs() < 1e-12);
    assert!((alone.utilisation - 0.25).abs() < 1e-12);
}

#[test]
fn the_machine_repair_model_by_hand() {
    // Two threads, one queue, no thinking: the server never rests.
    assert!((solve(&[5.0], 0.0, 2).utilisation - 1.0).abs() < 1e-12);
    // S = Z = 1, two threads: R1 = 1, X1 = 1/2, Q1 = 1/2; R2 = 1.5, X2 = 2/2.5.
    assert!((solve(&[1.0], 1.0, 2).throughput - 0.8).abs() < 1e-12);
}

#[test]
fn throughput_stays_under_both_bounds() {
    for threads in 1..50 {
        let found = solve(&[2.0, 1.0], 17.0, threads).throughput;
        assert!(found <= (threads as f64 / 20.0).min(0.5) + 1e-12);
    }
}

#[test]
fn hidden_acquisitions_are_found_again() {
    // Three threads, S = 10, Z = 40: of the arrivals, U(2 threads) must wait.
    let (hold, think, threads) = (10.0, 40.0, 3);
    let waits = solve(&[hold], think, threads - 1).utilisation;
    let all = 10_000.0;
    let found =
        acquisitions(all * waits, hold, all * (hold + think), threads).expect("there are data");
    assert!((found / all - 1.0).abs() < 0.001, "{found}");
}
