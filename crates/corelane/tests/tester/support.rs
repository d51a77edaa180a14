//! Runs the program and reads what it wrote.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use host::bed::{Bed, side};
use host::offload::Offload;
use serde_json::Value;
use tester::addresses;

use crate::schemas::assert_is;

pub(crate) fn root() -> bool {
    needs::root("for network namespaces and raw sockets")
}

pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_corelane"))
}

/// Trials as short as a machine that does other work allows, and one of each: what is proved here
/// does not need more.
pub(crate) const SHORT: [&str; 5] = ["--quick", "--trial", "0.02", "--repeats", "1"];

/// As short as can be asked for, where no trial has to be valid, or no machine is between.
pub(crate) const SHORTEST: [&str; 5] = ["--quick", "--trial", "0.01", "--repeats", "1"];

/// Runs `corelane test` with words.
pub(crate) fn run(words: &[&str]) -> Output {
    program().arg("test").args(words).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A run that must succeed, with what it stored.
pub(crate) fn stored(directory: &Path, words: &[&str]) -> (Output, Value) {
    let file = directory.join("result.json");
    let output = run(&[words, &["--json", file.to_str().unwrap()]].concat());
    assert!(
        output.status.success(),
        "{words:?}: {}",
        text(&output.stderr)
    );
    let value = read(&file);
    assert_is("corelane-test", &value);
    (output, value)
}

pub(crate) fn read(file: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

/// Rows of a test in a stored result.
pub(crate) fn rows<'a>(result: &'a Value, test: &str) -> Vec<&'a Value> {
    let rows = result["results"].as_array().unwrap().iter();
    rows.filter(|row| row["test"] == test).collect()
}

/// All trials of a row.
pub(crate) fn trials(row: &Value) -> &Vec<Value> {
    row["trials"].as_array().unwrap()
}

/// Frames that came through in all trials of a row, and asserts that the counts of each close, or
/// that it says that they do not.
pub(crate) fn received(row: &Value) -> u64 {
    let mut sum = 0;
    for trial in trials(row) {
        let count = |name: &str| trial["counts"][name].as_u64().unwrap();
        let closes = count("sent") == count("received") + count("lost");
        assert!(closes || trial["validity"]["is"] == "invalid", "{trial}");
        sum += count("received");
    }
    sum
}

/// A directory that is removed when dropped.
pub(crate) fn directory() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

pub(crate) fn path(directory: &tempfile::TempDir, name: &str) -> (PathBuf, String) {
    let path = directory.path().join(name);
    let text = path.to_str().unwrap().to_owned();
    (path, text)
}

/// A kernel router between p0 and p1 in two places, with what its tester's addresses need.
pub(crate) fn external(places: [&str; 2]) -> Bed {
    let mut plan = Bed::plan().set("device", "net.ipv4.ip_forward", "1");
    for (port, place) in (0..).zip(places) {
        let (own, its) = (addresses::tester_v4(port), addresses::device_v4(port));
        let near = side(place, &format!("p{port}"))
            .address(format!("{own}/24"))
            .neighbour(its);
        let mut far = side("device", &format!("q{port}"))
            .address(format!("{its}/24"))
            .neighbour(own)
            .switch(Offload::GenericReceive, true);
        for (network, length) in addresses::behind_v4(port, 2) {
            far = far.route(format!("{network}/{length}"), own);
        }
        plan = plan.cable(near, far);
    }
    plan.lay().unwrap()
}
