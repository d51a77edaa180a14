//! Frames that wait at a veth are searched for together, and each goes where it would go alone.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use bpf::attach::index_of;
use fastpath::generate::{Destinations, Frames, Generator};
use fib::generated::addresses_hitting;
use fib::{NextHop, NextHopEntry, Prefix};
use wire::{ipv4, ipv6};

use super::bench::{Bench, MAIN, PEER, STATION, adjacency, v4};
use crate::common::in_namespace;

/// As many as the generator hands over at once.
const BURST: usize = 64;
const BURSTS: usize = 100;
/// More than a table needs to count as large.
const ROUTES: usize = 40_000;
const FIRST: u16 = 1000;
const MARKS: usize = 200;

#[test]
fn each_frame_of_a_burst_goes_where_it_would_go_alone() {
    in_namespace(|| {
        let table = fib::generated::internet(1);
        let mut bench = Bench::new();
        for mark in 0..MARKS as u16 {
            let entry = adjacency(bench.r1, 0);
            bench
                .forwarder
                .set_next_hop(NextHop(FIRST + mark), NextHopEntry { stamp: 1, ..entry })
                .unwrap();
        }
        // What the bench has would take part.
        for route in ["198.19.0.0/16", "198.20.0.0/16"] {
            let gone = (v4(route), NextHop::NONE);
            bench.forwarder.set_routes_v4(MAIN, &[gone]);
        }
        let mut random = figures::Random::new(7);
        let some = |prefixes: usize| prefixes / ROUTES + 1;
        let routes: Vec<_> = table
            .v4
            .iter()
            .step_by(some(table.v4.len()))
            .copied()
            .collect();
        let given: Vec<_> = routes.iter().map(|&one| (one, mark(&mut random))).collect();
        bench.forwarder.set_routes_v4(MAIN, &given);
        let addresses: Vec<_> = addresses_hitting(3, &routes, BURST * BURSTS * 2)
            .into_iter()
            .filter(|&one| !ipv4::destination_is_martian(one) && !ipv4::destination_is_group(one))
            .take(BURST * BURSTS)
            .collect();
        let all = addresses.iter().map(|&one| Ipv4Addr::from(one)).collect();
        send(
            &mut bench,
            &frames(Destinations::V4(all)),
            |bench, turn, burst| {
                let some = Prefix::containing(addresses[turn * BURST], 24);
                bench.forwarder.set_routes_v4(MAIN, &[(some, mark(burst))]);
            },
            |bench, turn| bench.forwarder.lookup_v4(MAIN, addresses[turn]),
        );

        let routes: Vec<_> = table
            .v6
            .iter()
            .step_by(some(table.v6.len()))
            .copied()
            .collect();
        let given: Vec<_> = routes.iter().map(|&one| (one, mark(&mut random))).collect();
        bench.forwarder.set_routes_v6(MAIN, &given);
        let addresses: Vec<_> = addresses_hitting(4, &routes, BURST * BURSTS * 2)
            .into_iter()
            .filter(|&one| !ipv6::destination_is_martian(one) && !ipv6::destination_is_group(one))
            .take(BURST * BURSTS)
            .collect();
        let all = addresses.iter().map(|&one| Ipv6Addr::from(one)).collect();
        send(
            &mut bench,
            &frames(Destinations::V6(all)),
            |bench, turn, burst| {
                let some = Prefix::containing(addresses[turn * BURST], 64);
                bench.forwarder.set_routes_v6(MAIN, &[(some, mark(burst))]);
            },
            |bench, turn| bench.forwarder.lookup_v6(MAIN, addresses[turn]),
        );
    });
}

fn mark(random: &mut figures::Random) -> NextHop {
    NextHop(FIRST + random.below(MARKS) as u16)
}

fn frames(destinations: Destinations) -> Frames {
    let is_v6 = matches!(destinations, Destinations::V6(_));
    Frames {
        source_mac: PEER,
        destination_mac: STATION,
        vlan: None,
        source: if is_v6 {
            "2001:db8:18::1".parse().unwrap()
        } else {
            IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1))
        },
        destinations,
        source_port: 1024,
        source_ports: 1,
        destination_port: 9,
        ttl: 64,
        lengths: vec![if is_v6 { 78 } else { 60 }],
        stream: 1,
        stamp_every: 0,
    }
}

/// Sends the frames in bursts, with a change of routes before each, and compares what next hops
/// carried with what the table says. One frame in 65,536 has a checksum that looks unfinished.
fn send(
    bench: &mut Bench,
    frames: &Frames,
    change: impl Fn(&mut Bench, usize, &mut figures::Random),
    lookup: impl Fn(&Bench, usize) -> NextHop,
) {
    let mut generator = Generator::new(index_of("p0").unwrap(), frames).unwrap();
    let mut random = figures::Random::new(11);
    let mut wanted = vec![0_u64; MARKS];
    let carried = |bench: &Bench| -> Vec<u64> {
        let of = |mark| bench.forwarder.carried(NextHop(FIRST + mark as u16)).frames;
        (0..MARKS).map(of).collect()
    };
    let received = |bench: &Bench| -> u64 {
        let counts = bench.forwarder.port_counters();
        counts.values().map(|count| count.received).sum()
    };
    let (before, mut seen) = (carried(bench), received(bench));
    let partial = bench.count("partial-checksum");
    for turn in 0..BURSTS {
        change(bench, turn, &mut random);
        for frame in turn * BURST..(turn + 1) * BURST {
            let NextHop(number) = lookup(bench, frame);
            if let Some(count) = number.checked_sub(FIRST) {
                wanted[usize::from(count)] += 1;
            }
        }
        generator.send(BURST as u32).unwrap();
        seen += BURST as u64;
        let late = Instant::now() + Duration::from_secs(5);
        while received(bench) < seen {
            assert!(Instant::now() < late, "frames do not arrive");
            std::thread::sleep(Duration::from_micros(50));
        }
    }
    let partial = bench.count("partial-checksum") - partial;
    let got: Vec<_> = carried(bench)
        .iter()
        .zip(&before)
        .map(|(now, then)| now - then)
        .collect();
    let missing: u64 = wanted
        .iter()
        .zip(&got)
        .map(|(one, other)| one.abs_diff(*other))
        .sum();
    assert!(
        missing <= partial,
        "{missing} frames, {partial} to the kernel: {got:?} for {wanted:?}"
    );
    let known: u64 = wanted.iter().sum();
    assert!(
        known > (BURST * BURSTS) as u64 * 9 / 10,
        "{known} have a next hop"
    );
}
