//! What a study refuses, with the remedy.

use std::process::{Command, Output};

use super::Place;

#[test]
fn a_result_that_is_none_is_refused() {
    let place = Place::new();
    let error = place.refused(&["report", "absent.json"]);
    assert!(
        error.contains("absent.json") && error.contains("name a result's JSON"),
        "{error}"
    );
    let error = place.refused(&["report", "routes.txt"]);
    assert!(error.contains("routes.txt is not a result"), "{error}");
}

#[test]
fn bad_input_is_refused_by_name_with_the_remedy() {
    let place = Place::new();
    std::fs::write(place.path("bad.txt"), "10.0.0.0/8\n10.0.0.0/8x\n").unwrap();
    let error = place.refused(&["--engine", "memory", "--routes", "bad.txt"]);
    assert!(error.contains("bad.txt:2:"), "{error}");
    let error = place.refused(&["--engine", "warp"]);
    assert!(
        error.contains("\"warp\"") && error.contains("memory, kernel, auto, xdp"),
        "{error}"
    );
    let error = place.refused(&["--cores", "5000"]);
    assert!(
        error.contains("--cores 5000") && error.contains("at most"),
        "{error}"
    );
    let error = place.refused(&["--engine", "memory", "--routes", "absent.txt"]);
    assert!(
        error.contains("absent.txt") && error.contains("prefix a line"),
        "{error}"
    );
}

/// The study in a user namespace where this user is nobody, root or not.
pub(super) fn as_nobody(place: &Place, arguments: &[&str]) -> Option<Output> {
    let nobody = |program: &str| {
        let mut command = Command::new("unshare");
        command
            .args(["--user", program])
            .current_dir(place.directory.path());
        command
    };
    if !nobody("true")
        .output()
        .is_ok_and(|output| output.status.success())
    {
        needs::skipped!("needs user namespaces to be without root");
        return None;
    }
    let mut command = nobody(env!("CARGO_BIN_EXE_corelane"));
    Some(command.arg("study").args(arguments).output().unwrap())
}

#[test]
fn without_root_an_engine_that_needs_it_is_refused() {
    let place = Place::new();
    for engine in [
        "kernel",
        "auto",
        "xdp",
        "xdp-kernel-fib",
        "tc",
        "af-xdp",
        "af-packet",
    ] {
        let Some(output) = as_nobody(&place, &["--engine", engine]) else {
            return;
        };
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(
            error.contains(&format!("engine {engine} needs root")) && error.contains("sudo"),
            "{error}"
        );
        assert!(!place.path("study.json").exists());
    }
}
