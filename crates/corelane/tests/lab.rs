//! `corelane lab fleet`, with real routers and BIRD.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use host::namespace;
use host::temporary::Directory;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::each::for_nobody;
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

/// The run of an event with Corelane.
fn of<'a>(value: &'a Value, event: &str) -> &'a Value {
    with(value, event, "corelane")
}

/// The run of an event with this forwarder.
fn with<'a>(value: &'a Value, event: &str, forwarder: &str) -> &'a Value {
    let mut runs = value["runs"].as_array().unwrap().iter();
    runs.find(|run| run["event"] == event && run["forwarder"] == forwarder)
        .unwrap()
}

/// The sum of a list of a run's timeline.
fn sum(run: &Value, list: &str) -> u64 {
    let list = run["timeline"][list].as_array().unwrap().iter();
    list.map(|count| count.as_u64().unwrap()).sum()
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

/// A stored result is shown, and can be written again as it is.
fn shown_again(file: &Path, value: &Value) {
    std::fs::write(file, value.to_string()).unwrap();
    let report = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_corelane"));
        command.args(["lab", "report"]).arg(file).args(more);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(report(&[]).contains("take-over"));
    let again: Value = serde_json::from_str(&report(&["--json"])).unwrap();
    assert_eq!(&again, value);
    let html = file.with_extension("html");
    report(&["--html", html.to_str().unwrap()]);
    crate::page::is_for_everybody(&html);
    let mut command = Command::new(env!("CARGO_BIN_EXE_corelane"));
    let output = for_nobody(command.args(["lab", "report"]).arg(file));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn each_event_costs_what_it_must() {
    if !has_what_it_needs() {
        return;
    }
    let directory = Directory::new("lab").unwrap();
    let page = directory.path().join("lab.html");
    let words =
        "--quick --nodes 3 --resilient --beside-kernel --event drain,undrain,take-over,kill,dead";
    let before = overrun();
    let value = measured(&format!("{words} --html {}", page.display()));
    shown_again(&directory.path().join("lab.json"), &value);
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
        let (sent, lost) = (run["sent"].as_u64().unwrap(), run["lost"].as_u64().unwrap());
        assert_eq!((sum(run, "sent"), sum(run, "came")), (sent, sent - lost));
    }
    // Nobody has taken the place of the kernel.
    let run = with(&value, "drain", "kernel");
    let came = run["sent"].as_u64().unwrap() - run["lost"].as_u64().unwrap();
    assert!(run["by_kernel"].as_u64() > Some(came / 2), "{run}");
    assert!(with(&value, "dead", "kernel")["lost"].as_u64() > Some(0));
    assert!(value["runs"].as_array().unwrap().len() == 8, "{value}");
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
    assert!(
        run["healed_ms"].as_f64() >= run["outage_ms"].as_f64(),
        "{run}"
    );
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("No frame was lost by: ") && page.contains("node dead"));
    assert!(page.contains("Timeline: Node dead, kernel alone, "));
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
    let value = measured("--quick --daemon frr --event drain,dead");
    let lost = undisturbed(&value, "drain").map(|run| &run["lost"]);
    assert!(lost.is_none_or(|lost| lost == 0), "{value}");
    for event in ["drain", "dead"] {
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
fn full_load_is_measured_and_sessions_that_go_down_are_counted() {
    if !has_what_it_needs() {
        return;
    }
    let value = measured("--quick --event load");
    let run = of(&value, "load");
    assert!(run["load_per_second"].as_f64() > Some(1000.0), "{run}");
    assert!(run["false_downs"].is_u64(), "{run}");
    assert_eq!(value["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn a_daemon_that_is_not_there_and_a_full_disk_are_named() {
    if !has_what_it_needs() {
        return;
    }
    let directory = Directory::new("path").unwrap();
    for tool in ["ip", "sh", "ethtool"] {
        for place in ["/usr/sbin", "/sbin", "/usr/bin", "/bin"] {
            let file = std::path::Path::new(place).join(tool);
            if file.exists() {
                let link = directory.path().join(tool);
                let _there = std::os::unix::fs::symlink(file, link);
            }
        }
    }
    let mut command = fleet("--quick --event kill");
    let output = command.env("PATH", directory.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = said(&output);
    assert!(said.contains("bird") && said.contains("bird2"), "{said}");
    let words = "forecast --rate 1M --without-kernel --json /dev/full";
    let mut command = Command::new(env!("CARGO_BIN_EXE_corelane"));
    let output = command.arg("lab").args(words.split(' ')).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("/dev/full") && said.contains("No space"),
        "{said}"
    );
}

/// What a forecast says: its exit code, and what it writes.
fn forecast(words: &str) -> (Option<i32>, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corelane"));
    command
        .args(["lab", "forecast", "--json"])
        .args(words.split(' '));
    let output = command.output().unwrap();
    let value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output.status.code(), value)
}

#[test]
fn a_forecast_tells_what_fleets_carry_and_asks_the_kernel() {
    let alone = "--rate 5.72M --nodes 4 --flows 64 --load 11M --without-kernel";
    let (code, value) = forecast(alone);
    assert_eq!(code, Some(0));
    assert_is("corelane-fleet-forecast", &value);
    assert_eq!(value["needs_nodes"], 4, "{value}");
    assert_eq!(value["kernel_is_like_chance"], Value::Null);
    assert_eq!(value["rows"].as_array().unwrap().len(), 3);
    assert_eq!(forecast("--rate 1M --load 1G --without-kernel").0, Some(3));
    assert_eq!(forecast("--rate 1M --failed 4 --nodes 4").0, Some(1));
    assert_eq!(forecast("--rate fast").0, Some(2));
    if !needs::root("for a network namespace") {
        return;
    }
    for more in ["", " --plain"] {
        let (code, value) = forecast(&format!("--rate 1M --nodes 3 --flows 256{more}"));
        assert_eq!(value["kernel_is_like_chance"], true, "{value}");
        assert_eq!(code, Some(0));
        assert!(
            value["rows"][1]["imbalance_kernel"].as_f64() >= Some(1.0),
            "{value}"
        );
    }
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
