//! Frames that wait at a veth are searched for together, and each goes where it would go alone.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use bpf::attach::index_of;
use fastpath::generate::{Destinations, Frames, Generator};
use fib::generated::addresses_hitting;
use fib::{NextHop, NextHopEntry, Prefix};
use wire::{ipv4, ipv6};

use super::bench::{Bench, MAIN, PEER, STATION, adjacency, v4};
use crate::common::{in_namespace, run};

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
        let (mut bench, v4, v6) = filled();
        send(
            &mut bench,
            &frames_v4(&v4),
            |bench, turn, burst| {
                let some = Prefix::containing(v4[turn * BURST], 24);
                bench.forwarder.set_routes_v4(MAIN, &[(some, mark(burst))]);
            },
            |bench, turn| bench.forwarder.lookup_v4(MAIN, v4[turn]),
        );
        send(
            &mut bench,
            &frames_v6(&v6),
            |bench, turn, burst| {
                let some = Prefix::containing(v6[turn * BURST], 64);
                bench.forwarder.set_routes_v6(MAIN, &[(some, mark(burst))]);
            },
            |bench, turn| bench.forwarder.lookup_v6(MAIN, v6[turn]),
        );
    });
}

/// Two cores send into one ring. Some of what waits there is of the other family, and was searched for
/// as if it were not.
#[test]
fn frames_of_both_families_in_one_ring_have_their_own_answers() {
    if !needs::two_cores() {
        return;
    }
    in_namespace(|| {
        let (bench, v4, v6) = filled();
        run("ethtool -L p0 tx 1");
        run("ethtool -L r0 rx 1");
        let mut wanted = vec![0; MARKS];
        for &one in &v4 {
            count(&mut wanted, bench.forwarder.lookup_v4(MAIN, one));
        }
        for &one in &v6 {
            count(&mut wanted, bench.forwarder.lookup_v6(MAIN, one));
        }
        let before = Before::of(&bench);
        let mut generators = [frames_v4(&v4), frames_v6(&v6)]
            .map(|frames| Generator::new(index_of("p0").unwrap(), &frames).unwrap());
        let cores = host::cores::allowed_cores().unwrap();
        for turn in 1..=BURSTS {
            let start = Barrier::new(2);
            std::thread::scope(|scope| {
                for (generator, &core) in generators.iter_mut().zip(&cores) {
                    let start = &start;
                    scope.spawn(move || {
                        host::cores::bind(0, &[core]).unwrap();
                        start.wait();
                        generator.send(BURST as u32).unwrap();
                    });
                }
            });
            before.wait(&bench, 2 * turn * BURST);
        }
        before.compare(&bench, &wanted);
    });
}

/// A forwarder with large tables and nothing else in them, and addresses that have a route there.
fn filled() -> (Bench, Vec<u32>, Vec<u128>) {
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

    let routes = some(&table.v4);
    let given: Vec<_> = routes.iter().map(|&one| (one, mark(&mut random))).collect();
    bench.forwarder.set_routes_v4(MAIN, &given);
    let first = addresses_hitting(3, &routes, BURST * BURSTS * 2)
        .into_iter()
        .filter(|&one| !ipv4::destination_is_martian(one) && !ipv4::destination_is_group(one))
        .take(BURST * BURSTS)
        .collect();

    let routes = some(&table.v6);
    let given: Vec<_> = routes.iter().map(|&one| (one, mark(&mut random))).collect();
    bench.forwarder.set_routes_v6(MAIN, &given);
    let second = addresses_hitting(4, &routes, BURST * BURSTS * 2)
        .into_iter()
        .filter(|&one| !ipv6::destination_is_martian(one) && !ipv6::destination_is_group(one))
        .take(BURST * BURSTS)
        .collect();
    (bench, first, second)
}

/// As many of the prefixes, from all over.
fn some<T: Copy>(prefixes: &[T]) -> Vec<T> {
    let every = prefixes.len() / ROUTES + 1;
    prefixes.iter().step_by(every).copied().collect()
}

fn mark(random: &mut figures::Random) -> NextHop {
    NextHop(FIRST + random.below(MARKS) as u16)
}

fn frames_v4(addresses: &[u32]) -> Frames {
    let all = addresses.iter().map(|&one| Ipv4Addr::from(one)).collect();
    frames(Destinations::V4(all))
}

fn frames_v6(addresses: &[u128]) -> Frames {
    let all = addresses.iter().map(|&one| Ipv6Addr::from(one)).collect();
    frames(Destinations::V6(all))
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
/// carried with what the table says.
fn send(
    bench: &mut Bench,
    frames: &Frames,
    change: impl Fn(&mut Bench, usize, &mut figures::Random),
    lookup: impl Fn(&Bench, usize) -> NextHop,
) {
    let mut generator = Generator::new(index_of("p0").unwrap(), frames).unwrap();
    let mut random = figures::Random::new(11);
    let mut wanted = vec![0_u64; MARKS];
    let before = Before::of(bench);
    for turn in 0..BURSTS {
        change(bench, turn, &mut random);
        for frame in turn * BURST..(turn + 1) * BURST {
            count(&mut wanted, lookup(bench, frame));
        }
        generator.send(BURST as u32).unwrap();
        before.wait(bench, (turn + 1) * BURST);
    }
    before.compare(bench, &wanted);
}

fn count(wanted: &mut [u64], NextHop(number): NextHop) {
    if let Some(mark) = number.checked_sub(FIRST) {
        wanted[usize::from(mark)] += 1;
    }
}

fn carried(bench: &Bench) -> Vec<u64> {
    let of = |mark| bench.forwarder.carried(NextHop(FIRST + mark as u16)).frames;
    (0..MARKS).map(of).collect()
}

fn received(bench: &Bench) -> u64 {
    let counts = bench.forwarder.port_counters();
    counts.values().map(|count| count.received).sum()
}

/// What was counted before frames were sent.
struct Before {
    carried: Vec<u64>,
    received: u64,
    partial: u64,
}

impl Before {
    fn of(bench: &Bench) -> Self {
        Self {
            carried: carried(bench),
            received: received(bench),
            partial: bench.count("partial-checksum"),
        }
    }

    /// Waits until so many frames have arrived.
    fn wait(&self, bench: &Bench, frames: usize) {
        let late = Instant::now() + Duration::from_secs(5);
        while received(bench) < self.received + frames as u64 {
            assert!(Instant::now() < late, "frames do not arrive");
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// Compares what next hops carried with what they should. One frame in 65,536 has a checksum that
    /// looks unfinished.
    fn compare(&self, bench: &Bench, wanted: &[u64]) {
        let partial = bench.count("partial-checksum") - self.partial;
        let now = carried(bench);
        let got: Vec<_> = now.iter().zip(&self.carried).map(|(n, b)| n - b).collect();
        let differences = wanted
            .iter()
            .zip(&got)
            .map(|(one, other)| one.abs_diff(*other));
        let missing: u64 = differences.sum();
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
}
