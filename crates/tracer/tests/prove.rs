//! The fast part of the proof: a few programs whose serial share is known.

use std::process::Command;

use crate::live_help::{BUSY, root};

#[test]
fn intervals_hold_the_serial_share_that_was_put_in() {
    if !root() || !needs::two_cores() {
        return;
    }
    let _one = BUSY.lock();
    // scripts/test builds it beside the tests, `cargo test -p tracer` too.
    let test = std::env::current_exe().expect("a test has a path");
    let proof = test.ancestors().nth(2).expect("a build directory");
    let proof = proof.join("examples/prove_profiler");
    if !proof.exists() {
        needs::skipped!("{}: build the examples", proof.display());
        return;
    }
    let output = Command::new(proof)
        .args(["3", "500", "fast"])
        .output()
        .expect("the proof starts");
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{table}");
    assert!(table.contains("intervals hold the truth"), "{table}");
}
