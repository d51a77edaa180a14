//! The forwarding program on frames, one by one: what it rewrites, byte for byte, and why it leaves a frame.

mod common;

use std::net::{IpAddr, Ipv4Addr};

use common::{in_namespace, veth};
use fastpath::attach::{Request, index_of};
use fastpath::forward::reason::REASONS;
use fastpath::forward::{Capacity, Forwarder, Lookup, PortSettings, VlanSettings};
use fastpath::generate::{Destinations, Frames, Generator};
use fib::next_hop::Kind;
use fib::{IpPrefix, NextHop, NextHopEntry, Prefix};
use wire::{checksum, ipv4, ipv6};

const DROP: u32 = 1;
const PASS: u32 = 2;
const REDIRECT: u32 = 4;
const MAIN: u32 = 254;
const STATION: [u8; 6] = [2, 0, 0, 0, 0, 0x10];
const VLAN_STATION: [u8; 6] = [2, 0, 0, 0, 0, 0x20];
const PEER: [u8; 6] = [2, 0, 0, 0, 0, 0x99];

const ADJACENCY: NextHop = NextHop(10);
const TAGGED: NextHop = NextHop(11);

/// A forwarder with port r0 (untagged, and VLAN 100 in a table of its own) and egress r1.
struct Bench {
    forwarder: Forwarder,
    r0: u32,
    r1: u32,
}

fn adjacency(port: u32, vlan: u16) -> NextHopEntry {
    NextHopEntry {
        kind: Kind::Adjacency,
        mtu: 1500,
        port,
        destination_mac: [2, 0, 0, 0, 1, vlan as u8],
        source_mac: [2, 0, 0, 0, 0, 0x11],
        vlan,
        ..NextHopEntry::default()
    }
}

fn v4(text: &str) -> Prefix<u32> {
    match text.parse().unwrap() {
        IpPrefix::V4(prefix) => prefix,
        IpPrefix::V6(_) => panic!("{text} is not IPv4"),
    }
}

fn v6(text: &str) -> Prefix<u128> {
    match text.parse().unwrap() {
        IpPrefix::V6(prefix) => prefix,
        IpPrefix::V4(_) => panic!("{text} is not IPv6"),
    }
}

impl Bench {
    fn new() -> Self {
        veth("r0", "p0");
        veth("r1", "p1");
        // r1 takes redirected frames when its peer has GRO.
        common::run("ethtool -K p1 gro on");
        let mut forwarder = Forwarder::new(Lookup::Own, Capacity::default()).unwrap();
        let (r0, r1) = (index_of("r0").unwrap(), index_of("r1").unwrap());
        for port in ["r0", "r1"] {
            forwarder.attach(port, Request::Native).unwrap();
        }
        let settings = PortSettings {
            enabled: true,
            mac: STATION,
            table: MAIN,
            vlans: vec![VlanSettings {
                vid: 100,
                ifindex: 0,
                table: 7,
                mac: VLAN_STATION,
            }],
        };
        forwarder.set_port(r0, &settings).unwrap();
        forwarder.set_next_hop(ADJACENCY, adjacency(r1, 0)).unwrap();
        forwarder
            .set_next_hop(TAGGED, adjacency(r1, 0x2003))
            .unwrap();
        for (id, kind) in [
            (3, Kind::Punt),
            (4, Kind::Blackhole),
            (5, Kind::Unreachable),
            (6, Kind::Prohibit),
        ] {
            let entry = NextHopEntry {
                kind,
                ..NextHopEntry::default()
            };
            forwarder.set_next_hop(NextHop(id), entry).unwrap();
        }
        let stray = adjacency(9999, 0);
        forwarder.set_next_hop(NextHop(7), stray).unwrap();
        forwarder.set_group(NextHop(8), &[]).unwrap();
        let members = [ADJACENCY, TAGGED, ADJACENCY, TAGGED];
        forwarder.set_group(NextHop(9), &members).unwrap();
        for (text, id) in [
            ("198.19.0.0/16", 10),
            ("198.20.0.0/16", 11),
            ("203.0.113.3/32", 3),
            ("203.0.113.4/32", 4),
            ("203.0.113.5/32", 5),
            ("203.0.113.6/32", 6),
            ("203.0.113.7/32", 7),
            ("203.0.113.8/32", 8),
            ("203.0.113.16/28", 9),
        ] {
            let route = [(v4(text), NextHop(id))];
            forwarder.set_routes_v4(MAIN, &route).unwrap();
        }
        let routes = [
            (v6("2001:db8:19::/48"), ADJACENCY),
            (v6("2001:db8:20::/48"), TAGGED),
        ];
        forwarder.set_routes_v6(MAIN, &routes).unwrap();
        forwarder
            .set_routes_v4(
                7,
                &[
                    (v4("198.19.0.0/16"), TAGGED),
                    (v4("198.20.0.0/16"), ADJACENCY),
                ],
            )
            .unwrap();
        forwarder.settle();
        Self { forwarder, r0, r1 }
    }

    fn run(&self, frame: &[u8]) -> (u32, Vec<u8>) {
        let result = self.forwarder.run(self.r0, frame, 1).unwrap();
        (result.verdict, result.frame)
    }

    /// Runs a frame that must leave under this reason, unchanged.
    fn leaves(&self, frame: &[u8], name: &str) {
        let before = self.count(name);
        let (verdict, after) = self.run(frame);
        assert_eq!(self.count(name), before + 1, "{name}: {:?}", self.counts());
        let reason = REASONS.iter().find(|reason| reason.name == name).unwrap();
        assert_eq!(verdict, if reason.punted { PASS } else { DROP }, "{name}");
        assert_eq!(after, frame, "{name}: changed");
    }

    fn count(&self, name: &str) -> u64 {
        self.forwarder
            .port_counters()
            .iter()
            .map(|port| port.reason(name))
            .sum()
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        self.forwarder
            .port_counters()
            .iter()
            .flat_map(|port| {
                port.reasons()
                    .map(|(reason, frames)| (reason.name, frames))
                    .collect::<Vec<_>>()
            })
            .collect()
    }
}

/// A frame to the port's station, made by the generator (whose own test shares no code with it).
fn frame(destination: &str, length: u16, vlan: Option<u16>) -> Vec<u8> {
    let destination: IpAddr = destination.parse().unwrap();
    let (source, destinations) = match destination {
        IpAddr::V4(address) => (
            IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1)),
            Destinations::V4(vec![address]),
        ),
        IpAddr::V6(address) => (
            "2001:db8:18::1".parse().unwrap(),
            Destinations::V6(vec![address]),
        ),
    };
    let frames = Frames {
        source_mac: PEER,
        destination_mac: if vlan.is_some() {
            VLAN_STATION
        } else {
            STATION
        },
        vlan,
        source,
        destinations,
        source_port: 1024,
        source_ports: 1,
        destination_port: 9,
        ttl: 64,
        lengths: vec![length],
        stream: 1,
        stamp_every: 0,
    };
    Generator::new(1, &frames).unwrap().preview().unwrap()
}

/// Changes bytes of the IPv4 header behind an untagged Ethernet header and mends its checksum.
fn with_ipv4(mut frame: Vec<u8>, change: impl Fn(&mut [u8])) -> Vec<u8> {
    let length = usize::from(frame[14] & 15) * 4;
    change(&mut frame[14..]);
    frame[24..26].fill(0);
    let sum = !checksum::fold(checksum::sum(&frame[14..14 + length]));
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame
}

/// What the frame must look like when it leaves by `entry`, made with crate wire.
fn expected(frame: &[u8], entry: &NextHopEntry) -> Vec<u8> {
    let tagged = frame[12..14] == [0x81, 0];
    let at = if tagged { 16 } else { 12 };
    let mut out = Vec::new();
    out.extend_from_slice(&entry.destination_mac);
    out.extend_from_slice(&entry.source_mac);
    if entry.vlan != 0 {
        out.extend_from_slice(&[0x81, 0]);
        out.extend_from_slice(&entry.vlan.to_be_bytes());
    }
    let start = out.len() + 2;
    out.extend_from_slice(&frame[at..]);
    if frame[at..at + 2] == [0x08, 0] {
        out[start + 8] -= 1;
        out[start + 10..start + 12].fill(0);
        let sum = !checksum::fold(checksum::sum(&out[start..start + 20]));
        out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
    } else {
        out[start + 7] -= 1;
    }
    out
}

#[test]
fn both_programs_are_accepted_by_the_verifier() {
    in_namespace(|| {
        veth("r0", "p0");
        for lookup in [Lookup::Own, Lookup::Kernel] {
            let mut forwarder = Forwarder::new(lookup, Capacity::default()).unwrap();
            for request in [Request::Native, Request::Generic] {
                forwarder.attach("r0", request).unwrap();
            }
        }
    });
}

#[test]
fn frames_are_rewritten_byte_for_byte() {
    in_namespace(|| {
        let bench = Bench::new();
        let mut forwarded = 0;
        for (destination, vlan, next_hop) in [
            ("198.19.1.2", None, ADJACENCY),
            ("198.20.1.2", None, TAGGED),
            ("198.19.1.2", Some(100), TAGGED),
            ("198.20.1.2", Some(0xa064), ADJACENCY),
            ("2001:db8:19::2", None, ADJACENCY),
            ("2001:db8:20::2", None, TAGGED),
        ] {
            for length in [82, 83, 1518] {
                let frame = frame(
                    destination,
                    length - if vlan.is_some() { 0 } else { 4 },
                    vlan,
                );
                let (verdict, after) = bench.run(&frame);
                assert_eq!(
                    verdict,
                    REDIRECT,
                    "{destination} {vlan:?} {length}: {:?}",
                    bench.counts()
                );
                assert_eq!(
                    after,
                    expected(&frame, &bench.forwarder.next_hop(next_hop)),
                    "{destination} {vlan:?}"
                );
                forwarded += 1;
            }
        }
        // Every time to live and many checksums.
        for ttl in 2..=255 {
            for identification in [0, 0x00ff, 0xfe00, 0xffff] {
                let frame = with_ipv4(frame_short(), |ip| {
                    ip[8] = ttl;
                    ip[4..6].copy_from_slice(&u16::to_be_bytes(identification));
                });
                let (verdict, after) = bench.run(&frame);
                assert_eq!(verdict, REDIRECT);
                assert_eq!(
                    after,
                    expected(&frame, &bench.forwarder.next_hop(ADJACENCY))
                );
                forwarded += 1;
            }
        }
        let carried: u64 = bench
            .forwarder
            .carried()
            .iter()
            .map(|carried| carried.frames)
            .sum();
        assert_eq!(carried, forwarded);
        for port in bench.forwarder.port_counters() {
            assert_eq!(
                port.received,
                port.forwarded + port.reasons.iter().sum::<u64>()
            );
        }
    });
}

fn frame_short() -> Vec<u8> {
    frame("198.19.1.2", 60, None)
}

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
                    mac: STATION,
                    table: MAIN,
                    vlans: vec![],
                },
            )
            .unwrap();
        bench.leaves(&plain, "port-disabled");
        for port in bench.forwarder.port_counters() {
            assert_eq!(
                port.received,
                port.forwarded + port.reasons.iter().sum::<u64>()
            );
        }
    });
}

/// Leaves only the pseudo-header's sum in the UDP checksum, as a sender with checksum offload does.
fn with_partial_checksum(mut frame: Vec<u8>) -> Vec<u8> {
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
fn a_group_keeps_flows_and_moves_only_those_of_a_lost_member() {
    in_namespace(|| {
        let mut bench = Bench::new();
        let flows: Vec<_> = (0..256_u16)
            .map(|port| {
                let mut frame = frame("203.0.113.17", 60, None);
                frame[34..36].copy_from_slice(&port.to_be_bytes());
                frame[40..42].fill(0);
                frame
            })
            .collect();
        let ways = |bench: &Bench| -> Vec<u32> {
            flows
                .iter()
                .map(|flow| u32::from(bench.run(flow).1[5]))
                .collect()
        };
        let all = ways(&bench);
        let tagged = all.iter().filter(|&&last| last == 3).count();
        assert!(
            (64..192).contains(&tagged),
            "{tagged} of 256 flows take one of two members"
        );
        assert_eq!(ways(&bench), all, "a flow stays");

        // One bucket of the second member goes to a third.
        let third = NextHopEntry {
            destination_mac: [2, 0, 0, 0, 1, 77],
            ..adjacency(bench.r1, 0)
        };
        bench.forwarder.set_next_hop(NextHop(12), third).unwrap();
        bench
            .forwarder
            .set_group(NextHop(9), &[ADJACENCY, NextHop(12), ADJACENCY, TAGGED])
            .unwrap();
        assert_eq!(bench.forwarder.buckets(NextHop(9))[1], NextHop(12));
        for (before, after) in all.iter().zip(ways(&bench)) {
            assert!(
                *before == after || (*before == 3 && after == 77),
                "{before} -> {after}"
            );
        }
    });
}

#[test]
fn an_egress_that_takes_no_redirected_frames_is_left_to_the_kernel() {
    in_namespace(|| {
        let mut bench = Bench::new();
        common::run("ethtool -K p1 gro off");
        bench.forwarder.refresh_ports().unwrap();
        bench.leaves(&frame_short(), "no-redirect");
        common::run("ethtool -K p1 gro on");
        bench.forwarder.refresh_ports().unwrap();
        assert_eq!(bench.run(&frame_short()).0, REDIRECT);

        bench.forwarder.detach(bench.r1);
        bench.leaves(&frame_short(), "unknown-port");
        bench.forwarder.attach("r1", Request::Any).unwrap();
        assert_eq!(bench.run(&frame_short()).0, REDIRECT);
    });
}

#[test]
fn replaced_state_is_reused_after_its_grace_period() {
    in_namespace(|| {
        let mut bench = Bench {
            forwarder: Forwarder::new(
                Lookup::Own,
                Capacity {
                    slots: 8,
                    main_v4: 256,
                    main_v6: 256,
                    more_tables: 0,
                    ..Capacity::default()
                },
            )
            .unwrap(),
            r0: 0,
            r1: 0,
        };
        // Far more changes than there are slots and words: each waits for room that an earlier one leaves.
        for turn in 0..20_u16 {
            let entry = NextHopEntry {
                kind: Kind::Punt,
                stamp: u32::from(turn),
                ..NextHopEntry::default()
            };
            bench.forwarder.set_next_hop(NextHop(1), entry).unwrap();
            let routes: Vec<_> = (0..6_u32)
                .map(|i| {
                    (
                        Prefix::containing(0x0a00_0000 + (i << 8) + u32::from(turn), 32),
                        NextHop(1 + turn),
                    )
                })
                .collect();
            bench.forwarder.set_routes_v4(MAIN, &routes).unwrap();
            assert_eq!(bench.forwarder.next_hop(NextHop(1)).stamp, u32::from(turn));
            assert_eq!(
                bench
                    .forwarder
                    .lookup_v4(MAIN, 0x0a00_0000 + u32::from(turn)),
                NextHop(1 + turn)
            );
            let gone: Vec<_> = routes
                .iter()
                .map(|&(prefix, _)| (prefix, NextHop::NONE))
                .collect();
            bench.forwarder.set_routes_v4(MAIN, &gone).unwrap();
        }
    });
}

#[test]
fn the_search_in_the_program_equals_the_tables() {
    in_namespace(|| {
        let mut bench = Bench::new();
        // One adjacency for each next hop, told apart by its address.
        let marks: Vec<_> = (0..200_u16).map(|mark| NextHop(1000 + mark)).collect();
        for &id in &marks {
            let entry = NextHopEntry {
                destination_mac: [2, 0, 0, 9, (id.0 >> 8) as u8, id.0 as u8],
                ..adjacency(bench.r1, 0)
            };
            bench.forwarder.set_next_hop(id, entry).unwrap();
        }
        let (table, what) = prefixes();
        println!(
            "{} IPv4 and {} IPv6 prefixes ({what})",
            table.v4.len(),
            table.v6.len()
        );
        let mut random = fib::generated::Random::new(7);
        let mut mark = || marks[random.below(marks.len())];
        let v4: Vec<_> = table.v4.iter().map(|&prefix| (prefix, mark())).collect();
        let v6: Vec<_> = table.v6.iter().map(|&prefix| (prefix, mark())).collect();
        for part in v4.chunks(4096) {
            bench.forwarder.set_routes_v4(MAIN, part).unwrap();
        }
        for part in v6.chunks(4096) {
            bench.forwarder.set_routes_v6(MAIN, part).unwrap();
        }

        let seen = |frame: &[u8]| {
            let (verdict, after) = bench.run(frame);
            match verdict {
                REDIRECT => u16::from_be_bytes([after[4], after[5]]),
                _ => 0,
            }
        };
        let mut hits = 0;
        // Without UDP checksum: else one address in 65,536 makes it look partial.
        let mut frame4 = frame_short();
        frame4[40..42].fill(0);
        let boundaries = v4
            .iter()
            .step_by(v4.len() / 6_000 + 1)
            .flat_map(|(prefix, _)| {
                [
                    prefix.address(),
                    prefix.last(),
                    prefix.address().wrapping_sub(1),
                    prefix.last().wrapping_add(1),
                ]
            });
        let anywhere = fib::generated::addresses_anywhere::<u32>(3, 20_000);
        for address in boundaries.chain(anywhere) {
            if ipv4::destination_is_martian(address) || ipv4::destination_is_group(address) {
                continue;
            }
            frame4[30..34].copy_from_slice(&address.to_be_bytes());
            let mended = with_ipv4(frame4.clone(), |_| {});
            let wanted = bench.forwarder.lookup_v4(MAIN, address).0;
            let got = seen(&mended);
            let is_mark = wanted >= 1000;
            assert_eq!(
                got,
                if is_mark { wanted } else { got },
                "{}",
                Ipv4Addr::from(address)
            );
            assert!(is_mark || got < 1000, "{}", Ipv4Addr::from(address));
            hits += usize::from(is_mark);
        }
        assert!(hits > 5_000, "{hits} addresses hit");

        hits = 0;
        let mut frame6 = frame("2001:db8:19::2", 78, None);
        frame6[60..62].fill(0);
        let boundaries = v6
            .iter()
            .step_by(v6.len() / 6_000 + 1)
            .flat_map(|(prefix, _)| {
                [
                    prefix.address(),
                    prefix.last(),
                    prefix.address().wrapping_sub(1),
                    prefix.last().wrapping_add(1),
                ]
            });
        for address in boundaries.chain(fib::generated::addresses_anywhere::<u128>(4, 5_000)) {
            if ipv6::destination_is_martian(address) || ipv6::destination_is_group(address) {
                continue;
            }
            frame6[38..54].copy_from_slice(&address.to_be_bytes());
            let wanted = bench.forwarder.lookup_v6(MAIN, address).0;
            let got = seen(&frame6);
            assert!(
                got == wanted || (wanted < 1000 && got < 1000),
                "{address:x}: {got} for {wanted}"
            );
            hits += usize::from(wanted >= 1000);
        }
        assert!(hits > 5_000, "{hits} addresses hit");
    });
}

/// The Internet's table where there is one, else a generated one of its shape.
fn prefixes() -> (fib::prefix_file::Prefixes, &'static str) {
    let path = std::env::var_os("CORELANE_PREFIXES").map_or_else(
        || {
            std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../../shared/data/internet-prefixes.txt.gz")
        },
        std::path::PathBuf::from,
    );
    if path.exists() {
        let unpacked = std::process::Command::new("gzip")
            .arg("-dc")
            .arg(&path)
            .output()
            .unwrap();
        let table = fib::prefix_file::read(&unpacked.stdout[..], &path.to_string_lossy()).unwrap();
        return (table, "the Internet's");
    }
    println!(
        "skipped: the Internet's table (set CORELANE_PREFIXES to a file of prefixes); a generated one instead"
    );
    (fib::generated::internet(1), "generated")
}
