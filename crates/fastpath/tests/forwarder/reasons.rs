//! Every reason of a program is told by a rehearsal, which `corelane explain` asks, and is found by
//! a capture. A reason that is neither here nor an exception fails.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use bpf::attach::{Request, index_of};
use bpf::sys::{Hook, Instruction, program_load, run_live};
use fastpath::forward::{
    Accepts, Capacity, Device, Forwarder, Place, PortSettings, PuntLimits, Reason, ReversePath,
};
use fib::{NextHop, NextHopEntry};

use super::bench::{
    Bench, MAIN, PEER, TAGGED, adjacency, frame, frame_short, settings, v4, v6, with_ipv4,
};
use super::capture::{Capture, Seen, left};
use super::leave::with_partial_checksum;
use super::punts::forward;
use crate::common::{self, in_namespace};

/// Reasons that no frame of this table has, and which test has them.
const ELSEWHERE: [(Reason, &str); 5] = [
    (
        Reason::Segments,
        "at tc, of many frames in one: crates/corelane/tests/router/settled.rs",
    ),
    (Reason::NoWorker, "with workers only: below"),
    (
        Reason::NoHeadroom,
        "of a frame with nothing in front: below; one that is run by hand has room",
    ),
    (
        Reason::TransmitFull,
        "found out behind the program: crates/corelane/tests/router/egress.rs",
    ),
    (
        Reason::EgressRefused,
        "found out behind the program: crates/corelane/tests/router/egress.rs",
    ),
];
/// What the documents have beside the program's reasons: counted by the kernel, for sockets of workers.
const OF_SOCKETS: &str = "socket-full";

const ONE_A_SECOND: &str = "routing=1, neighbour=1, local=1, group=1, expired=1, no-route=1, \
                            unresolved=8, options=1, too-big=1";

/// Of what ends of frames has been shown.
struct Ends {
    capture: Capture,
    covered: BTreeSet<Reason>,
}

impl Ends {
    fn new() -> Self {
        forward();
        let mut bench = Bench::at(Place::Xdp(Request::Native), Capacity::default());
        // A way back is one only where r0 takes redirected frames, too.
        common::run("ethtool -K p0 gro on");
        let device = Device::ask("r0", bench.r0).unwrap();
        bench.forwarder.set_device(bench.r0, device);
        let (back, narrow) = (NextHop(14), NextHop(15));
        let forwarder = &mut bench.forwarder;
        let narrow_way = NextHopEntry {
            mtu: 1400,
            ..adjacency(bench.r1, 0)
        };
        forwarder
            .set_next_hop(back, adjacency(bench.r0, 0))
            .unwrap();
        forwarder.set_next_hop(narrow, narrow_way).unwrap();
        forwarder.set_routes_v4(MAIN, &[(v4("203.0.113.15/32"), narrow)]);
        forwarder.set_routes_v6(MAIN, &[(v6("2001:db8:14::/48"), back)]);
        forwarder.settle();
        let shown: Vec<Reason> = Reason::ALL
            .iter()
            .copied()
            .filter(|reason| reason.is_shown())
            .collect();
        Self {
            capture: Capture::with(bench, left(&shown)),
            covered: BTreeSet::new(),
        }
    }

    /// Why a frame would be left now.
    fn told(&mut self, frame: &[u8]) -> Option<Reason> {
        let bench = &mut self.capture.bench;
        let told = bench.forwarder.rehearse(bench.r0, frame, &[]);
        told.unwrap().left
    }

    /// Sends frames that are alike, one of which must be shown with this reason.
    fn shows(&mut self, frame: &[u8], frames: usize, reason: Reason) {
        self.capture.send_all(&vec![frame.to_vec(); frames]);
        let seen = self.capture.seen();
        let snap = &frame[..frame.len().min(256)];
        let mut alike = seen.iter().filter(|one| one.bytes == snap);
        let is_shown = alike.any(|one| one.reason == Some(reason));
        assert!(is_shown, "{reason:?}: {seen:?}");
        self.covered.insert(reason);
    }

    fn is(&mut self, frame: &[u8], reason: Reason) {
        assert_eq!(self.told(frame), Some(reason), "{frame:02x?}");
        self.shows(frame, 1, reason);
    }

    /// Of a frame above a limit that others have used up: on a busy machine there is room again by
    /// the time that somebody asks.
    fn is_above(&mut self, frame: &[u8], reason: Reason) {
        let is_told = (0..10).any(|_| {
            self.shows(frame, 8, reason);
            self.told(frame) == Some(reason)
        });
        assert!(is_told, "{reason:?}");
    }

    fn set(&mut self, settings: &PortSettings) {
        let bench = &mut self.capture.bench;
        bench.forwarder.set_port(bench.r0, settings).unwrap();
    }
}

fn to(destination: &str) -> Vec<u8> {
    frame(destination, 78, None)
}

fn set(mut frame: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
    frame[at..at + bytes.len()].copy_from_slice(bytes);
    frame
}

fn with_options() -> Vec<u8> {
    with_ipv4(frame("198.19.1.2", 100, None), |ip| {
        ip[0] = 0x46;
        ip[20..24].copy_from_slice(&[1, 1, 1, 0]);
    })
}

/// Frames that are left by themselves.
fn left_by_themselves() -> Vec<(Vec<u8>, Reason)> {
    let (plain, plain6) = (frame_short(), to("2001:db8:19::2"));
    let ip = |change: fn(&mut [u8])| with_ipv4(frame_short(), change);
    let discovery = set(set(to("2001:db8:19::2"), 20, &[58, 255]), 54, &[135]);
    vec![
        (plain[..17].to_vec(), Reason::Runt),
        (set(plain.clone(), 0, &[0xff; 6]), Reason::LinkGroup),
        (set(plain.clone(), 0, &PEER), Reason::OtherStation),
        (frame("198.19.1.2", 64, Some(101)), Reason::UnknownVlan),
        (set(plain.clone(), 12, &[8, 6]), Reason::OtherProtocol),
        (plain[..33].to_vec(), Reason::Ipv4Truncated),
        (set(plain.clone(), 14, &[0x55]), Reason::Ipv4Version),
        (set(plain.clone(), 14, &[0x44]), Reason::Ipv4HeaderLength),
        (
            set(plain.clone(), 24, &[plain[24] ^ 1]),
            Reason::Ipv4Checksum,
        ),
        (ip(|ip| ip[3] = 19), Reason::Ipv4TotalLength),
        (ip(|ip| ip[3] = 47), Reason::Ipv4Overrun),
        (ip(|ip| ip[12] = 127), Reason::Ipv4SourceMartian),
        (to("127.0.0.1"), Reason::Ipv4DestinationMartian),
        (to("224.0.0.5"), Reason::Ipv4Group),
        (with_options(), Reason::Ipv4Options),
        (ip(|ip| ip[8] = 1), Reason::Ipv4TimeToLive),
        (plain6[..53].to_vec(), Reason::Ipv6Truncated),
        (set(plain6.clone(), 14, &[0x40]), Reason::Ipv6Version),
        (set(plain6.clone(), 19, &[25]), Reason::Ipv6Overrun),
        (
            set(plain6.clone(), 22, &[0xff, 2]),
            Reason::Ipv6SourceMartian,
        ),
        (to("fe80::1"), Reason::Ipv6DestinationMartian),
        (to("ff02::5"), Reason::Ipv6Group),
        (set(plain6.clone(), 20, &[0]), Reason::Ipv6HopByHop),
        (set(plain6, 21, &[1]), Reason::Ipv6HopLimit),
        (discovery, Reason::Ipv6Discovery),
        (with_partial_checksum(plain), Reason::PartialChecksum),
        (to("192.0.2.1"), Reason::NoRoute),
        (to("203.0.113.12"), Reason::Local),
        (to("203.0.113.13"), Reason::Unresolved),
        (to("203.0.113.3"), Reason::Punt),
        (to("203.0.113.4"), Reason::Blackhole),
        (to("203.0.113.5"), Reason::Unreachable),
        (to("203.0.113.6"), Reason::Prohibit),
        (to("203.0.113.8"), Reason::EmptyGroup),
        (to("203.0.113.7"), Reason::UnknownPort),
        (frame("203.0.113.15", 1500, None), Reason::TooBig),
        (to("2001:db8:14::2"), Reason::Hairpin),
    ]
}

/// Frames that a limit is for.
fn policed() -> Vec<(Vec<u8>, Reason)> {
    let everybody = |frame: Vec<u8>| set(frame, 0, &[0xff; 6]);
    let expired = with_ipv4(to("198.19.1.2"), |ip| ip[8] = 1);
    let large = with_ipv4(frame("203.0.113.15", 1500, None), |ip| ip[6] |= 0x40);
    let ospf = with_ipv4(to("224.0.0.5"), |ip| ip[9] = 89);
    vec![
        (set(ospf, 0, &[1, 0, 0x5e, 0, 0, 5]), Reason::PolicedRouting),
        (
            everybody(set(frame_short(), 12, &[8, 6])),
            Reason::PolicedNeighbour,
        ),
        (to("203.0.113.12"), Reason::PolicedLocal),
        (everybody(to("255.255.255.255")), Reason::PolicedGroup),
        (expired, Reason::PolicedExpired),
        (to("192.0.2.1"), Reason::PolicedNoRoute),
        (to("203.0.113.13"), Reason::PolicedUnresolved),
        (with_options(), Reason::PolicedOptions),
        (large, Reason::PolicedTooBig),
    ]
}

#[test]
fn every_reason_is_told_before_and_captured() {
    in_namespace(|| {
        let mut ends = Ends::new();
        for (frame, reason) in left_by_themselves() {
            ends.is(&frame, reason);
        }
        let limits: PuntLimits = ONE_A_SECOND.parse().unwrap();
        ends.capture.bench.forwarder.set_punt_limits(&limits);
        for (frame, reason) in policed() {
            ends.is_above(&frame, reason);
        }
        let limits: PuntLimits = "none".parse().unwrap();
        ends.capture.bench.forwarder.set_punt_limits(&limits);

        let plain = frame_short();
        common::run("ethtool -K p1 gro off");
        ends.capture.bench.ask_egress();
        ends.is(&plain, Reason::NoRedirect);
        common::run("ethtool -K p1 gro on");
        ends.capture.bench.ask_egress();
        ends.set(&PortSettings {
            accepts: Accepts {
                reverse_path: ReversePath::Strict,
                ..Accepts::default()
            },
            ..settings()
        });
        ends.is(&plain, Reason::UnverifiedSource);
        ends.set(&PortSettings {
            enabled: false,
            ..settings()
        });
        ends.is(&plain, Reason::PortDisabled);
        ends.set(&settings());
        let forwarder = &ends.capture.bench.forwarder;
        forwarder.vouch(Some(Duration::ZERO)).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        ends.is(&plain, Reason::Stale);

        for (reason, why) in ELSEWHERE {
            assert!(ends.covered.insert(reason), "{reason:?} is here: not {why}");
        }
        let all: BTreeSet<Reason> = Reason::ALL.iter().copied().collect();
        let missing: Vec<_> = all.difference(&ends.covered).collect();
        assert!(missing.is_empty(), "without a frame here: {missing:?}");
    });
}

/// The table of reasons in the documents has each of the program's once, and no other, with its fate.
#[test]
fn the_documents_have_the_reasons_of_the_program() {
    let page = include_str!("../../../../docs/router.md");
    let (_, table) = page.split_once("\n| reason | fate |").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let mut told = Vec::new();
    for row in table.lines().skip(2) {
        let mut cells = row.split('|').skip(1).map(str::trim);
        let (names, fate) = (cells.next().unwrap(), cells.next().unwrap());
        let names = names.split(", ").map(|name| name.trim_matches('`'));
        told.extend(names.map(|name| (name, fate)));
    }
    told.sort_unstable();
    let fate = |reason: &Reason| ["dropped", "kernel"][usize::from(reason.is_punted())];
    let known = Reason::ALL.iter().map(|one| (one.name(), fate(one)));
    let mut known: Vec<_> = known.chain([(OF_SOCKETS, "dropped")]).collect();
    known.sort_unstable();
    assert_eq!(told, known);
}

/// A program that gives `frame` to an interface, with as little room in front as a frame can have.
fn without_room(frame: &[u8], ifindex: u32) -> OwnedFd {
    // Of the 256 bytes in front of a frame, the kernel keeps 40 for itself.
    const BACK: i32 = 214;
    const ADJUST_HEAD: i32 = 44;
    const REDIRECT: i32 = 23;
    let one = |code, registers, offset, immediate| Instruction {
        code,
        registers,
        offset,
        immediate,
    };
    let words = (0_i16..).step_by(4).zip(frame.chunks_exact(4));
    let words = words.map(|(at, word)| {
        let word = i32::from_ne_bytes(word.try_into().unwrap());
        one(0x62, 1, at, word)
    });
    let words: Vec<_> = words.collect();
    let past = i16::try_from(words.len()).unwrap();
    let length = 4 * i32::from(past);
    let program = [
        // r6 is the context; the frame's beginning moves towards that of its buffer.
        vec![
            one(0xbf, 0x16, 0, 0),
            one(0xb7, 2, 0, -BACK),
            one(0x85, 0, 0, ADJUST_HEAD),
            one(0x55, 0, past + 9, 0),
            // r1 is the frame, r2 its end: is there room for all words?
            one(0x61, 0x61, 0, 0),
            one(0x61, 0x62, 4, 0),
            one(0xbf, 0x13, 0, 0),
            one(0x07, 3, 0, length),
            one(0x2d, 0x23, past + 4, 0),
        ],
        words,
        vec![
            one(0xb7, 1, 0, ifindex.cast_signed()),
            one(0xb7, 2, 0, 0),
            one(0x85, 0, 0, REDIRECT),
            one(0x95, 0, 0, 0),
            one(0xb7, 0, 0, 0),
            one(0x95, 0, 0, 0),
        ],
    ]
    .concat();
    let mut log = vec![0; 1 << 16];
    let loaded = program_load(Hook::Xdp, "back", &program, "Dual MIT/GPL", 0, 0, &mut log);
    loaded.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&log)))
}

#[test]
fn a_frame_without_room_for_a_tag_is_captured() {
    in_namespace(|| {
        let bench = Bench::new();
        let mut capture = Capture::with(bench, left(&[Reason::NoHeadroom]));
        let frame = frame("198.20.1.2", 60, None);
        let peer = index_of("p0").unwrap();
        let sender = without_room(&frame, peer);
        let lost = |capture: &Capture| capture.bench.count("no-headroom");
        let end = Instant::now() + Duration::from_secs(20);
        while lost(&capture) < 4 {
            assert!(Instant::now() < end, "{:?}", capture.bench.counts());
            run_live(sender.as_fd(), &[0; 60], 4, 4, 0).unwrap();
            std::thread::sleep(Duration::from_millis(10));
        }
        let seen = capture.seen();
        let is_it = |one: &Seen| one.reason == Some(Reason::NoHeadroom);
        assert!(!seen.is_empty() && seen.iter().all(is_it), "{seen:?}");
        // The same frame, run by hand, has the kernel's room in front: it would get its tag.
        let r0 = capture.bench.r0;
        let told = capture.bench.forwarder.rehearse(r0, &frame, &[TAGGED]);
        let told = told.unwrap();
        assert_eq!((told.left, told.next_hop), (None, Some(TAGGED)));
    });
}

#[test]
fn a_queue_without_a_worker_is_told_before_and_captured() {
    in_namespace(|| {
        forward();
        let forwarder = Forwarder::for_workers(Capacity::default(), 1, 1792, false).unwrap();
        let bench = Bench::of(forwarder, Place::Xdp(Request::Native));
        let mut ends = Ends {
            capture: Capture::with(bench, left(&[Reason::NoWorker])),
            covered: BTreeSet::new(),
        };
        ends.is(&frame_short(), Reason::NoWorker);
    });
}
