//! Taking a router out of traffic and putting it back: with a stream that stops, and with one that
//! does not; with FRR, with BIRD, and without either.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::health::get;
use super::lab::{Lab, Router, is_root, text, wait_for};
use super::protocols::{Daemon, bird};
use super::raw::{Wires, ipv4};

/// Between two frames of a stream: many more than are no traffic any more.
const PAUSE: Duration = Duration::from_millis(1);

/// Sends frames through the router while `goes` holds and `work` is not over.
fn with_stream<T>(lab: &Lab, goes: impl Fn() -> bool + Sync, work: impl FnOnce() -> T) -> T {
    let wires = Wires::open(lab);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let frame = ipv4(wires.macs, [10, 0, 0, 2], [10, 1, 0, 2], 9, b"stream");
            while !over.load(Ordering::Acquire) {
                if goes() {
                    wires.a.send(&frame);
                }
                thread::sleep(PAUSE);
            }
        });
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(work));
        over.store(true, Ordering::Release);
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// `corelane VERB` with these keys of the configuration; `path` comes first in `PATH`.
fn verb(lab: &Lab, verb: &str, keys: &str, path: Option<&Path>, more: &[&str]) -> Output {
    let file = lab.path("drain.toml");
    let always = "ports = [\"r0\", \"r1\"]\ndrain-quiet-seconds = 1\n";
    std::fs::write(&file, format!("{always}{keys}")).unwrap();
    let mut command = lab.r.command(env!("CARGO_BIN_EXE_corelane"));
    command.arg(verb).arg(&file).args(more);
    command.arg("--run-directory").arg(lab.directory.path());
    if let Some(path) = path {
        let before = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{before}", path.display()));
    }
    command.output().unwrap()
}

fn start(lab: &Lab) -> Router {
    let router = lab.run(&["r0", "r1"], &["--metrics", "127.0.0.1:9470"]);
    lab.wait_for_fast_path(&router, &["10.1.0.2"]);
    wait_for("a ready router", 30, || get(lab, "/readyz").0 == "200");
    router
}

#[test]
fn a_stream_that_is_withdrawn_goes() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let mut router = start(&lab);
    let gone = lab.path("gone");
    let keys = format!(
        "drain-withdraw = \"touch {0}\"\ndrain-restore = \"rm {0}\"\n",
        gone.display()
    );
    with_stream(
        &lab,
        || !gone.exists(),
        || {
            thread::sleep(Duration::from_millis(300));
            let output = verb(&lab, "drain", &keys, None, &[]);
            let said = text(&output);
            assert_eq!(output.status.code(), Some(0), "{said}");
            assert!(said.contains("the traffic has gone after"), "{said}");
            let (status, body) = get(&lab, "/readyz");
            assert_eq!(status, "503", "{body}");
            assert!(body.contains("draining, until corelane undrain"), "{body}");
            assert_eq!(get(&lab, "/healthz").0, "200");
            // A new process is out of traffic, too.
            let next = lab.run(
                &["r0", "r1"],
                &["--metrics", "127.0.0.1:9470", "--take-over"],
            );
            wait_for("the old process's end", 20, || router.ended());
            assert_eq!(get(&lab, "/readyz").0, "503");
            let output = verb(&lab, "undrain", &keys, None, &[]);
            assert_eq!(output.status.code(), Some(0), "{}", text(&output));
            assert!(!gone.exists());
            assert_eq!(get(&lab, "/readyz").0, "200");
            drop(next);
        },
    );
}

#[test]
fn a_stream_that_stays_is_told_by_port() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let _router = start(&lab);
    let drain = |more: &[&str]| verb(&lab, "drain", "drain-limit-seconds = 2\n", None, more);
    with_stream(
        &lab,
        || true,
        || {
            thread::sleep(Duration::from_millis(300));
            let output = drain(&[]);
            let said = text(&output);
            assert_eq!(output.status.code(), Some(3), "{said}");
            assert!(said.contains("traffic remains after"), "{said}");
            let output = drain(&["--json", "--limit-seconds", "1"]);
            assert_eq!(output.status.code(), Some(3));
            let value: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(value["schema"], "corelane-drain/1");
            assert_eq!(value["gone"], false);
            let ports = value["ports"].as_array().unwrap();
            let of = |name: &str| {
                let port = ports.iter().find(|port| port["port"] == name).unwrap();
                port["frames_per_second"].as_f64().unwrap()
            };
            assert!(of("r0") > 100.0 && of("r1") < 100.0, "{value}");
            // It stays as it is.
            assert_eq!(get(&lab, "/readyz").0, "503");
        },
    );
    // What the kernel forwards is traffic as well.
    lab.r.ip("rule add from 192.0.2.0/24 blackhole").unwrap();
    wait_for("all to be the kernel's", 10, || {
        get(&lab, "/readyz").1.contains("rule")
    });
    let output = with_stream(&lab, || true, || drain(&[]));
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
}

#[test]
fn what_cannot_be_withdrawn_changes_nothing() {
    if !is_root() || !needs::program("vtysh") || !needs::program("birdc") {
        return;
    }
    let lab = Lab::new();
    let _router = start(&lab);
    let file = lab.path("bird-drain.conf");
    let with_bird = format!(
        "drain-routing = \"bird\"\ndrain-bird-file = \"{}\"\n",
        file.display()
    );
    let programs = lab.path("programs");
    std::fs::create_dir(&programs).unwrap();
    // Where nobody listens.
    script(&programs, "birdc", &lab.path("no.ctl"), "-s");
    script(&programs, "vtysh", &lab.path("no-frr"), "--vty_socket");
    let wrong = "drain-withdraw = \"echo no such peer; exit 7\"\ndrain-restore = \"true\"\n";
    for (keys, words) in [
        (&*with_bird, ["birdc configure", "start BIRD"]),
        (
            "drain-routing = \"frr\"\n",
            ["vtysh", "start FRR with bgpd"],
        ),
        (wrong, ["no such peer", "look at drain-withdraw"]),
    ] {
        let output = verb(&lab, "drain", keys, Some(&programs), &[]);
        let said = text(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for word in words {
            assert!(said.contains(word), "{word}: {said}");
        }
        assert!(said.contains("in traffic as before"), "{said}");
        assert_eq!(get(&lab, "/readyz").0, "200");
    }
    assert!(!file.exists());
    std::fs::remove_file(programs.join("vtysh")).unwrap();
    let keys = "ports = [\"r0\"]\ndrain-routing = \"frr\"\n";
    std::fs::write(lab.path("frr.toml"), keys).unwrap();
    let mut command = lab.r.command("env");
    command.arg(format!("PATH={}", programs.display()));
    command.args([env!("CARGO_BIN_EXE_corelane"), "drain"]);
    command.arg(lab.path("frr.toml"));
    command.arg("--run-directory").arg(lab.directory.path());
    let said = text(&command.output().unwrap());
    assert!(said.contains("running vtysh: No such file"), "{said}");
}

/// A program of this name that is the real one with one option more.
fn script(directory: &Path, name: &str, value: &Path, option: &str) {
    // A file that this process wrote could be open in a child of another test: too busy to run.
    let line = format!(
        "printf '#!/bin/sh\\nexec %s {option} {} \"$@\"\\n' $(command -v {name}) >{name} && \
         chmod 755 {name}",
        value.display()
    );
    let mut writer = std::process::Command::new("sh");
    let written = writer.args(["-c", &line]).current_dir(directory).status();
    assert!(written.unwrap().success(), "{line}");
}

#[test]
fn bird_announces_with_the_community_while_drained() {
    if !is_root() || !needs::program("bird") || !needs::program("birdc") {
        return;
    }
    let lab = Lab::new();
    let router = start(&lab);
    let file = lab.path("bird-drain.conf");
    std::fs::write(&file, "define corelane_draining = false;\n").unwrap();
    let config = format!(
        "include \"{}\";\nrouter id 192.168.1.1;\nprotocol device {{ }}\nprotocol static {{ ipv4 \
         {{ import filter {{ if corelane_draining then bgp_community.add((65535, 0)); accept; \
         }}; }}; route 203.0.113.0/24 blackhole; }}\n",
        file.display()
    );
    let _bird = bird(&lab.r, "drained", &config, lab.directory.path());
    let programs = lab.path("programs");
    std::fs::create_dir(&programs).unwrap();
    let control = lab.path("drained.ctl");
    wait_for("BIRD", 10, || control.exists());
    script(&programs, "birdc", &control, "-s");
    let keys = format!(
        "drain-routing = \"bird\"\ndrain-bird-file = \"{}\"\n",
        file.display()
    );
    let has_community = || {
        let mut command = std::process::Command::new(programs.join("birdc"));
        let output = command.args(["show", "route", "all"]).output().unwrap();
        text(&output).contains("(65535,0)")
    };
    assert!(!has_community());
    let output = verb(&lab, "drain", &keys, Some(&programs), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    wait_for("the community", 10, has_community);
    let output = verb(&lab, "undrain", &keys, Some(&programs), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    wait_for("no community", 10, || !has_community());
    follows_health(&lab, router, &keys, &programs, has_community);
}

/// `corelane announce` beside a daemon: the router dies, and another comes.
fn follows_health(
    lab: &Lab,
    mut router: Router,
    keys: &str,
    programs: &Path,
    is_withdrawn: impl Fn() -> bool,
) {
    let announce = || verb(lab, "announce", keys, Some(programs), &["--once"]);
    router.end(libc::SIGKILL);
    let output = announce();
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
    wait_for("the withdrawal", 10, &is_withdrawn);
    let _next = start(lab);
    let output = announce();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    wait_for("the announcement", 10, || !is_withdrawn());
}

#[test]
fn frr_shuts_down_gracefully_while_drained() {
    let bgpd = Path::new("/usr/lib/frr/bgpd");
    if !is_root() || !needs::program("vtysh") || !bgpd.exists() {
        return;
    }
    let lab = Lab::new();
    let router = start(&lab);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    std::fs::write(path.join("frr.conf"), "router bgp 65001\n").unwrap();
    let owned = std::process::Command::new("chown")
        .args(["-R", "frr:frr"])
        .arg(path)
        .status();
    assert!(owned.unwrap().success());
    let mut daemon = lab.r.command(bgpd);
    daemon.arg("-f").arg(path.join("frr.conf"));
    daemon.arg("-i").arg(path.join("bgpd.pid"));
    daemon.arg("-z").arg(path.join("zserv"));
    daemon.arg("--vty_socket").arg(path);
    daemon.stdout(Stdio::null()).stderr(Stdio::null());
    let _daemon = Daemon(daemon.spawn().unwrap());
    wait_for("bgpd", 20, || path.join("bgpd.vty").exists());
    let programs = lab.path("programs");
    std::fs::create_dir(&programs).unwrap();
    script(&programs, "vtysh", path, "--vty_socket");
    let is_shut_down = || {
        let mut command = std::process::Command::new(programs.join("vtysh"));
        command.args(["-d", "bgpd", "-c", "show running-config"]);
        text(&command.output().unwrap()).contains("bgp graceful-shutdown")
    };
    let keys = "drain-routing = \"frr\"\n";
    assert!(!is_shut_down());
    let output = verb(&lab, "drain", keys, Some(&programs), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(is_shut_down());
    let output = verb(&lab, "undrain", keys, Some(&programs), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(!is_shut_down());
    follows_health(&lab, router, keys, &programs, is_shut_down);
}
