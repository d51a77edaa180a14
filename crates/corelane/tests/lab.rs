//! `corelane lab fleet`, with real routers and BIRD.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use host::namespace;
use host::temporary::Directory;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::schemas::assert_is;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);
/// The user and the group without rights.
const NOBODY: u32 = 65534;

fn has_what_it_needs() -> bool {
    needs::root("for network namespaces and XDP") && needs::program("bird")
}

fn fleet(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corelane"));
    command.args(["lab", "fleet"]).args(words.split(' '));
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What is left of the run of this process: namespaces, directories, programs.
fn left(process: u32) -> Vec<String> {
    let mut left = namespace::existing();
    left.retain(|name| name.starts_with(&format!("cl-{process}-")));
    let own = format!("corelane-{process}-fleetlab-");
    let entries = std::fs::read_dir(std::env::temp_dir()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap_or_default());
    left.extend(names.filter(|name| name.starts_with(&own)));
    left.extend(programs(&own));
    left
}

/// The programs whose command line names this.
fn programs(name: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap();
    let lines = entries.map(|entry| entry.unwrap().path().join("cmdline"));
    let lines = lines.filter_map(|file| std::fs::read_to_string(file).ok());
    lines.filter(|line| line.contains(name)).collect()
}

/// A run whose traffic goes.
fn begun(more: &str) -> Child {
    let words = format!("--repetitions 100 --event take-over --json /dev/null {more}");
    let mut child = fleet(&words)
        .arg("-v")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.as_mut().unwrap()).lines();
    let is_there = |line: String| line.contains("take-over");
    // The first is said when all programs run, the second when one take-over has been measured.
    assert_eq!(
        lines
            .by_ref()
            .map_while(Result::ok)
            .filter(|line| is_there(line.clone()))
            .take(2)
            .count(),
        2
    );
    child
}

fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "waited for {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// The run of an event.
fn of<'a>(value: &'a Value, event: &str) -> &'a Value {
    let mut runs = value["runs"].as_array().unwrap().iter();
    runs.find(|run| run["event"] == event).unwrap()
}

/// Frames for which a queue of one of this machine's cores had no room, whoever sent them: other
/// tests fill these queues, too.
fn overrun() -> u64 {
    let table = std::fs::read_to_string("/proc/net/softnet_stat").unwrap();
    let column = table.lines().filter_map(|line| line.split(' ').nth(1));
    column
        .map(|frames| u64::from_str_radix(frames, 16).unwrap())
        .sum()
}

/// Nothing was lost but what overran the kernel's queues since then.
fn nothing_lost(run: &Value, since: u64) {
    assert!(run["lost"].as_u64() <= Some(overrun() - since), "{run}");
}

/// The run of an event, unless the machine stood still for longer than BFD waits: then daemons take
/// living nodes for dead ones.
fn undisturbed<'a>(value: &'a Value, event: &str) -> Option<&'a Value> {
    let run = of(value, event);
    let is_disturbed = run["sender_pause_ms"].as_f64() > Some(100.0);
    if is_disturbed {
        println!("{event}: the machine stood still, and nothing is said of it");
    }
    (!is_disturbed).then_some(run)
}

/// What a run writes, which leaves nothing else.
fn measured(words: &str) -> Value {
    let mut command = fleet(words);
    let child = command
        .arg("--json")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let process = child.id();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(left(process), [""; 0]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_is("corelane-fleet-lab", &value);
    value
}

#[test]
fn each_event_costs_what_it_must() {
    if !has_what_it_needs() {
        return;
    }
    let directory = Directory::new("lab").unwrap();
    let page = directory.path().join("lab.html");
    let words = "--quick --nodes 3 --resilient --event drain,undrain,take-over,kill,dead";
    let before = overrun();
    let value = measured(&format!("{words} --html {}", page.display()));
    for event in ["drain", "undrain", "take-over"] {
        let Some(run) = undisturbed(&value, event) else {
            continue;
        };
        nothing_lost(run, before);
        assert_eq!(run["duplicates"], 0, "{run}");
        assert_eq!(run["note"], Value::Null, "{run}");
    }
    for run in value["runs"].as_array().unwrap() {
        assert_eq!(run["moved_needlessly"], 0, "{run}");
    }
    for event in ["drain", "dead"] {
        assert!(of(&value, event)["moved"].as_u64() > Some(0), "{value}");
    }
    for event in ["drain", "undrain", "dead"] {
        let run = of(&value, event);
        assert!(run["noticed_ms"].as_f64() > Some(0.0), "{run}");
    }
    // The kernel forwards in its place.
    let run = of(&value, "kill");
    let came = run["sent"].as_u64().unwrap() - run["lost"].as_u64().unwrap();
    let by_kernel = run["by_kernel"].as_u64().unwrap();
    assert!(by_kernel > 0 && by_kernel < came, "{run}");
    // Nobody forwards until BFD notices.
    let run = of(&value, "dead");
    assert!(run["lost"].as_u64() > Some(0), "{run}");
    assert!(run["outage_ms"].as_f64() > Some(0.0), "{run}");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("No frame was lost by: ") && page.contains("node dead"));
}

#[test]
fn nodes_and_links_and_routes_come_and_go() {
    if !has_what_it_needs() {
        return;
    }
    let before = overrun();
    let value =
        measured("--quick --event link-down,remove,add,flap,churn,hang,restart,daemon-kill");
    for event in ["add", "churn", "hang"] {
        if let Some(run) = undisturbed(&value, event) {
            nothing_lost(run, before);
        }
    }
    for event in ["link-down", "remove", "add", "flap", "daemon-kill"] {
        let run = of(&value, event);
        assert!(run["moved"].as_u64() > Some(0), "{run}");
        assert!(run["rerouted_ms"].as_f64() > Some(0.0), "{run}");
    }
    let rerouted = undisturbed(&value, "churn").map(|run| &run["rerouted_ms"]);
    assert!(rerouted.is_none_or(Value::is_null), "{value}");
}

#[test]
fn frr_is_spoken_to_as_bird_is() {
    let bgpd = std::path::Path::new("/usr/lib/frr/bgpd");
    if !needs::root("for network namespaces and XDP") || !needs::program("vtysh") {
        return;
    }
    if !needs::that(bgpd.exists(), bgpd.display()) {
        return;
    }
    let value = measured("--quick --daemon frr --event drain,undrain,dead");
    for event in ["drain", "undrain"] {
        let lost = undisturbed(&value, event).map(|run| &run["lost"]);
        assert!(lost.is_none_or(|lost| lost == 0), "{value}");
    }
    for event in ["drain", "undrain", "dead"] {
        let run = of(&value, event);
        assert!(run["moved"].as_u64() > Some(0), "{run}");
        assert!(run["logged_ms"].as_f64() > Some(0.0), "{run}");
    }
}

#[test]
fn an_interrupted_run_shows_what_it_has_and_leaves_nothing() {
    if !has_what_it_needs() {
        return;
    }
    let child = begun("--seconds 1");
    let process = child.id();
    assert!(!left(process).is_empty());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", said(&output));
    assert_eq!(left(process), [""; 0]);
}

#[test]
fn a_killed_run_leaves_no_program_and_the_next_removes_the_rest() {
    if !has_what_it_needs() {
        return;
    }
    let mut child = begun("--seconds 1");
    let own = format!("corelane-{}-fleetlab-", child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("the end of its programs", || programs(&own).is_empty());
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = fleet("--quick --event kill")
        .stdout(writer)
        .output()
        .unwrap();
    // A reader that has read enough is no error.
    assert_eq!(
        (output.status.code(), said(&output)),
        (Some(0), String::new())
    );
    assert_eq!(left(child.id()), [""; 0]);
}

#[test]
fn what_it_cannot_do_is_said() {
    for words in [
        "--nodes 1",
        "--event sorcery",
        "--repetitions 0",
        "--flows 0",
    ] {
        let output = fleet(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert_eq!(output.stdout, b"", "{words}");
    }
    if !needs::root("to give up its rights") {
        return;
    }
    let mut command = fleet("--quick");
    let Ok(output) = command.uid(NOBODY).gid(NOBODY).output() else {
        needs::skipped!("nobody may not run this program where it lies");
        return;
    };
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("root"), "{}", said(&output));
}
