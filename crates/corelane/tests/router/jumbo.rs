//! Frames longer than a buffer: the workers of `af-xdp` forward them, byte for byte.

use std::time::Duration;

use port::xsk::can_scatter;

use super::lab::{Lab, Router, is_root, wait_for};
use super::raw::{Raw, Wires, checksum, ipv4, ipv6};

/// Bytes of frames: within one buffer of a socket (3840 bytes), at its end, in two and three.
const LENGTHS: [usize; 9] = [64, 1500, 1792, 1793, 3840, 3841, 4096, 8960, 9014];

/// A laboratory of jumbo frames, and the engine in it.
fn start() -> (Lab, Router) {
    let lab = Lab::new();
    for (place, link) in [
        (&lab.a, "e0"),
        (&lab.b, "e1"),
        (&lab.r, "r0"),
        (&lab.r, "r1"),
    ] {
        place.ip(format!("link set {link} mtu 9000")).unwrap();
    }
    let router = lab.run(&["r0", "r1"], &["--engine", "af-xdp", "--long-frames"]);
    lab.wait_for_fast_path(&router, &["10.1.0.2", "2001:db8:1::2"]);
    (lab, router)
}

fn payload(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at % 251) as u8).collect()
}

fn v4(macs: ([u8; 6], [u8; 6]), to: [u8; 4], length: usize) -> Vec<u8> {
    ipv4(macs, [10, 0, 0, 2], to, 9, &payload(length - 42))
}

fn v6(macs: ([u8; 6], [u8; 6]), length: usize) -> Vec<u8> {
    ipv6(macs, "2001:db8::2", "2001:db8:1::2", &payload(length - 62))
}

/// The packet one hop on.
fn one_hop_on(frame: &[u8]) -> Vec<u8> {
    let mut packet = frame[14..].to_vec();
    if packet[0] >> 4 == 4 {
        packet[8] -= 1;
        packet[10..12].fill(0);
        let sum = checksum(&packet[..20]);
        packet[10..12].copy_from_slice(&sum);
    } else {
        packet[7] -= 1;
    }
    packet
}

/// Sends the frame and expects its packet behind an Ethernet header, once, by a worker.
fn passes(router: &Router, from: &Raw, to: &Raw, frame: &[u8]) {
    let wanted = one_hop_on(frame);
    let count = || (router.forwarded(), router.reason("too-big"));
    let before = count();
    from.send(frame);
    let is_it = |seen: &[u8]| seen.get(14..) == Some(&wanted[..]);
    let seen = to.wait_for(is_it);
    assert!(seen.is_some(), "{} bytes did not come through", frame.len());
    let again = std::iter::from_fn(|| to.receive()).any(|seen| is_it(&seen));
    assert!(!again, "{} bytes came twice", frame.len());
    let after = count();
    let is_forwarded = after.0 > before.0 && after.1 == before.1;
    assert!(is_forwarded, "{} bytes were the kernel's", frame.len());
}

#[test]
fn workers_forward_jumbo_frames_byte_for_byte() {
    if !is_root() || !needs::that(can_scatter(), "Linux 6.6") {
        return;
    }
    let (lab, router) = start();
    let wires = Wires::open(&lab);
    for length in LENGTHS {
        for frame in [
            v4(wires.macs, [10, 1, 0, 2], length),
            v6(wires.macs, length),
        ] {
            passes(&router, &wires.a, &wires.b, &frame);
        }
    }
    // Past the largest packet that the way out takes, the kernel answers.
    lab.b.ip("link set e1 mtu 8000").unwrap();
    lab.r.ip("link set r1 mtu 8000").unwrap();
    wait_for("the MTU", 5, || {
        let before = router.reason("too-big");
        wires.a.send(&v4(wires.macs, [10, 1, 0, 2], 8015));
        wires.a.send(&v4(wires.macs, [10, 1, 0, 2], 9014));
        let is_long = |frame: &[u8]| frame.len() > 8000;
        let long = wires.b.within(Duration::from_secs(1), is_long);
        long.is_none() && router.reason("too-big") == before + 2
    });
    let fits = v4(wires.macs, [10, 1, 0, 2], 8014);
    passes(&router, &wires.a, &wires.b, &fits);
}
