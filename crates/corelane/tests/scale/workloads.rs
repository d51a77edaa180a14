//! The built-in workloads: the list, and packages that are absent.

use std::fs;
use std::process::Command;

use host::temporary::Directory;

use super::{corelane, shown_again, text};
use crate::schemas::assert_is;

#[test]
fn the_list_names_every_workload_and_a_loop_runs() {
    let list = text(&corelane(&["list"]).stdout);
    for name in [
        "memory",
        "cache",
        "reverse",
        "blocks",
        "migration",
        "compile",
        "jobs",
        "raytrace",
        "keysearch",
        "unix",
        "contention",
        "interactive",
        "simulation",
        "control-loop",
        "interrupts",
        "delivery",
        "poll",
        "logger",
        "fifo",
        "forward",
    ] {
        assert!(list.contains(name), "{name}");
    }
    let loops = corelane(&["work", "keysearch", "--variant", "9", "--milliseconds", "5"]);
    assert!(text(&loops.stdout).starts_with("units a second: "));
}

#[test]
fn what_is_swept_may_be_free_to_move_beside_pinned() {
    let words = ["workload", "--quick", "--placement", "both", "keysearch"];
    let said = text(&corelane(&words).stdout);
    let cores = host::cores::allowed_cores().unwrap().len();
    for placement in ["pinned", "free"] {
        assert!(said.contains(placement), "{said}");
    }
    if cores > 1 {
        let said = said.replace('\n', " ");
        assert!(said.contains("on cores of their own"), "{said}");
        assert!(said.contains("free to move"), "{said}");
    }
}

#[test]
fn absent_packages_are_named_and_the_suite_goes_on() {
    let directory = Directory::new("workloads").unwrap();
    let json = directory.path().join("suite.json");
    let output = Command::new(env!("CARGO_BIN_EXE_corelane"))
        .args(["scale", "workload", "--quick", "raytrace", "compile"])
        .arg("--json")
        .arg(&json)
        .env("PATH", "/nonexistent")
        .output()
        .unwrap();
    let said = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for words in [
        "raytrace: not run: povray is not installed; install it with `apt-get install povray`",
        "compile: not run: make is not installed; install it with `apt-get install make`",
    ] {
        assert!(said.replace('\n', " ").contains(words), "{said}");
    }
    let raw = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    assert_is("corelane-scale-suite", &raw);
    assert_eq!(shown_again(&json), said);
}

#[test]
fn what_a_kernel_needs_is_named_beside_what_the_tree_needs() {
    let output = Command::new(env!("CARGO_BIN_EXE_corelane"))
        .args(["scale", "workload", "--quick", "--kernel", "compile"])
        .env("PATH", "/nonexistent")
        .output()
        .unwrap();
    let said = text(&output.stdout).replace('\n', " ");
    assert!(output.status.success(), "{}", text(&output.stderr));
    for words in [
        "install it with `apt-get install make`;",
        "install it with `apt-get install linux-source gcc make flex bison bc xz-utils libelf-dev`",
    ] {
        assert!(said.contains(words), "{said}");
    }
}
