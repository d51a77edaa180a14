//! How a study ends before its time, and what it leaves behind: nothing.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Place;

/// Starts a study of an engine between interfaces and waits until its namespaces are there.
fn started(place: &Place, engine: &str) -> Option<Child> {
    if !needs::root("to make network namespaces") {
        return None;
    }
    let child = place
        .command(&[
            "--engine",
            engine,
            "--cores",
            "1",
            "--routes",
            "routes.txt",
            "--seconds",
            "60",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while namespaces_of(child.id()).len() < 3 {
        assert!(Instant::now() < deadline, "no namespaces after 30 s");
        thread::sleep(Duration::from_millis(10));
    }
    while arrived(child.id(), engine) < 1000 {
        assert!(Instant::now() < deadline, "no frames after 30 s");
        thread::sleep(Duration::from_millis(10));
    }
    Some(child)
}

/// Frames that have come to the sink of an engine's bench.
fn arrived(pid: u32, engine: &str) -> u64 {
    let sink = format!("cl-{pid}-{engine}-sink");
    let output = Command::new("ip")
        .args(["-n", &sink, "-s", "-j", "link", "show", "in"])
        .output()
        .unwrap();
    let links: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    links[0]["stats64"]["rx"]["packets"].as_u64().unwrap_or(0)
}

pub(super) fn namespaces_of(pid: u32) -> Vec<String> {
    let prefix = format!("cl-{pid}-");
    host::namespace::existing()
        .into_iter()
        .filter(|name| name.starts_with(&prefix))
        .collect()
}

fn signal(child: &Child, name: &str) {
    assert!(
        Command::new("kill")
            .args([name, &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
}

#[test]
fn ctrl_c_leaves_nothing_behind() {
    let place = Place::new();
    for engine in ["kernel", "af-packet"] {
        let Some(child) = started(&place, engine) else {
            return;
        };
        let pid = child.id();
        signal(&child, "-INT");
        let output = child.wait_with_output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && error.contains("interrupted"),
            "{error}"
        );
        assert_eq!(namespaces_of(pid), [""; 0]);
        assert!(!place.path("study.json").exists());
    }
}

#[test]
fn the_next_run_clears_what_a_crash_left() {
    let place = Place::new();
    let Some(mut child) = started(&place, "kernel") else {
        return;
    };
    let pid = child.id();
    signal(&child, "-KILL");
    child.wait().unwrap();
    // A killed process cannot clean up. Another test's run may, at any time.
    let output = place.run(&[
        "--engine",
        "kernel",
        "--cores",
        "1",
        "--seconds",
        "0",
        "--quick",
        "--rounds",
        "1",
        "--routes",
        "routes.txt",
    ]);
    assert!(output.status.success());
    assert_eq!(namespaces_of(pid), [""; 0]);
}

#[test]
fn an_interface_that_vanishes_is_named() {
    let place = Place::new();
    for (engine, interface) in [("kernel", "in"), ("xdp", "out"), ("af-packet", "out")] {
        let Some(child) = started(&place, engine) else {
            return;
        };
        let pid = child.id();
        let name = format!("cl-{pid}-{engine}-dut");
        let deleted = Command::new("ip")
            .args(["-n", &name, "link", "delete", interface])
            .status();
        assert!(deleted.unwrap().success());
        let output = child.wait_with_output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && error.contains("vanished") && error.contains(interface),
            "{engine}: {error}"
        );
        assert_eq!(namespaces_of(pid), [""; 0]);
    }
}
