//! `corelane capture`: every frame with what became of it, and a router that is as before when the
//! capture ends, however it ends.

use std::process::{Command, Stdio};

use router::management_plane::explain::bytes_of;
use serde_json::Value;

use super::captures::{Recorded, recorded};
use super::lab::{Lab, Router, Socket, is_root, text, wait_for};
use super::raw::Wires;
use super::roads::{LEFT, frame_of, narrow, roads};
use crate::schemas::assert_is;

/// What else is sent: frames that are broken, by what is changed in a good one.
const BROKEN: [(usize, u8, &str); 6] = [
    (0, 0x03, "link-group"),
    (5, 0x77, "other-station"),
    (12, 0x88, "other-protocol"),
    (14, 0x55, "ipv4-version"),
    (14, 0x44, "ipv4-header-length"),
    (24, 0xee, "ipv4-checksum"),
];

fn reasons_are_captured(engine: &str) {
    let lab = Lab::new();
    narrow(&lab);
    let router = lab.run(
        &["r0", "r1"],
        &["--engine", engine, "--punt-limits", "none"],
    );
    roads(&lab, &router);
    let wires = Wires::open(&lab);
    let good = frame_of(&router, &["203.0.113.9", "--destination-port", "443"]);
    let mut sent: Vec<(Vec<u8>, &str)> = LEFT
        .iter()
        .map(|(words, reason)| (frame_of(&router, words), *reason))
        .collect();
    for (at, byte, reason) in BROKEN {
        let mut frame = good.clone();
        frame[at] = byte;
        sent.push((frame, reason));
    }
    sent.push((good, ""));
    let file = lab.path("reasons.pcapng");
    let path = file.to_str().unwrap();
    let capture = router.captures(&["--write", path, "--snap", "2048", "--port", "r0"]);
    for (frame, _) in &sent {
        wires.a.send(frame);
    }
    let all = || recorded(&std::fs::read(&file).unwrap());
    let has = |frames: &[Recorded], frame: &[u8]| frames.iter().any(|one| one.bytes == frame);
    wait_for("all frames", 10, || {
        let frames = all();
        sent.iter().all(|(frame, _)| has(&frames, frame))
    });
    capture.signal(libc::SIGINT);
    let (code, out, said) = capture.end();
    assert_eq!((code, out.as_str()), (Some(0), ""), "{said}");
    assert!(said.contains("0 found no room"), "{said}");
    let frames = all();
    for (frame, reason) in &sent {
        let found = frames.iter().find(|one| one.bytes == *frame).unwrap();
        assert_eq!(found.port, "r0");
        assert_eq!(
            found.value("reason").unwrap_or(""),
            *reason,
            "{engine}: {found:?}"
        );
        if reason.is_empty() {
            assert!(found.comment.starts_with("forwarded "), "{found:?}");
            for (name, value) in [
                ("egress", "r1"),
                ("next-hop", "10.1.0.2"),
                ("prefix", "203.0.113.0/24"),
                ("table", "254"),
            ] {
                assert_eq!(found.value(name), Some(value), "{engine}: {found:?}");
            }
        }
    }
    if needs::program("tshark") {
        tshark_reads(path, &frames);
    }
    assert!(lab.ping("10.1.0.2"));
    router.verify();
}

/// An independent reader says of each frame what ours does.
fn tshark_reads(path: &str, frames: &[Recorded]) {
    let words = "-T fields -e frame.interface_name -e frame.cap_len -e frame.comment -r";
    let mut command = Command::new("tshark");
    let output = command.args(words.split(' ')).arg(path).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let told = String::from_utf8(output.stdout).unwrap();
    let wanted: Vec<String> = frames
        .iter()
        .map(|one| format!("{}\t{}\t{}", one.port, one.bytes.len(), one.comment))
        .collect();
    let told: Vec<&str> = told.lines().collect();
    assert_eq!(told, wanted);
    let filter = "frame.comment contains \"reason=no-route\" && frame.verdict.ebpf_xdp";
    let output = Command::new("tshark")
        .args(["-Y", filter, "-r", path])
        .output();
    assert!(
        output.unwrap().status.success(),
        "the filter of docs/observe.md"
    );
}

#[test]
fn reasons_are_captured_at_xdp() {
    if is_root() {
        reasons_are_captured("xdp");
    }
}

#[test]
fn reasons_are_captured_at_tc() {
    if is_root() {
        reasons_are_captured("tc");
    }
}

#[test]
fn reasons_are_captured_in_front_of_workers() {
    if is_root() {
        reasons_are_captured("af-xdp");
    }
}

#[test]
fn frames_are_told_as_lines_and_as_json() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let router = lab.run(&["r0", "r1"], &["--engine", "xdp"]);
    roads(&lab, &router);
    let wires = Wires::open(&lab);
    let frame = frame_of(&router, &["203.0.113.9", "--destination-port", "443"]);
    let lost = frame_of(&router, &["198.51.100.3"]);
    let words = [
        "--count",
        "2",
        "--port",
        "r0",
        "--forwarded",
        "--reason",
        "blackhole",
    ];
    let told = |more: &[&str]| {
        let capture = router.captures(&[&words, more].concat());
        wires.a.send(&frame);
        wires.a.send(&lost);
        let (code, out, said) = capture.end();
        assert_eq!(code, Some(0), "{said}");
        out
    };
    let lines = told(&[]);
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains(" r0 10.0.0.2:49152 > 203.0.113.9:443 udp ttl 64, 60 bytes: "));
    assert!(lines[0].contains("forwarded egress=r1 next-hop=10.1.0.2 prefix=203.0.113.0/24"));
    assert!(lines[1].contains("dropped reason=blackhole prefix=198.51.100.3/32"));
    let documents = told(&["--json"]);
    let documents: Vec<Value> = documents
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for document in &documents {
        assert_is("corelane-capture", document);
    }
    assert_eq!(documents[0]["fate"], "forwarded");
    assert_eq!(documents[0]["egress"], "r1");
    assert_eq!(documents[0]["destination_port"], 443);
    assert_eq!(
        bytes_of(documents[0]["bytes"].as_str().unwrap()).unwrap(),
        frame
    );
    assert_eq!(documents[1]["reason"], "blackhole");
    assert_eq!(documents[1]["egress"], Value::Null);
}

#[test]
fn a_filter_says_where_it_runs_and_lets_nothing_else_through() {
    if !is_root() || !needs::program("tcpdump") {
        return;
    }
    let lab = Lab::new();
    let router = lab.run(&["r0", "r1"], &["--engine", "tc"]);
    roads(&lab, &router);
    let wires = Wires::open(&lab);
    let https = frame_of(&router, &["203.0.113.9", "--destination-port", "443"]);
    let other = frame_of(&router, &["203.0.113.9", "--destination-port", "80"]);
    let by_filter = |words: &[&str]| {
        let capture = router.captures(words);
        assert!(
            capture.begun.contains("runs in the kernel"),
            "{}",
            capture.begun
        );
        for frame in [&other, &https, &other] {
            wires.a.send(frame);
        }
        let (code, out, said) = capture.end();
        assert_eq!(code, Some(0), "{said}");
        assert!(
            out.contains(":443 udp") && out.lines().count() == 1,
            "{out}"
        );
    };
    by_filter(&["--count", "1", "udp", "and", "dst", "port", "443"]);
    by_filter(&["--count", "1", "udp and dst port 443"]);
    // What tcpdump printed elsewhere.
    let file = lab.path("filter");
    let words = ["-ddd", "-y", "EN10MB", "-i", "lo", "udp dst port 443"];
    let program = Command::new("tcpdump").args(words).output().unwrap();
    std::fs::write(&file, program.stdout).unwrap();
    by_filter(&["--count", "1", "--program", file.to_str().unwrap()]);
}

/// The number of the program at XDP on a port.
pub(super) fn program(lab: &Lab, port: &str) -> u64 {
    let words = ["-j", "-d", "link", "show", "dev", port];
    let output = lab.r.command("ip").args(words).output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    told[0]["xdp"]["prog"]["id"].as_u64().unwrap()
}

#[test]
fn however_a_capture_ends_the_router_is_as_before() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let mut router = lab.run(&["r0", "r1"], &["--engine", "xdp"]);
    roads(&lab, &router);
    let before = program(&lab, "r0");
    for signal in [libc::SIGKILL, libc::SIGINT, libc::SIGTERM] {
        let capture = router.captures(&["--write", "/dev/null"]);
        assert_ne!(program(&lab, "r0"), before);
        assert!(lab.ping("10.1.0.2"));
        let (code, said) = router.captures_not(&["--count", "1"]);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("captures already"), "{said}");
        capture.signal(signal);
        capture.end();
        wait_for("the program of before", 5, || program(&lab, "r0") == before);
    }
    // A reader that goes away, and a disk that is full.
    let (reader, gone) = std::io::pipe().unwrap();
    drop(reader);
    let ends = |command: &mut Command, code: i32, why: &str| {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        wait_for("its end", 10, || {
            lab.ping("10.1.0.2");
            child.try_wait().unwrap().is_some()
        });
        let output = child.wait_with_output().unwrap();
        let said = text(&output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(why), "{said}");
        wait_for("the program of before", 5, || program(&lab, "r0") == before);
    };
    ends(
        router.capture(&["--forwarded"]).stdout(gone),
        0,
        "frames captured",
    );
    ends(
        &mut router.capture(&["--write", "/dev/full"]),
        1,
        "writing /dev/full: ",
    );
    counts_close(&router);
    router.verify();
    let log = router.log();
    assert!(!log.contains("level=error"), "{log}");
}

/// Received is forwarded and every reason, on each port.
fn counts_close(router: &Socket) {
    let (ports, drops) = (router.show("ports"), router.show("drops"));
    for port in ports.as_array().unwrap() {
        let of_port = |row: &&Value| row["port"] == port["port"];
        let left = drops.as_array().unwrap().iter().filter(of_port);
        let left: u64 = left.map(|row| row["frames"].as_u64().unwrap()).sum();
        let forwarded = port["forwarded"].as_u64().unwrap();
        // What came between both questions.
        let received = port["received"].as_u64().unwrap();
        assert!(
            forwarded + left >= received && forwarded + left <= received + 10,
            "{port} {drops}"
        );
    }
}

#[test]
fn what_cannot_be_captured_is_said_and_changes_nothing() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let router = lab.run(&["r0", "r1"], &["--engine", "xdp"]);
    let before = program(&lab, "r0");
    let refused = |words: &[&str], code: i32, why: &str| {
        let (ended, said) = router.captures_not(words);
        assert_eq!(ended, Some(code), "{words:?}: {said}");
        assert!(said.contains(why), "{words:?}: {said}");
    };
    refused(&["--reason", "sorcery"], 2, "known are port-disabled, ");
    refused(&["--reason", "egress-refused"], 1, "corelane show drops");
    refused(&["--port", "r7"], 1, "it has r0, r1");
    refused(&["--snap", "63"], 2, "64");
    refused(&["--sample", "10"], 2, "1:N");
    refused(&["--sample", "1:0"], 2, "1:N");
    refused(&["--count", "0"], 2, "1");
    refused(&["--write", "/nowhere/file"], 1, "writing /nowhere/file: ");
    refused(&["--program", "/nowhere"], 1, "--program /nowhere: ");
    let nonsense = lab.path("nonsense");
    std::fs::write(&nonsense, "2\n40 0 0 12\n255 0 0 0\n").unwrap();
    refused(
        &["--program", nonsense.to_str().unwrap()],
        1,
        "instruction 1",
    );
    if needs::program("tcpdump") {
        refused(&["sorcery and udp"], 1, "man pcap-filter");
    }
    let mut command = router.capture(&["udp"]);
    let output = command.env("PATH", "/nowhere").output().unwrap();
    assert!(
        text(&output).contains("install tcpdump"),
        "{}",
        text(&output)
    );
    assert_eq!(program(&lab, "r0"), before);
    router.verify();
}

#[test]
fn packet_sockets_show_nothing_and_say_what_does() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let router = lab.run(&["r0", "r1"], &["--engine", "af-packet"]);
    let (code, said) = router.captures_not(&["--count", "1"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("tcpdump -i PORT"), "{said}");
}

#[test]
fn a_router_that_ends_ends_the_capture() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let mut router = lab.run(&["r0", "r1"], &["--engine", "xdp"]);
    let capture = router.captures(&["--write", "/dev/null"]);
    router.end(libc::SIGTERM);
    let (code, _, said) = capture.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("the router has ended"), "{said}");
}

#[test]
fn a_capture_gives_way_to_who_takes_over() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let mut old: Router = lab.run(&["r0", "r1"], &["--engine", "xdp"]);
    roads(&lab, &old);
    let capture = old.captures(&["--write", "/dev/null"]);
    let new = lab.run(&["r0", "r1"], &["--engine", "xdp", "--take-over"]);
    let (code, _, said) = capture.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("takes the ports over"), "{said}");
    wait_for("the old one's end", 10, || old.ended());
    assert!(lab.ping("10.1.0.2"));
    let capture = new.captures(&["--forwarded", "--count", "2"]);
    lab.wait_for_fast_path(&new, &["10.1.0.2"]);
    assert_eq!(capture.end().0, Some(0));
}

#[test]
fn a_port_that_comes_later_shows_its_frames_too() {
    if !is_root() {
        return;
    }
    let mut lab = Lab::new();
    let router = lab.run(&["r0", "r1", "r2"], &["--engine", "xdp"]);
    let file = lab.path("later.pcapng");
    let capture = router.captures(&["--write", file.to_str().unwrap()]);
    lab.link("c", 2);
    wait_for("port r2", 10, || router.state("r2") == "forwarding");
    wait_for("a frame of r2", 20, || {
        super::lab::ping(lab.bed.namespace("c").unwrap(), "10.2.0.1", 1);
        let frames = recorded(&std::fs::read(&file).unwrap());
        frames.iter().any(|one| one.port == "r2")
    });
    capture.signal(libc::SIGINT);
    assert_eq!(capture.end().0, Some(0));
}
