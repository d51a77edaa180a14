//! No cache line is written by two CPUs for a packet: the programs' maps, after each kind of frame on one
//! CPU and the same on another. Alone in its process, whose maps are then those of one forwarder.

#[allow(dead_code, reason = "another test program uses the rest")]
#[path = "forwarder/bench.rs"]
mod bench;
mod common;

use std::collections::BTreeSet;

use bench::{ADJACENCY, Bench, MAIN, frame, settings, v4, vlan, with_ipv4};
use bpf::attach::Request;
use common::watch::{Line, Watch};
use fastpath::forward::{Accepts, Capacity, Place, PortSettings, ReversePath};
use host::{CoreId, Pinned};

/// Of each frame on each CPU.
const TIMES: usize = 5;

/// What these frames change on each of two CPUs.
fn written(bench: &Bench, cores: [CoreId; 2], frames: &[Vec<u8>]) -> [BTreeSet<Line>; 2] {
    let mut watch = Watch::maps(std::process::id());
    watch.changed();
    cores.map(|core| {
        let _pinned = Pinned::to(core).unwrap();
        for frame in frames.iter().cycle().take(TIMES * frames.len()) {
            bench.run(frame);
        }
        watch.changed()
    })
}

/// The maps that lines lie in, without their numbers.
fn names(lines: &BTreeSet<Line>) -> BTreeSet<&str> {
    let names = lines.iter().map(|line| line.0.split_whitespace().nth(1));
    names.flatten().collect()
}

fn forwarded_and_punted(place: Place, cores: [CoreId; 2]) {
    common::run("sysctl -qw net.ipv4.ip_forward=1");
    // A number of VLANs that fills no line.
    let capacity = Capacity {
        vlans: 1,
        ..Capacity::default()
    };
    let mut bench = Bench::at(place, capacity);
    // Sources are looked up, and remembered.
    let accepts = Accepts {
        reverse_path: ReversePath::Loose,
        ..Accepts::default()
    };
    let mut with_vlan = vlan(100, 7);
    with_vlan.accepts = accepts;
    let strict = PortSettings {
        accepts,
        vlans: vec![with_vlan],
        ..settings()
    };
    bench.forwarder.set_port(bench.r0, &strict).unwrap();
    for table in [MAIN, 7] {
        let back = [(v4("198.18.0.0/16"), ADJACENCY)];
        bench.forwarder.set_routes_v4(table, &back);
    }
    bench.forwarder.settle();
    bench.rest();

    let tagged = match place {
        Place::Xdp(_) => vec![frame("198.20.1.2", 64, Some(100))],
        // The kernel takes tags out of frames before.
        _ => vec![],
    };
    let frames = [
        frame("198.19.1.2", 60, None),
        frame("198.20.1.2", 60, None),
        frame("203.0.113.17", 60, None),
        frame("2001:db8:19::2", 78, None),
    ];
    let frames = [&frames[..], &tagged].concat();
    let [one, other] = written(&bench, cores, &frames);
    let mut wanted = BTreeSet::from(["counters", "carried", "remembered"]);
    if !tagged.is_empty() {
        wanted.insert("vlan_counters");
    }
    for lines in [&one, &other] {
        assert_eq!(names(lines), wanted, "{place:?}: {:?}", bench.counts());
    }
    let both: Vec<_> = one.intersection(&other).collect();
    assert!(both.is_empty(), "{place:?}: {both:?}");

    // A limit counts the frames of all CPUs: its bucket is the one thing that they share.
    let limits = "expired=1000, unresolved=1000, local=1000";
    bench.forwarder.set_punt_limits(&limits.parse().unwrap());
    let punted = [
        frame("203.0.113.13", 60, None),
        frame("203.0.113.12", 60, None),
        with_ipv4(frame("198.19.1.2", 60, None), |ip| ip[8] = 1),
    ];
    let [one, other] = written(&bench, cores, &punted);
    let both = one.intersection(&other).cloned().collect();
    assert_eq!(
        names(&both),
        BTreeSet::from(["policers", "unresolved"]),
        "{place:?}"
    );
}

#[test]
fn no_line_is_written_by_two_cpus_for_a_packet() {
    if common::cannot_run() || !needs::two_cores() {
        return;
    }
    let cores = host::allowed_cores().unwrap();
    let cores = [cores[0], cores[1]];
    for place in [Request::Native.into(), Place::Tc] {
        common::in_namespace(move || forwarded_and_punted(place, cores));
    }
}
