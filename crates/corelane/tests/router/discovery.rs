//! Neighbour discovery for addresses that the router stands in for (`proxy_ndp`).

use super::lab::{Lab, is_root, wait_for};
use super::raw::{Raw, checksum, mac};

const ENGINES: [&str; 5] = ["xdp", "xdp-kernel-fib", "tc", "af-xdp", "af-packet"];
const FRAMES: usize = 10;
const TARGET: &str = "2001:db8:1::2";

/// A solicitation for the target, sent to the target, behind destination options or not.
pub(super) fn solicitation(macs: ([u8; 6], [u8; 6]), options: bool) -> Vec<u8> {
    let octets = |text: &str| text.parse::<std::net::Ipv6Addr>().unwrap().octets();
    let (source, target) = (octets("2001:db8::2"), octets(TARGET));
    let mut message = vec![135, 0, 0, 0, 0, 0, 0, 0];
    message.extend(target);
    message.extend([1, 1]);
    message.extend(macs.1);
    let length = [0, 0, 0, message.len() as u8, 0, 0, 0, 58];
    let sum = checksum(&[&source[..], &target, &length, &message].concat());
    message[2..4].copy_from_slice(&sum);
    let mut next = 58;
    if options {
        message.splice(..0, [58, 0, 1, 4, 0, 0, 0, 0]);
        next = 60;
    }
    let mut frame = [&macs.0[..], &macs.1, &[0x86, 0xDD]].concat();
    frame.extend([0x60, 0, 0, 0, 0, message.len() as u8, next, 255]);
    frame.extend(source);
    frame.extend(target);
    frame.extend(message);
    frame
}

#[test]
fn the_kernel_answers_for_whom_it_stands_in() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let (from, to) = (Raw::open(&lab.a, "e0"), Raw::open(&lab.b, "e1"));
    let macs = (mac(&lab.r, "r0"), mac(&lab.a, "e0"));
    // Solicitations that come out at b, and advertisements of the target that come back to a.
    let pass = || {
        let is_message = |frame: &Vec<u8>, kind| {
            let at = if frame.get(20) == Some(&60) { 62 } else { 54 };
            frame.get(12..14) == Some(&[0x86, 0xDD]) && frame.get(at) == Some(&kind)
        };
        let target = TARGET.parse::<std::net::Ipv6Addr>().unwrap().octets();
        let is_target = |frame: &Vec<u8>| frame.windows(16).any(|part| part == target);
        for options in [false, true] {
            for _ in 0..FRAMES {
                from.send(&solicitation(macs, options));
            }
        }
        let over = std::iter::from_fn(|| to.receive());
        let over = over
            .filter(|frame| frame[21] != 255 && is_message(frame, 135))
            .count();
        let back = std::iter::from_fn(|| from.receive());
        let back = back
            .filter(|frame| frame[..6] == macs.1 && is_message(frame, 136) && is_target(frame))
            .count();
        (over, back > 0)
    };
    let set = |proxy: u8| {
        let values = ["all", "r0"].map(|place| format!("net.ipv6.conf.{place}.proxy_ndp={proxy}"));
        let mut sysctl = lab.r.command("sysctl");
        assert!(sysctl.arg("-qw").args(values).status().unwrap().success());
    };
    lab.r
        .ip(format!("-6 neigh add proxy {TARGET} dev r0"))
        .unwrap();
    wait_for("b", 5, || lab.ping(TARGET));
    let alone = [0, 1].map(|proxy| {
        set(proxy);
        pass()
    });
    println!("{alone:?}");
    assert_eq!(alone[0], (2 * FRAMES, false), "forwarded");
    assert_eq!(alone[1].0, 0, "answered");
    for engine in ENGINES {
        set(0);
        let router = lab.run(&["r0", "r1"], &["--engine", engine]);
        lab.wait_for_fast_path(&router, &[TARGET]);
        for (proxy, wanted) in [0, 1].into_iter().zip(alone) {
            set(proxy);
            let what = format!("{engine}, proxy_ndp={proxy}: {wanted:?}");
            wait_for(&what, 5, || pass() == wanted);
        }
    }
}
