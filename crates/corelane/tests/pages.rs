//! The pages that lead through a task, as their readers use them: every command is typed as it
//! stands there.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The checkout.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A page of `docs`.
pub(crate) fn page(name: &str) -> String {
    std::fs::read_to_string(repository().join("docs").join(name)).unwrap()
}

/// The lines of the blocks marked `sh`.
pub(crate) fn commands(text: &str) -> String {
    let blocks = text.split("```sh\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap())
        .collect()
}

/// What ends with the shell: what it started.
const FIRST: &str = "trap 'kill $(jobs -p) 2>/dev/null || :; wait' EXIT; set -ex\n";

/// Seconds after which a page that waits for what never comes has failed.
const PATIENCE: &str = "180";

/// Types the commands of a page in an empty directory; the first that fails is the last.
fn typed(name: &str, shell: &[&str], before: &str) -> String {
    let script = format!("{before}{FIRST}{}", commands(&page(name)));
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new("timeout")
        .arg(PATIENCE)
        .args(shell)
        .args(["-c", &script])
        .current_dir(directory.path())
        .env("PATH", path_with_corelane())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{name}: {}", said(&output));
    let left = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 0, "{name} leaves files: {}", said(&output));
    said(&output)
}

/// The same as root, with a `/run` of its own: namespaces and routers in it end with the shell.
fn typed_as_root(name: &str) -> String {
    let shell = ["unshare", "--mount", "bash"];
    typed(name, &shell, "mount -t tmpfs none /run\n")
}

/// `PATH` with the program under test in front.
fn path_with_corelane() -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_corelane"));
    let directory = program.parent().unwrap().display();
    format!("{directory}:{}", std::env::var("PATH").unwrap())
}

fn said(output: &Output) -> String {
    let [out, error] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{out}\n{error}")
}

fn contains(printed: &str, parts: &[&str]) {
    for part in parts {
        assert!(printed.contains(part), "{part:?} is not in\n{printed}");
    }
}

fn able(programs: &[&str]) -> bool {
    needs::root("for network namespaces, XDP and traces")
        && programs.iter().all(|program| needs::program(program))
}

#[test]
fn every_command_of_the_tutorial_works_as_typed() {
    if !able(&["unshare", "ip", "ping", "ethtool"]) {
        return;
    }
    let parts = [
        "ready engine=auto eth1=",
        "10 packets transmitted, 10 received",
        "1 packets transmitted, 0 received",
        "address: 203.0.113.9",
        "different: 0",
    ];
    contains(&typed_as_root("tutorial.md"), &parts);
}

#[test]
fn what_stops_the_second_core_is_found_as_the_page_says() {
    if !able(&["unshare", "xz"]) || !needs::two_cores() {
        return;
    }
    let parts = [
        "Where the loss went",
        "Not measured here",
        "cores the program used",
    ];
    contains(&typed_as_root("second-core.md"), &parts);
}

#[test]
fn two_builds_are_compared_as_the_page_says() {
    let parts = ["B is faster"];
    contains(&typed("compare-builds.md", &["bash"], ""), &parts);
}
