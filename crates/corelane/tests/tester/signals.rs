//! Ctrl-C, and what is shown while a test runs.

use std::process::Stdio;
use std::time::{Duration, Instant};

use super::support::{SHORTEST, directory, path, program, read, root, rows, text};

#[test]
fn ctrl_c_in_a_trial_keeps_what_was_measured_and_cleans_up() {
    if !root() {
        return;
    }
    let directory = directory();
    let (file, name) = path(&directory, "result.json");
    let (begun, begun_name) = path(&directory, "begun");
    let child = program()
        .args([
            "test", "latency", "--quick", "--trial", "1", "--sizes", "64,128", "--rate", "500",
        ])
        .args(["--json", &name, "--before", &format!("touch {begun_name}")])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_mins(2);
    while !begun.exists() {
        assert!(Instant::now() < deadline, "the test does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    // The first trial of the device is under way now: it lasts a second at this rate.
    std::thread::sleep(Duration::from_millis(300));
    let process = child.id();
    // SAFETY: a signal to a child of ours that has not been waited for.
    unsafe { libc::kill(process.cast_signed(), libc::SIGINT) };
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    let result = read(&file);
    assert_eq!(result["stopped"], "interrupted");
    assert_eq!(rows(&result, "selftest").len(), 1);
    let latency = rows(&result, "latency");
    assert_eq!(latency.len(), 1, "the second size was not begun");
    assert!(
        latency[0]["because"]
            .as_str()
            .unwrap()
            .contains("interrupted")
    );
    let left = host::namespace::existing();
    let own = format!("cl-{process}-");
    assert!(!left.iter().any(|name| name.starts_with(&own)), "{left:?}");
}

#[test]
fn a_terminal_sees_the_bounds_of_the_search() {
    let line = format!(
        "TERM=xterm {} test throughput --dut calibrated --calibrated rate=20kpps,buffer=64 {} \
         --sizes 64",
        env!("CARGO_BIN_EXE_corelane"),
        SHORTEST.join(" ")
    );
    // script(1) runs it on a terminal of its own.
    let output = std::process::Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .stdin(Stdio::null())
        .output();
    let Ok(output) = output else {
        needs::skipped!("needs script(1) of the package bsdutils");
        return;
    };
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains("1/1  throughput 64: self-test"), "{shown}");
    assert!(shown.contains(" bounds "), "{shown}");
}
