//! The kernel as the oracle: twin beds, random configurations, random frames.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use host::namespace;
use host::process::{self, Signal};
use serde_json::Value;
use twin::{Case, Order, Start, Summary, Twins, captured, marker, replay, search};

use super::forwarding::mode;
use super::lab::{is_root, wait_for};
use super::raw::ipv4;
use crate::schemas::assert_is;

/// The engines that are compared with the kernel.
const ENGINES: [&str; 3] = ["xdp", "tc", "af-xdp"];
/// What a test of some seconds can try.
const CONFIGURATIONS: u64 = 10;
/// On a machine however busy.
const PATIENCE: Duration = Duration::from_mins(2);

fn start(engine: &str, options: &[&str]) -> Start {
    Start {
        executable: env!("CARGO_BIN_EXE_corelane").into(),
        engine: engine.to_owned(),
        options: options.iter().map(|&word| word.to_owned()).collect(),
    }
}

fn twins(engine: &str, options: &[&str]) -> Twins {
    Twins::lay(start(engine, options)).unwrap()
}

fn assert_equal(engine: &str, summary: &Summary) {
    for finding in &summary.findings {
        println!("{}{:#?}", finding.case, finding.differences);
    }
    assert!(summary.findings.is_empty(), "{engine}: {summary:#?}");
}

#[test]
fn frames_end_as_with_the_kernel_alone() {
    if !is_root() {
        return;
    }
    let order = Order {
        seed: 1,
        duration: PATIENCE,
        most: CONFIGURATIONS,
        twins: 2,
        captured: captured(&[]).unwrap(),
    };
    for engine in ENGINES {
        let summary = search(&start(engine, &[]), &order).unwrap();
        assert_equal(engine, &summary);
        // It is the router that was compared.
        assert!(
            summary.forwarded > summary.pairs / 20,
            "{engine}: {summary:#?}"
        );
    }
}

/// The first configurations that this seed draws have VRFs, and some VLANs.
#[test]
fn vlans_and_vrfs_end_as_with_the_kernel_alone() {
    if !is_root() {
        return;
    }
    let order = Order {
        seed: 11,
        duration: PATIENCE,
        most: CONFIGURATIONS,
        twins: 1,
        captured: captured(&[]).unwrap(),
    };
    // SAFETY: no pointer is given; the number is a descriptor of ours, or none.
    let has_xdp_sockets = unsafe {
        let socket = libc::socket(libc::AF_XDP, libc::SOCK_RAW, 0);
        socket >= 0 && libc::close(socket) == 0
    };
    for (engine, options) in [("xdp", mode()), ("af-xdp", mode()), ("tc", &[])] {
        // The kernel of User Mode Linux is built without them.
        if engine == "af-xdp" && !has_xdp_sockets {
            continue;
        }
        let summary = search(&start(engine, options), &order).unwrap();
        assert_equal(engine, &summary);
        let drawn = |kind| summary.kinds.contains_key(kind);
        if !drawn("vrfs") || !drawn("vlans") {
            needs::skipped!("this kernel has no VRF devices, or no VLANs");
            return;
        }
        assert!(summary.forwarded > 0, "{engine}: {summary:#?}");
        let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("../twin/cases/vrf-broadcast.case");
        let mut twins = twins(engine, options);
        let case = Case::read(&case).unwrap();
        assert_equal(engine, &replay(&mut twins, &case).unwrap());
    }
}

#[test]
fn what_was_found_once_stays_mended() {
    if !is_root() {
        return;
    }
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../twin/cases");
    let files = std::fs::read_dir(directory).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    let cases = files.iter().map(|file| Case::read(file).unwrap());
    let cases: Vec<Case> = cases.collect();
    for engine in ENGINES {
        let mut twins = twins(engine, &[]);
        for case in &cases {
            assert_equal(engine, &replay(&mut twins, case).unwrap());
        }
    }
}

/// A router that is told to go past what the kernel does differs, and the harness says by what.
#[test]
fn a_difference_is_found_and_shrunk() {
    if !is_root() || !needs::program("nft") {
        return;
    }
    let rules = [
        "nft add table ip t",
        "nft add chain ip t f { type filter hook forward priority 0; }",
        "nft add rule ip t f ip daddr 198.18.0.0/16 drop",
    ];
    shrinks("--bypass-netfilter", &rules);
    shrinks("--bypass-tc", &["tcx r1 egress drop4"]);
}

/// With this option the router goes past what the last of these commands has the kernel drop.
fn shrinks(option: &str, drops: &[&str]) {
    let mut twins = twins("xdp", &[option]);
    let mut commands = Vec::new();
    for port in 0..3 {
        commands.push(format!("ip addr add 10.{port}.0.1/24 dev r{port}"));
        commands.push(format!(
            "ip neigh replace 10.{port}.0.9 lladdr 02:00:00:00:00:09 dev r{port}"
        ));
    }
    let way = [
        "ip route add 198.18.0.0/15 via 10.1.0.2",
        "ip neigh replace 10.1.0.2 lladdr 02:00:00:00:00:02 dev r1 nud permanent",
    ];
    commands.extend(way.iter().chain(drops).map(|&line| line.to_owned()));
    let macs = twins.macs()[0];
    let frames = (0_u8..40).map(|number| {
        let destination = [198, 18 + u8::from(number % 5 > 0), 0, 1];
        let payload = marker(number.into()).repeat(30);
        ipv4(
            (macs.router, macs.host),
            [10, 0, 0, 2],
            destination,
            9,
            &payload,
        )
    });
    let case = Case {
        frames: frames.collect(),
        commands,
        ..Case::default()
    };
    let mut summary = replay(&mut twins, &case).unwrap();
    for _ in 0..2 {
        // Beside other tests a frame may come too late when the case is tried again: then it stays whole.
        let frames = case.frames.len();
        let mut findings = summary.findings.iter();
        if findings.all(|one| one.case.frames.len() < frames) {
            break;
        }
        summary = replay(&mut twins, &case).unwrap();
    }
    let [finding] = summary.findings.as_slice() else {
        panic!("{summary:#?}");
    };
    // Of 40 frames every fifth is dropped by the kernel.
    assert!((1..=8).contains(&summary.different), "{summary:#?}");
    // A header of Ethernet, of IP, of UDP, and the number twice.
    let lengths: Vec<_> = finding.case.frames.iter().map(Vec::len).collect();
    assert_eq!(lengths, [14 + 20 + 8 + 16], "{}", finding.case);
    let left = finding.case.commands.join("\n");
    assert!(
        left.contains(drops[drops.len() - 1]) && left.contains("ip route add"),
        "{left}"
    );
    assert!(
        !left.contains("0.9 lladdr") && !left.contains("dev r2"),
        "{left}"
    );
    let difference = &finding.differences[0];
    assert!(difference.kernel.is_empty() && difference.router.len() == 1);
}

/// Whatever asks it to end, a search ends soon, says what it has compared, and leaves nothing.
#[test]
fn a_search_can_be_stopped_and_leaves_nothing() {
    if !is_root() {
        return;
    }
    for signal in [Signal::INT, Signal::TERM] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_corelane"));
        command.args(["verify", "--frames", "--json", "--twins", "1"]);
        command.args(["--engine", "af-xdp", "--seconds", "600"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = child.spawn().unwrap();
        let name = format!("cl-{}-", child.id());
        let left = || {
            namespace::existing()
                .into_iter()
                .filter(|one| one.starts_with(&name))
        };
        // Two beds of four.
        wait_for("the beds", 60, || left().count() == 8);
        process::signal(child.id(), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_is("corelane-verify-frames", &said);
        assert_eq!(left().count(), 0);
    }
}
