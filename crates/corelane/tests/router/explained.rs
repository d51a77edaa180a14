//! `corelane explain` beside what happens: every frame ends as it was explained before.

use std::process::Output;

use figures::Random;
use router::management_plane::client;
use router::management_plane::config::InstanceName;
use router::management_plane::explain::{Question, hexadecimal};
use serde_json::Value;

use super::lab::{Lab, Socket, is_root, text, wait_for};
use super::raw::{self, Wires};
use super::roads::{LEFT, narrow, roads};
use crate::schemas::assert_is;

impl Socket {
    fn explain(&self, words: &[&str]) -> Output {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_corelane"));
        command.arg("explain").args(words).arg("--run-directory");
        command.arg(&self.0).output().unwrap()
    }

    /// The explanation, whose answer is the kernel's, too.
    pub(super) fn explained(&self, words: &[&str]) -> Value {
        let output = self.explain(&[words, &["--json"]].concat());
        assert_eq!(
            output.status.code(),
            Some(0),
            "{words:?}: {}",
            text(&output)
        );
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_is("corelane-explain", &value);
        value
    }

    /// The explanation of a frame by port r0, asked without starting that program.
    fn explain_frame(&self, frame: &[u8]) -> Value {
        let question = Question {
            port: Some("r0".to_owned()),
            frame: Some(hexadecimal(frame)),
            ..Question::default()
        };
        let socket = InstanceName::default().socket(&self.0);
        let question = format!("explain {}", question.line());
        let answer = client::ask(&socket, &question).unwrap();
        let value: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(value.get("error"), None, "{answer}");
        value
    }

    /// Frames of port r0 by reason, and under "" those forwarded.
    fn counted(&self) -> Vec<(String, u64)> {
        let ports = self.show("ports");
        let mut rows = ports.as_array().unwrap().iter();
        let r0 = rows.find(|row| row["port"] == "r0").unwrap();
        let mut all = vec![(String::new(), r0["forwarded"].as_u64().unwrap())];
        let drops = self.show("drops");
        let of_r0 = drops.as_array().unwrap().iter();
        for row in of_r0.filter(|row| row["port"] == "r0") {
            let reason = row["reason"].as_str().unwrap().to_owned();
            all.push((reason, row["frames"].as_u64().unwrap()));
        }
        all
    }

    /// The same without what hosts send by themselves: neighbour discovery, groups.
    fn counted_of_us(&self) -> Vec<(String, u64)> {
        const THEIRS: [&str; 4] = ["link-group", "other-protocol", "ipv6-discovery", "local"];
        let mut all = self.counted();
        all.retain(|(reason, _)| !THEIRS.contains(&reason.as_str()));
        all
    }
}

fn reason_of(value: &Value) -> &str {
    value["reason"]["name"].as_str().unwrap_or_default()
}

fn reasons_have_their_explanation(engine: &str) {
    let lab = Lab::new();
    narrow(&lab);
    let router = lab.run(&["r0", "r1"], &["--engine", engine]);
    roads(&lab, &router);
    let before = router.counted_of_us();
    let to = |words: &[&str]| router.explained(&[words, &["--port", "r0"]].concat());
    let way = to(&[
        "203.0.113.9",
        "--protocol",
        "tcp",
        "--destination-port",
        "443",
    ]);
    assert_eq!(way["fate"], "forwarded", "{way}");
    assert_eq!(way["prefix"]["prefix"], "203.0.113.0/24", "{way}");
    assert_eq!(way["next_hop"]["egress"], "r1", "{way}");
    assert_eq!(way["next_hop"]["neighbour"], "10.1.0.2", "{way}");
    assert_eq!(way["rewrite"]["ttl"], 63, "{way}");
    assert_eq!(way["kernel"]["gateway"], "10.1.0.2", "{way}");
    for (words, reason) in LEFT {
        let value = to(words);
        assert_eq!(reason_of(&value), reason, "{engine} {words:?}: {value}");
        assert_ne!(value["reason"]["decided_by"], "", "{value}");
    }
    assert_eq!(router.counted_of_us(), before, "{engine}");
}

#[test]
fn reasons_have_their_explanation_at_xdp() {
    if is_root() {
        reasons_have_their_explanation("xdp");
    }
}

#[test]
fn reasons_have_their_explanation_at_tc() {
    if is_root() {
        reasons_have_their_explanation("tc");
    }
}

#[test]
fn reasons_have_their_explanation_with_workers() {
    if is_root() {
        reasons_have_their_explanation("af-xdp");
        reasons_have_their_explanation("af-packet");
    }
}

/// A frame from a, mostly valid, for one of the roads.
fn drawn(random: &mut Random, wires: &Wires) -> Vec<u8> {
    const V4: [[u8; 4]; 9] = [
        [203, 0, 113, 9],
        [10, 1, 0, 2],
        [198, 51, 100, 1],
        [198, 51, 100, 2],
        [198, 51, 100, 3],
        [198, 51, 100, 9],
        [192, 0, 2, 1],
        [10, 0, 0, 1],
        [224, 0, 0, 5],
    ];
    const V6: [&str; 3] = ["2001:db8:1::2", "2001:db8:77::1", "ff05::2"];
    let mut below = |bound: usize| (random.next_u128() % bound as u128) as usize;
    let payload = vec![7; [18, 100, 1000][below(3)]];
    let mut frame = if below(4) == 0 {
        raw::ipv6(wires.macs, "2001:db8:0::2", V6[below(3)], &payload)
    } else {
        let port = below(4000) as u16;
        raw::ipv4(wires.macs, [10, 0, 0, 2], V4[below(9)], port, &payload)
    };
    if below(3) == 0 {
        let (at, bit) = (below(42), below(8));
        frame[at] ^= 1 << bit;
    }
    if below(8) == 0 {
        frame.splice(12..12, [0x81, 0, 0, [0, 30][below(2)]]);
    }
    frame
}

/// Frames that end otherwise than explained, of so many.
fn fuzzed(engine: &str, frames: usize, seed: u64) {
    let lab = Lab::new();
    let router = lab.run(
        &["r0", "r1"],
        &["--engine", engine, "--punt-limits", "none"],
    );
    roads(&lab, &router);
    let wires = Wires::open(&lab);
    let mut random = Random::new(seed);
    let (mut sent, mut seen) = (0, std::collections::BTreeMap::<String, usize>::new());
    while sent < frames {
        let frame = drawn(&mut random, &wires);
        sent += 1;
        let told = router.explain_frame(&frame);
        let expected = reason_of(&told).to_owned();
        *seen.entry(expected.clone()).or_default() += 1;
        let before = of(&router.counted(), &expected);
        wires.a.send(&frame);
        let is_counted = || of(&router.counted(), &expected) > before;
        // At once as a rule, and many thousand frames would wait long for a clock.
        if !(0..20).any(|_| is_counted()) {
            wait_for(&format!("{engine} {expected:?} of {told}"), 5, is_counted);
        }
        if let Some(bytes) = told["rewrite"]["bytes"].as_str()
            && told["next_hop"]["egress"] == "r1"
        {
            let left = wires.b.wait_for(|frame| hexadecimal(frame) == bytes);
            assert!(left.is_some(), "{engine}: {told}");
        }
    }
    assert!(seen.len() > 8, "{seen:?}");
}

fn of(counted: &[(String, u64)], reason: &str) -> u64 {
    let of = counted.iter().filter(|(name, _)| name == reason);
    of.map(|(_, frames)| frames).sum()
}

/// Of each engine, unless `CORELANE_EXPLAIN_FRAMES` says otherwise.
fn how_many() -> usize {
    let asked = std::env::var("CORELANE_EXPLAIN_FRAMES").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(400)
}

#[test]
fn frames_end_as_explained() {
    if is_root() {
        fuzzed("xdp", how_many(), 20);
        fuzzed("tc", how_many(), 21);
    }
}

#[test]
fn frames_end_as_explained_with_workers() {
    if is_root() {
        fuzzed("af-xdp", how_many() / 4, 22);
        fuzzed("af-packet", how_many() / 4, 23);
    }
}

#[test]
fn the_member_of_a_group_is_the_one_that_the_flow_takes() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let router = lab.run(&["r0", "r1"], &["--engine", "xdp"]);
    roads(&lab, &router);
    lab.r
        .ip("route replace 198.51.100.8/29 nexthop via 10.1.0.2 nexthop via 10.1.0.3")
        .unwrap();
    let mac = raw::mac(&lab.b, "e1");
    let mac: Vec<String> = mac.iter().map(|byte| format!("{byte:02x}")).collect();
    let neighbour = format!("neigh replace 10.1.0.3 lladdr {} dev r1", mac.join(":"));
    lab.r.ip(&neighbour).unwrap();
    wait_for("the group", 10, || router.is_equal());
    let value = router.explained(&["198.51.100.9", "--port", "r0"]);
    let group = &value["next_hop"]["group"];
    assert_eq!(group["members"], 2, "{value}");
    assert!(group["member"].as_u64().is_some(), "{value}");
    assert_eq!(value["fate"], "forwarded", "{value}");
}

#[test]
fn the_kernels_own_answers_are_explained_too() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let router = lab.run(&["r0", "r1"], &["--engine", "xdp-kernel-fib"]);
    roads(&lab, &router);
    for (to, reason) in [
        ("203.0.113.9", ""),
        ("192.0.2.1", "no-route"),
        ("10.0.0.1", "local"),
        ("198.51.100.1", "unreachable"),
        ("198.51.100.3", "blackhole"),
        ("10.1.0.77", "unresolved"),
    ] {
        let value = router.explained(&[to, "--port", "r0"]);
        assert_eq!(reason_of(&value), reason, "{value}");
        assert_eq!(value["prefix"], Value::Null, "{value}");
    }
}

#[test]
fn where_the_kernel_would_do_something_else_that_is_said() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    lab.r
        .ip("rule add from 10.0.0.0/24 lookup 100 pref 100")
        .unwrap();
    lab.r
        .ip("route add 203.0.113.0/24 via 10.0.0.2 table 100")
        .unwrap();
    let more = ["--engine", "xdp", "--bypass-policy-rules"];
    let router = lab.run(&["r0", "r1"], &more);
    roads(&lab, &router);
    let output = router.explain(&["203.0.113.9", "--port", "r0", "--from", "10.0.0.2"]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let different =
        "DIFFERENT: we forward by r1 to 10.1.0.2; the kernel sends it by r0 to 10.0.0.2";
    assert!(said.contains(different), "{said}");
    // Of another source the rule says nothing.
    router.explained(&["203.0.113.9", "--port", "r0", "--from", "10.77.0.2"]);
}

#[test]
fn what_keeps_a_port_with_the_kernel_is_named() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let router = lab.run(&["r0", "r1"], &["--engine", "xdp"]);
    roads(&lab, &router);
    for rule in [
        "add table ip t",
        "add chain ip t c { type filter hook forward priority 0; }",
        "add rule ip t c counter",
    ] {
        let output = lab.r.command("nft").arg(rule).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
    }
    wait_for("the rule", 10, || !router.left_to_kernel().is_empty());
    let value = router.explained(&["203.0.113.9", "--port", "r0"]);
    assert_eq!(reason_of(&value), "port-disabled", "{value}");
    let decided = value["reason"]["decided_by"].as_str().unwrap();
    assert!(decided.contains("nft"), "{decided}");
    assert_eq!(value["then"], "sends it by r1 to 10.1.0.2", "{value}");
}

#[test]
fn bad_questions_have_clear_errors() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let router = lab.run(&["r0", "r1"], &["--engine", "xdp"]);
    let missing = lab.path("missing.pcap");
    let missing = missing.to_str().unwrap();
    for (words, code, said) in [
        (&["203.0.113.9", "--port", "r7"][..], 1, "it has r0, r1"),
        (&["203.0.113.9", "--from", "2001:db8::1"], 1, "one family"),
        (&["203.0.113.9", "--length", "20"], 1, "at least"),
        (
            &["203.0.113.9", "--protocol", "sctpx"],
            2,
            "give tcp, udp, icmp",
        ),
        (&["203.0.113.9", "--vlan", "5000"], 2, "4094"),
        (&["--frame", "0xyz", "--port", "r0"], 2, "hexadecimal"),
        (&["--frame", "0011", "--port", "r0"], 1, "r0"),
        (&["--pcap", missing, "--port", "r0"], 1, "missing.pcap"),
        (&["nowhere"], 2, "nowhere"),
        (&[], 2, "ADDRESS"),
    ] {
        let output = router.explain(words);
        let all = text(&output);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {all}");
        assert!(all.contains(said), "{words:?}: {all}");
    }
}

#[test]
fn a_frame_of_a_capture_is_explained_in_lines() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let router = lab.run(&["r0", "r1"], &["--engine", "xdp"]);
    roads(&lab, &router);
    let wires = Wires::open(&lab);
    let frames = [[192, 0, 2, 1], [203, 0, 113, 9]]
        .map(|to| raw::ipv4(wires.macs, [10, 0, 0, 2], to, 9, &[7; 30]));
    let file = lab.path("two.pcap");
    let mut writer =
        port::pcap::Writer::new(std::fs::File::create(&file).unwrap(), "two.pcap").unwrap();
    for frame in &frames {
        writer.write(std::time::Duration::ZERO, frame).unwrap();
    }
    writer.flush().unwrap();
    drop(writer);
    let second = format!("{}:2", file.display());
    let output = router.explain(&["--pcap", &second, "--port", "r0"]);
    let lines = text(&output);
    assert!(output.status.success(), "{lines}");
    assert!(lines.starts_with("forwarded by r1\n"), "{lines}");
    assert!(lines.contains("10.1.0.2 at "), "{lines}");
    let third = format!("{}:3", file.display());
    let output = router.explain(&["--pcap", &third, "--port", "r0"]);
    assert!(text(&output).contains("has 2 frames"), "{}", text(&output));
}

#[test]
fn a_frame_of_segments_is_held_against_the_mtu_by_each_of_them() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let router = lab.run(&["r0", "r1"], &["--engine", "tc"]);
    roads(&lab, &router);
    let long = [
        "203.0.113.9",
        "--port",
        "r0",
        "--protocol",
        "tcp",
        "--length",
        "3000",
    ];
    assert_eq!(reason_of(&router.explained(&long)), "too-big");
    let of = |segment| router.explained(&[&long[..], &["--segment", segment]].concat());
    assert_eq!(of("1000")["fate"], "forwarded");
    assert_eq!(reason_of(&of("1480")), "too-big");
    drop(router);
    let router = lab.run(&["r0", "r1"], &["--engine", "xdp"]);
    let output = router.explain(&[&long[..], &["--segment", "1000"]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("only at tc"), "{}", text(&output));
}
