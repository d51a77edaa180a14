//! Why the program leaves a frame: one reason each, the frame unchanged.

use std::time::{Duration, Instant};

use bpf::attach::Request;
use fastpath::forward::{Accepts, PortSettings};

use super::bench::{Bench, MAIN, PEER, REDIRECT, STATION, frame, frame_short, with_ipv4};
use crate::common::{self, in_namespace};

#[test]
fn ipv4_frames_that_are_not_forwarded_have_their_reason() {
    in_namespace(|| {
        let bench = Bench::new();
        let plain = frame_short();
        let set = |at: usize, bytes: &[u8]| {
            let mut frame = plain.clone();
            frame[at..at + bytes.len()].copy_from_slice(bytes);
            frame
        };
        let to = |destination: &str| frame(destination, 60, None);

        bench.leaves(&plain[..17], "runt");
        bench.leaves(&set(0, &[0xff; 6]), "link-group");
        bench.leaves(&set(0, &[0x33, 0x33, 0, 0, 0, 1]), "link-group");
        bench.leaves(&set(0, &PEER), "other-station");
        bench.leaves(&frame("198.19.1.2", 64, Some(101)), "unknown-vlan");
        let mut wrong_station = frame("198.19.1.2", 64, Some(100));
        wrong_station[..6].copy_from_slice(&STATION);
        bench.leaves(&wrong_station, "other-station");
        bench.leaves(&set(12, &[0x08, 0x06]), "other-protocol");
        bench.leaves(&plain[..33], "ipv4-truncated");
        bench.leaves(&set(14, &[0x55]), "ipv4-version");
        bench.leaves(&set(14, &[0x44]), "ipv4-header-length");
        bench.leaves(&set(24, &[plain[24] ^ 1]), "ipv4-checksum");
        bench.leaves(
            &with_ipv4(plain.clone(), |ip| ip[3] = 19),
            "ipv4-total-length",
        );
        bench.leaves(&with_ipv4(plain.clone(), |ip| ip[3] = 47), "ipv4-overrun");
        bench.leaves(
            &with_ipv4(plain.clone(), |ip| ip[12] = 127),
            "ipv4-source-martian",
        );
        bench.leaves(
            &with_ipv4(plain.clone(), |ip| ip[12] = 0),
            "ipv4-source-martian",
        );
        for special in ["0.0.0.1", "127.0.0.1", "240.0.0.1", "169.254.1.1"] {
            bench.leaves(&to(special), "ipv4-destination-martian");
        }
        bench.leaves(&to("224.0.0.5"), "ipv4-group");
        bench.leaves(&to("255.255.255.255"), "ipv4-group");
        let options = with_ipv4(frame("198.19.1.2", 100, None), |ip| {
            ip[0] = 0x46;
            ip[20..24].copy_from_slice(&[1, 1, 1, 0]);
        });
        bench.leaves(&options, "ipv4-options");
        for ttl in [0, 1] {
            bench.leaves(
                &with_ipv4(plain.clone(), |ip| ip[8] = ttl),
                "ipv4-time-to-live",
            );
        }
    });
}

#[test]
fn ipv6_frames_that_are_not_forwarded_have_their_reason() {
    in_namespace(|| {
        let bench = Bench::new();
        let plain6 = frame("2001:db8:19::2", 78, None);
        let set6 = |at: usize, bytes: &[u8]| {
            let mut frame = plain6.clone();
            frame[at..at + bytes.len()].copy_from_slice(bytes);
            frame
        };
        bench.leaves(&plain6[..53], "ipv6-truncated");
        bench.leaves(&set6(14, &[0x40]), "ipv6-version");
        bench.leaves(&set6(19, &[25]), "ipv6-overrun");
        bench.leaves(&set6(22, &[0xfe, 0x80]), "ipv6-source-martian");
        bench.leaves(&set6(22, &[0xff, 0x02]), "ipv6-source-martian");
        bench.leaves(&frame("fe80::1", 78, None), "ipv6-destination-martian");
        bench.leaves(&frame("::1", 78, None), "ipv6-destination-martian");
        bench.leaves(
            &frame("::ffff:1.2.3.4", 78, None),
            "ipv6-destination-martian",
        );
        bench.leaves(&frame("ff02::5", 78, None), "ipv6-group");
        bench.leaves(&set6(20, &[0]), "ipv6-hop-by-hop");
        bench.leaves(&set6(21, &[1]), "ipv6-hop-limit");
    });
}

#[test]
fn routes_that_forward_nothing_have_their_reason() {
    in_namespace(|| {
        let mut bench = Bench::new();
        let (plain, plain6) = (frame_short(), frame("2001:db8:19::2", 78, None));
        let to = |destination: &str| frame(destination, 60, None);
        bench.leaves(&to("192.0.2.1"), "no-route");
        bench.leaves(&frame("2001:db9::1", 78, None), "no-route");
        bench.leaves(&to("203.0.113.3"), "punt");
        bench.leaves(&to("203.0.113.12"), "local");
        bench.leaves(&frame("2001:db8:12::1", 78, None), "local");
        bench.leaves(&to("203.0.113.13"), "unresolved");
        bench.leaves(&to("203.0.113.4"), "blackhole");
        bench.leaves(&to("203.0.113.5"), "unreachable");
        bench.leaves(&to("203.0.113.6"), "prohibit");
        bench.leaves(&to("203.0.113.7"), "unknown-port");
        bench.leaves(&to("203.0.113.8"), "empty-group");
        bench.leaves(&frame("198.19.1.2", 1515, None), "too-big");
        bench.leaves(&frame("2001:db8:19::2", 1515, None), "too-big");
        bench.leaves(&with_partial_checksum(plain.clone()), "partial-checksum");
        bench.leaves(&with_partial_checksum(plain6.clone()), "partial-checksum");
        bench.leaves(
            &with_ipv4(plain.clone(), |ip| ip[9] = 47),
            "partial-checksum",
        );

        bench
            .forwarder
            .set_port(
                bench.r0,
                &PortSettings {
                    enabled: false,
                    accepts: Accepts::default(),
                    mac: STATION,
                    table: MAIN,
                    vlans: vec![],
                    ..PortSettings::default()
                },
            )
            .unwrap();
        bench.leaves(&plain, "port-disabled");
        for port in bench.forwarder.port_counters().values() {
            assert!(port.closes(), "{port:?}");
        }
    });
}

/// Leaves only the pseudo-header's sum in the UDP checksum, as a sender with checksum offload does.
pub(super) fn with_partial_checksum(mut frame: Vec<u8>) -> Vec<u8> {
    let (addresses, udp) = if frame[12..14] == [0x08, 0] {
        (26..34, 34)
    } else {
        (22..54, 54)
    };
    let pseudo = [0, 17, frame[udp + 4], frame[udp + 5]];
    let sum = common::checksum(&[&frame[addresses], &pseudo]);
    frame[udp + 6..udp + 8].copy_from_slice(&sum.to_be_bytes());
    frame
}

#[test]
fn a_fragment_or_a_missing_checksum_is_not_taken_for_partial() {
    in_namespace(|| {
        let bench = Bench::new();
        let partial = with_partial_checksum(frame_short());
        let fragment = with_ipv4(partial.clone(), |ip| ip[6] = 0x20);
        assert_eq!(bench.run(&fragment).0, REDIRECT);
        let mut none = partial;
        none[40..42].fill(0);
        assert_eq!(bench.run(&none).0, REDIRECT);
    });
}

#[test]
fn an_egress_that_takes_no_redirected_frames_is_left_to_the_kernel() {
    in_namespace(|| {
        let mut bench = Bench::new();
        common::run("ethtool -K p1 gro off");
        bench.ask_egress();
        bench.leaves(&frame_short(), "no-redirect");
        common::run("ethtool -K p1 gro on");
        bench.ask_egress();
        assert_eq!(bench.run(&frame_short()).0, REDIRECT);

        bench.forwarder.detach(bench.r1);
        bench.leaves(&frame_short(), "unknown-port");
        bench.forwarder.attach("r1", Request::Any).unwrap();
        assert_eq!(bench.run(&frame_short()).0, REDIRECT);
    });
}

#[test]
fn routes_that_nobody_vouches_for_any_more_are_not_used() {
    in_namespace(|| {
        let bench = Bench::new();
        let plain = frame_short();
        assert_eq!(bench.run(&plain).0, REDIRECT, "without a bound");
        bench.forwarder.vouch(Some(Duration::from_mins(1))).unwrap();
        assert_eq!(bench.run(&plain).0, REDIRECT);
        bench
            .forwarder
            .vouch(Some(Duration::from_millis(50)))
            .unwrap();
        // The bound, and the tick that it is rounded up to.
        std::thread::sleep(Duration::from_millis(70));
        bench.leaves(&plain, "stale");
        bench.leaves(&frame("2001:db8:19::2", 78, None), "stale");
        bench.forwarder.vouch(Some(Duration::from_mins(1))).unwrap();
        assert_eq!(bench.run(&plain).0, REDIRECT, "at once");
        bench.forwarder.vouch(Some(Duration::ZERO)).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        bench.leaves(&plain, "stale");
        bench.forwarder.vouch(None).unwrap();
        assert_eq!(bench.run(&plain).0, REDIRECT, "for ever");
        let began = Instant::now();
        for _ in 0..100 {
            bench.forwarder.vouch(Some(Duration::from_secs(2))).unwrap();
        }
        println!("vouching takes {:?}", began.elapsed() / 100);
    });
}
