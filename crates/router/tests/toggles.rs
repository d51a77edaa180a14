//! What goes to the kernel and comes back a hundred times under traffic: a family, a port, a VLAN,
//! a table. All traffic has a route, and a shorter prefix covers it that leads to another
//! neighbour: it must not get a frame. Needs root; says so and passes otherwise.
//!
//! VLAN and VRF are the mirror's alone, so that a kernel that has neither does: while they are its,
//! it drops the tagged frames.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bpf::attach::Request;
use fastpath::forward::{Accepts, Capacity};
use fastpath::generate::{Destinations, Frames, Generator};
use fastpath::sink::{Checks, Sink};
use host::bed::{Bed, side};
use router::control_plane::follower::Follower;
use router::control_plane::mirror::Mirror;
use router::control_plane::model::{Event, Link, LinkKind, Placement};
use router::engine::{self, EngineKind, Require, SocketOptions};

use crate::mirror::lab::{hop, in_table, link, way};

const TOGGLES: usize = 100;
/// Of a table: an emptied one waits for a grace period before it is filled again.
const TABLE_TOGGLES: usize = 10;
/// Routes beside, so that filling and emptying a table takes a while.
const ROUTES: u32 = 1000;
const VRF_TABLE: u32 = 100;
const VRF: u32 = 9000;
const VLAN: u32 = 9001;
const VID: u16 = 30;
/// The way of all traffic leads to b, the shorter prefix to c.
const WAYS: [(&str, &str, &str); 2] = [
    ("198.19.0.0/16", "198.0.0.0/8", "10.{}.0.2"),
    ("2001:db8:19::/48", "2001:d00::/24", "2001:db8:{}::2"),
];

fn lay() -> Bed {
    let mut plan = Bed::plan().forwarding("r");
    for (number, host) in ["a", "b", "c"].into_iter().enumerate() {
        let router = side("r", &format!("r{number}"))
            .address(format!("10.{number}.0.1/24"))
            .address(format!("2001:db8:{number}::1/64"))
            .neighbour(format!("10.{number}.0.2"))
            .neighbour(format!("2001:db8:{number}::2"));
        plan = plan.cable(router, side(host, "e"));
    }
    for (right, wrong, neighbour) in WAYS {
        for (prefix, number) in [(right, "1"), (wrong, "2")] {
            let via = neighbour.replace("{}", number);
            plan = plan.ip("r", format!("route replace {prefix} via {via}"));
        }
    }
    plan.lay().unwrap()
}

/// Counts the traffic that comes to a host.
fn sink(bed: &Bed, host: &str) -> Sink {
    let checks = Checks {
        sequence: false,
        latency: false,
        ..Checks::ALL
    };
    let mut sink = Sink::new(checks).unwrap();
    let place = bed.namespace(host).unwrap();
    let attached = place.enter(|| sink.attach("e", Request::Native)).unwrap();
    attached.unwrap();
    sink
}

/// From host a: IPv4, IPv6, tagged IPv4.
fn generators(bed: &Bed) -> Vec<Generator> {
    let end = bed.end("a", "e").unwrap();
    let station = bed.end("r", "r0").unwrap().mac;
    let kinds = [
        ("198.18.0.1", "198.19.1.2", None),
        ("2001:db8:18::1", "2001:db8:19::2", None),
        ("198.18.0.1", "198.19.1.2", Some(VID)),
    ];
    let generator = |(stream, (source, destination, vlan)): (usize, (&str, &str, _))| {
        let destinations = match destination.parse().unwrap() {
            IpAddr::V4(address) => Destinations::V4(vec![address]),
            IpAddr::V6(address) => Destinations::V6(vec![address]),
        };
        let frames = Frames {
            source_mac: end.mac,
            destination_mac: station,
            vlan,
            source: source.parse().unwrap(),
            destinations,
            source_port: 1024,
            source_ports: 16,
            destination_port: 9,
            ttl: 64,
            lengths: vec![100],
            stream: stream as u16,
            stamp_every: 0,
        };
        Generator::new(end.index, &frames).unwrap()
    };
    let all = || kinds.into_iter().enumerate().map(generator).collect();
    end.namespace.enter(all).unwrap()
}

/// Sends until it is dropped.
struct Traffic<'a> {
    stop: &'a AtomicBool,
    bursts: &'a AtomicU64,
}

impl Traffic<'_> {
    /// Until all of a burst has gone its way.
    fn wait(&self) {
        let wanted = self.bursts.load(Ordering::Acquire) + 2;
        let end = Instant::now() + Duration::from_secs(10);
        while self.bursts.load(Ordering::Acquire) < wanted {
            assert!(Instant::now() < end, "nobody sends any more");
            std::thread::yield_now();
        }
    }
}

impl Drop for Traffic<'_> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
    }
}

fn send(generators: &mut [Generator], stop: &AtomicBool, bursts: &AtomicU64) {
    while !stop.load(Ordering::Acquire) {
        for generator in &mut *generators {
            generator.send(16).unwrap();
        }
        bursts.fetch_add(1, Ordering::Release);
        std::thread::yield_now();
    }
}

/// What the kernel of this bed may not have: a VRF with routes, a VLAN sub-interface of r0.
fn add_vrf_and_vlan(mirror: &mut Mirror) {
    let index = |name: &str| mirror.around().link_named(name).unwrap().index;
    let (r0, links) = (index("r0"), [index("r1"), index("r2")]);
    let mac = mirror.around().links[&r0].mac;
    let kind = LinkKind::Vrf { table: VRF_TABLE };
    mirror.apply(Event::Link(Link {
        kind,
        ..link(VRF, "vrf")
    }));
    let kind = LinkKind::Vlan {
        parent: r0,
        vid: VID,
        has_priorities: false,
    };
    mirror.apply(Event::Link(Link {
        mac,
        kind,
        ..link(VLAN, "r0.30")
    }));
    let mut route = |prefix: &str, at: usize, neighbour: &str| {
        let via = neighbour.replace("{}", &(at + 1).to_string());
        let route = in_table(VRF_TABLE, prefix, way(&[hop(links[at], &via)]));
        mirror.apply(Event::Route(route, Placement::Last));
    };
    for (right, wrong, neighbour) in WAYS {
        route(right, 0, neighbour);
        route(wrong, 1, neighbour);
    }
    for number in 0..ROUTES {
        let prefix = format!("100.{}.{}.0/24", number >> 8, number & 255);
        route(&prefix, number as usize % 2, WAYS[0].2);
    }
}

fn enslave(mirror: &mut Mirror, name: &str, master: Option<u32>) {
    let link = mirror.around().link_named(name).unwrap().clone();
    mirror.apply(Event::Link(Link { master, ..link }));
}

fn names(all: &[&str]) -> HashSet<String> {
    all.iter().map(|name| (*name).to_owned()).collect()
}

/// Each to the kernel, or to another table, and back.
type Toggle = fn(&mut Mirror, bool);
const ALL: [(&str, usize, Toggle); 7] = [
    ("IPv4", TOGGLES, |mirror, on| {
        mirror.keep_families(on, false);
    }),
    ("both families", TOGGLES, |mirror, on| {
        mirror.keep_families(on, on);
    }),
    ("a setting of the port", TOGGLES, |mirror, on| {
        let accepts = Accepts {
            v4: !on,
            ..Accepts::default()
        };
        let links = mirror.around().receiving();
        let accepts: HashMap<_, _> = links.map(|link| (link.index, accepts)).collect();
        mirror.set_accepts(accepts);
    }),
    ("the port", TOGGLES, |mirror, on| {
        mirror.keep_links(names(if on { &["r0"] } else { &[] }));
    }),
    ("the VLAN", TOGGLES, |mirror, on| {
        mirror.keep_links(names(if on { &["r0.30"] } else { &[] }));
    }),
    ("the VLAN's VRF", TABLE_TOGGLES, |mirror, on| {
        enslave(mirror, "r0.30", on.then_some(VRF));
    }),
    ("the port's VRF", TABLE_TOGGLES, |mirror, on| {
        enslave(mirror, "r0", on.then_some(VRF));
    }),
];

fn toggle_all(kind: EngineKind) {
    let bed = lay();
    let (right, wrong) = (sink(&bed, "b"), sink(&bed, "c"));
    let ports = ["r0", "r1", "r2"].map(String::from);
    let mut generators = generators(&bed);
    let (stop, bursts) = (AtomicBool::new(false), AtomicU64::new(0));
    let work = || {
        let engine = engine::open(
            kind,
            &ports,
            Require::Native,
            SocketOptions::default(),
            Capacity::default(),
            true,
        )
        .unwrap();
        let mut follower = Follower::start(&ports, engine).unwrap();
        follower.change(add_vrf_and_vlan);
        std::thread::scope(|scope| {
            scope.spawn(|| send(&mut generators, &stop, &bursts));
            let traffic = Traffic {
                stop: &stop,
                bursts: &bursts,
            };
            for (name, times, toggle) in ALL {
                for _ in 0..times {
                    for on in [true, false] {
                        follower.change(|mirror| toggle(mirror, on));
                        traffic.wait();
                    }
                }
                let strayed = wrong.counts().unwrap().frames;
                assert_eq!(strayed, 0, "{kind:?}: {name}: by the shorter prefix");
            }
        });
        let counters = follower.engine().counters().unwrap();
        let ours: u64 = counters.ports.values().map(|port| port.forwarded).sum();
        let left = counters.reasons.iter();
        let left = left.filter(|count| count.reason == "port-disabled");
        (ours, left.map(|count| count.frames).sum::<u64>())
    };
    let (ours, left) = bed.namespace("r").unwrap().enter(work).unwrap();
    let arrived = right.counts().unwrap().frames;
    let all = bursts.load(Ordering::Acquire) * 48;
    assert!(
        ours > all / 4 && left > all / 64 && arrived > ours,
        "{kind:?}: {all} sent, {ours} forwarded, {left} the kernel's, {arrived} arrived"
    );
}

#[test]
fn nothing_takes_a_shorter_prefix_while_something_goes_to_the_kernel_and_comes_back() {
    if !needs::root("for network namespaces, eBPF") {
        return;
    }
    for kind in [EngineKind::Xdp, EngineKind::AfXdp] {
        toggle_all(kind);
    }
}
