//! What the kernel comes to know without announcing it, and does with forwarded packets: better
//! routers and MTUs that others told it of, frames that another link takes.

use std::time::Duration;

use super::lab::{Lab, Router, is_root, text, wait_for};
use super::raw::{Wires, checksum, ipv4, mac};

const ENGINES: [Option<&str>; 3] = [None, Some("xdp"), Some("tc")];
/// Reached by the first of two routers behind r1.
const FAR: [u8; 4] = [198, 18, 0, 9];
const FIRST: [u8; 4] = [10, 1, 0, 2];
const SECOND: [u8; 4] = [10, 1, 0, 3];
const SECOND_MAC: [u8; 6] = [2, 0, 0, 0, 0, 0x33];

fn run(lab: &Lab, line: &str) {
    let output = lab.r.command("sh").args(["-ec", line]).output().unwrap();
    assert!(output.status.success(), "{line}: {}", text(&output));
}

/// A message of ICMP from the first router about an echo reply that this machine sent to [`FAR`]:
/// the kernel heeds those about other packets of ICMP less (`icmp_err`).
fn message(lab: &Lab, kind: u8, code: u8, word: [u8; 4]) -> Vec<u8> {
    let ours = [10, 1, 0, 1];
    let packet = |source: [u8; 4], destination: [u8; 4], inside: &[u8]| {
        let length = (20 + inside.len() as u16).to_be_bytes();
        let mut header = vec![0x45, 0, length[0], length[1], 0, 1, 0x40, 0, 64, 1, 0, 0];
        header.extend([source, destination].concat());
        let sum = checksum(&header);
        header[10..12].copy_from_slice(&sum);
        [&header, inside].concat()
    };
    let quoted = packet(ours, FAR, &[0, 0, 0xFF, 0xFD, 0, 1, 0, 1]);
    let mut inside = [&[kind, code, 0, 0][..], &word, &quoted].concat();
    let sum = checksum(&inside);
    inside[2..4].copy_from_slice(&sum);
    let (to, from) = (mac(&lab.r, "r1"), mac(&lab.b, "e1"));
    [&to[..], &from, &[8, 0], &packet(FIRST, ours, &inside)].concat()
}

/// What has not come after so long does not come: the callers that want a frame ask again.
const LONGEST: Duration = Duration::from_secs(1);

/// Where a packet of so many bytes leaves towards, by its Ethernet address.
fn leaves(wires: &Wires, payload: usize) -> Option<[u8; 6]> {
    let frame = ipv4(wires.macs, [10, 0, 0, 2], FAR, 9, &vec![7; payload]);
    wires.a.send(&frame);
    let is_it = |seen: &[u8]| seen.len() == frame.len() && seen[26..] == frame[26..];
    let seen = wires.b.within(LONGEST, is_it);
    seen.map(|seen| *seen.first_chunk().unwrap())
}

/// A laid lab, where the kernel heeds others, with the router or without.
fn prepared(engine: Option<&str>) -> (Lab, Option<Router>) {
    let lab = Lab::new();
    run(
        &lab,
        "ip route add 198.18.0.0/24 via 10.1.0.2
         ip neigh replace 10.1.0.3 lladdr 02:00:00:00:00:33 dev r1 nud permanent
         sysctl -qw net.ipv4.conf.all.accept_redirects=1 net.ipv4.ip_forward_use_pmtu=1",
    );
    let router = engine.map(|engine| lab.run(&["r0", "r1"], &["--engine", engine]));
    assert!(lab.ping("10.1.0.2"));
    (lab, router)
}

#[test]
fn better_routers_and_mtus_that_the_kernel_is_told_of_count() {
    if !is_root() {
        return;
    }
    for engine in ENGINES {
        let (lab, router) = prepared(engine);
        let wires = Wires::open(&lab);
        let first = Some(mac(&lab.b, "e1"));
        wait_for("the first router", 5, || leaves(&wires, 1000) == first);
        wires.b.send(&message(&lab, 5, 1, SECOND));
        wait_for("the better router", 5, || {
            leaves(&wires, 100) == Some(SECOND_MAC)
        });
        wires.b.send(&message(&lab, 3, 4, [0, 0, 2, 0x58]));
        wait_for("the MTU", 5, || leaves(&wires, 1000).is_none());
        wait_for("what is short", 5, || {
            leaves(&wires, 100) == Some(SECOND_MAC)
        });
        let Some(router) = router else { continue };
        let left = router.left_to_kernel().join(" ");
        for said in ["redirects are believed", "what others say of MTUs"] {
            assert!(left.contains(said), "{left}");
        }
        run(
            &lab,
            "sysctl -qw net.ipv4.conf.all.accept_redirects=0 net.ipv4.ip_forward_use_pmtu=0",
        );
        lab.wait_for_fast_path(&router, &["10.1.0.2"]);
    }
}

#[test]
fn frames_that_another_link_takes_are_its() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let router = lab.run(&["r0", "r1"], &[]);
    lab.wait_for_fast_path(&router, &["10.1.0.2"]);
    run(
        &lab,
        "ip link add link r0 name m0 type macvlan mode passthru
         sysctl -qw net.ipv4.conf.m0.forwarding=0
         ip link set m0 up",
    );
    wait_for("the link that takes all", 5, || !lab.ping("10.1.0.2"));
    let left = || router.left_to_kernel().join(" ");
    wait_for("a word", 5, || {
        left().contains("its frames are those of m0")
    });
    assert_eq!(router.state("r0"), "kept by the kernel");
    run(&lab, "ip link del m0");
    lab.wait_for_fast_path(&router, &["10.1.0.2"]);
    wait_for("nothing to be left", 5, || left().is_empty());
}
