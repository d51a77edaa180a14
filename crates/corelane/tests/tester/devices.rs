//! The devices: the kernel, our router, and a router between given interfaces. Needs root.

use host::{Bed, Namespace};

use super::support::{
    SHORT, SHORTEST, directory, external, path, received, root, rows, stored, text, trials,
};

#[test]
fn the_kernel_between_namespaces_of_our_own() {
    if !root() {
        return;
    }
    let directory = directory();
    let (_, result) = stored(
        directory.path(),
        &[
            &["throughput", "--dut", "kernel", "--sizes", "64,512"],
            &SHORTEST[..],
        ]
        .concat(),
    );
    let found = rows(&result, "throughput");
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|row| received(row) > 0));
    let setup = result["setup"].to_string();
    assert!(setup.contains("in-kernel generator"), "{setup}");
}

#[test]
fn our_router_is_started_killed_and_started_again() {
    if !root() {
        return;
    }
    let directory = directory();
    let sockets = || {
        let entries = std::fs::read_dir("/run/corelane").into_iter().flatten();
        let names = entries.map(|entry| entry.unwrap().file_name());
        // Others are those of routers of other tests, beside this one.
        names
            .filter(|name| name.to_string_lossy().starts_with("test-"))
            .count()
    };
    let before = sockets();
    let words = ["reset", "--dut", "corelane", "--sizes", "64"];
    let rate = ["--rate", "2000", "--around", "0.5"];
    let (output, result) = stored(directory.path(), &[&words[..], &SHORT, &rate].concat());
    let said = text(&output.stderr);
    assert!(!said.contains("slow-port"), "{said}");
    let row = rows(&result, "reset")[0];
    assert!(received(row) > 0);
    let details = row["details"].to_string();
    assert!(details.contains("SIGKILL"), "{details}");
    // Both methods time the same reset, of every trial that counts.
    let times = |name: &str| -> Vec<f64> {
        let times = row["details"][name].as_array().unwrap();
        times.iter().map(|time| time.as_f64().unwrap()).collect()
    };
    let (by_loss, by_silence) = (times("by_loss_ms"), times("by_silence_ms"));
    let counted = |trial: &&serde_json::Value| trial["validity"]["is"] != "invalid";
    let counted = row["trials"].as_array().unwrap().iter().filter(counted);
    let returned = by_loss.len() as u64 + row["details"]["never_returned"].as_u64().unwrap();
    assert_eq!(returned, counted.count() as u64, "{details}");
    for (loss, silence) in by_loss.iter().zip(&by_silence) {
        assert!((0.0..500.0).contains(loss), "{details}");
        assert!(loss - silence < 20.0, "{details}");
    }
    assert!(sockets() <= before, "a killed router's socket was left");
}

/// A kernel router laid by hand, as a user's own device would be.
fn lab() -> (Bed, Namespace) {
    let bed = external(["tester", "tester"]);
    let tester = bed.namespace("tester").unwrap().clone();
    (bed, tester)
}

#[test]
fn a_device_between_given_interfaces_with_hooks_around_the_tests() {
    if !root() {
        return;
    }
    let (_bed, tester) = lab();
    let directory = directory();
    let (notes, notes_name) = path(&directory, "notes");
    let (file, file_name) = path(&directory, "result.json");
    let hook = |word: &str| format!("echo {word} >> {notes_name}");
    let test = |ports: &str, more: &[&str]| {
        let mut command = tester.command(env!("CARGO_BIN_EXE_corelane"));
        command.args(["test", "reset", "--dut", "external", "--port", ports]);
        command
            .args(["--sizes", "64", "--rate", "1000", "--around", "0.2"])
            .args(SHORT);
        command.args(["--json", &file_name]).args(more);
        command.args(["--before", &hook("before"), "--after", &hook("after")]);
        command.args(["--reset", &hook("reset")]).output().unwrap()
    };
    let output = test("p0,p1", &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let result = super::support::read(&file);
    let row = rows(&result, "reset")[0];
    assert!(received(row) > 0);
    let words = std::fs::read_to_string(&notes).unwrap();
    let resets = vec!["reset"; trials(row).len()].join("\n");
    assert_eq!(words, format!("before\n{resets}\nafter\n"));

    // What was measured before a hook failed is kept; the program says that it failed.
    std::fs::remove_file(&file).unwrap();
    let output = test("p0,p1", &["--before", "exit 3"]);
    assert!(!output.status.success(), "a flag given twice is refused");
    let output = test("p0,nothing", &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("nothing"));
    tester.ip("route add default dev p1").unwrap();
    let output = test("p0,p1", &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("p1") && said.contains("--i-know"), "{said}");
    let mut command = tester.command(env!("CARGO_BIN_EXE_corelane"));
    command.args(["test", "loss", "--dut", "external", "--port", "p0,p1"]);
    command.args(["--sizes", "64", "--rate", "1000", "--i-know"]);
    let output = command.args(SHORT).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// A device that forwards nothing counts each frame as one with a wrong address.
#[test]
fn a_command_tells_where_an_external_device_lost_frames() {
    if !root() {
        return;
    }
    let (bed, tester) = lab();
    let device = bed.namespace("device").unwrap();
    device.set("net.ipv4.ip_forward", "0").unwrap();
    let directory = directory();
    let (file, name) = path(&directory, "result.json");
    let test = |counters: &str| {
        let mut command = tester.command(env!("CARGO_BIN_EXE_corelane"));
        command.args(["test", "loss", "--dut", "external", "--port", "p0,p1"]);
        command.args(["--sizes", "64", "--rate", "1000", "--json", &name]);
        command.args(SHORT).args(["--device-counters", counters]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let result = super::support::read(&file);
        let trials = trials(rows(&result, "loss")[0]).clone();
        assert!(!trials.is_empty());
        (text(&output.stderr), trials)
    };
    let fields = "/^Ip: [0-9]/ { print \"InAddrErrors:\", $6 }";
    let within = device.name();
    let reading = format!("ip netns exec {within} awk '{fields}' /proc/net/snmp");
    let (_, trials) = test(&reading);
    for trial in &trials {
        let lost = trial["counts"]["lost"].as_u64().unwrap();
        let told = trial["lost_at"].as_array().unwrap().iter();
        let mut told = told.filter(|one| one["reason"] == "InAddrErrors");
        let frames = told.next().and_then(|one| one["frames"].as_u64());
        assert!(lost > 0 && frames >= Some(lost * 9 / 10), "{trial}");
    }
    let (said, trials) = test("exit 3");
    assert_eq!(said.matches("\"exit 3\"").count(), 1, "{said}");
    assert!(said.contains("run it by itself"), "{said}");
    for trial in &trials {
        let last = trial["lost_at"].as_array().unwrap().last().unwrap();
        assert_eq!(last["place"], "unseen", "{trial}");
    }
}

#[test]
fn a_port_that_vanishes_is_named_and_what_was_measured_before_is_kept() {
    if !root() {
        return;
    }
    for generator in ["xdp", "packet"] {
        let (_bed, tester) = lab();
        let directory = directory();
        let (file, name) = path(&directory, "result.json");
        // The hook returns at once; the port goes while the first trial of the device runs.
        let hook = "(sleep 0.2; ip link del p1) > /dev/null 2>&1 &";
        let mut command = tester.command(env!("CARGO_BIN_EXE_corelane"));
        command.args(["test", "loss", "--dut", "external", "--port", "p0,p1"]);
        command.args(["--sizes", "64,128", "--rate", "1000", "--quick"]);
        command.args(["--trial", "1.5", "--generator", generator]);
        command.args(["--json", &name, "--before", hook]);
        let output = command.output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{generator}: {said}");
        assert!(
            said.contains("p1") && said.contains("vanished"),
            "{generator}: {said}"
        );
        let result = super::support::read(&file);
        assert!(result["stopped"].as_str().unwrap().contains("vanished"));
        assert_eq!(rows(&result, "selftest").len(), 1, "{generator}");
        let loss = rows(&result, "loss");
        assert_eq!(loss.len(), 1, "the second size was not begun");
        assert!(loss[0]["frames_per_second"].is_null());
    }
}

#[test]
fn a_failing_hook_ends_the_run_and_keeps_what_was_measured() {
    if !root() {
        return;
    }
    let directory = directory();
    let (file, name) = path(&directory, "result.json");
    let words = ["loss", "--rate", "1000", "--sizes", "64", "--json", &name];
    let hook = ["--before", "exit 3"];
    let output = super::support::run(&[&words[..], &hook, &SHORT].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("exit 3"));
    let result = super::support::read(&file);
    assert!(result["stopped"].as_str().unwrap().contains("exit 3"));
    assert_eq!(rows(&result, "selftest").len(), 1);
}
