//! Does the engine answer what the kernel would? Every answer, now.
//!
//! The kernel's tables are read afresh, past the mirror, and flattened into ranges of addresses that share a route. For
//! each range the engine is asked for the first and the last address, from the same memory that frames are forwarded by;
//! then for the first address of every prefix that the mirror holds, which finds what should not be there; then for
//! addresses at random, for which the kernel is asked too (`ip route get`).
//!
//! "Punt" is never wrong, since the kernel then decides; it counts as a difference only where the kernel has a way out by
//! one of our ports to a neighbour whose address it knows: then the fast path misses something.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use fib::generated::Random;
use fib::next_hop::Kind;
use fib::{Address, IpPrefix, NextHop, NextHopEntry};

use super::family::{DEFAULT_TABLE, Family, LOCAL_TABLE};
use super::mirror::Mirror;
use super::model::{Event, Hop, ObjectKind, RouteKind, Way};
use super::netlink::socket::Socket;
use super::netlink::{Verdict, ask_route, dump_all};
use super::next_hops::HopKey;
use super::ranges::{KERNEL, Line, before, line, ranges};
use super::routed::Routed;
use super::surroundings::Surroundings;
use crate::engine::{Engine, MAIN_TABLE};

/// Differences that are described; beyond, they are only counted.
const DESCRIBED: usize = 50;
/// Addresses chosen at random, for each family and table.
const SAMPLES: usize = 4096;
/// Of these, so many are put to the kernel as well.
const ASKED: usize = 64;

/// An answer of the engine that is not the kernel's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Table looked up in.
    pub table: u32,
    /// Destination.
    pub address: IpAddr,
    /// What the kernel has.
    pub kernel: String,
    /// What the engine has.
    pub engine: String,
}

/// The result of a comparison.
#[derive(Debug, Clone, Default)]
pub struct Verification {
    /// Prefixes that the kernel has a route for in the tables compared, IPv4.
    pub routes_v4: u64,
    /// The same of IPv6.
    pub routes_v6: u64,
    /// Answers compared.
    pub compared: u64,
    /// Answers for which the kernel was asked one by one.
    pub asked: u64,
    /// Answers that differ.
    pub different: u64,
    /// The first of them.
    pub differences: Vec<Difference>,
    /// How long it took.
    pub took: Duration,
}

impl Verification {
    fn differs(&mut self, table: u32, address: IpAddr, kernel: String, engine: String) {
        self.different += 1;
        if self.differences.len() < DESCRIBED {
            self.differences.push(Difference {
                table,
                address,
                kernel,
                engine,
            });
        }
    }
}

/// What the kernel does with the addresses of a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Expected {
    /// What only the kernel can do; no route, too.
    Kernel,
    /// It depends on more than the destination, so that the prefix is the kernel's.
    Special,
    Blackhole,
    /// Destinations on the link itself.
    Connected(u32),
    /// Through one of these.
    Hops(Vec<HopKey>),
}

/// The kernel's state as dumped, past the mirror.
struct Dump {
    v4: HashMap<u32, Vec<Line<u32>>>,
    v6: HashMap<u32, Vec<Line<u128>>>,
    expected: Vec<Expected>,
    around: Surroundings,
}

/// Compares the engine with the kernel.
///
/// # Errors
/// When the kernel cannot be asked.
pub fn verify(
    mirror: &Mirror,
    engine: &dyn Engine,
    socket: &mut Socket,
) -> io::Result<Verification> {
    let began = Instant::now();
    let dump = read(mirror, socket)?;
    let mut result = Verification::default();
    for &domain in mirror.domains() {
        let mut check = Check {
            domain,
            expected: &dump.expected,
            around: &dump.around,
            engine,
            result: &mut result,
        };
        if mirror.v4().is_enabled() {
            let lookup = |address| engine.lookup_v4(domain, address);
            check.result.routes_v4 += check.family(mirror.v4(), &dump.v4, socket, lookup)?;
        }
        if mirror.v6().is_enabled() {
            let lookup = |address| engine.lookup_v6(domain, address);
            check.result.routes_v6 += check.family(mirror.v6(), &dump.v6, socket, lookup)?;
        }
    }
    result.took = began.elapsed();
    Ok(result)
}

fn read(mirror: &Mirror, socket: &mut Socket) -> io::Result<Dump> {
    let mut dump = Dump {
        v4: HashMap::new(),
        v6: HashMap::new(),
        expected: vec![Expected::Kernel],
        around: mirror.around().same_ports(),
    };
    let mut index = HashMap::from([(Expected::Kernel, KERNEL)]);
    let mut objects = HashMap::new();
    dump_all(socket, true, |event| match event {
        Event::Link(link) => {
            dump.around.links.insert(link.index, link);
        }
        Event::Neighbour(neighbour) => {
            dump.around
                .neighbours
                .insert((neighbour.link, neighbour.address), neighbour);
        }
        Event::Object(object) => {
            objects.insert(object.id, object.kind);
        }
        Event::Route(route, _) => {
            let wanted = expectation(&route.way, &objects);
            let number = index.get(&wanted).copied().unwrap_or_else(|| {
                let number = dump.expected.len() as u32;
                dump.expected.push(wanted.clone());
                index.insert(wanted, number);
                number
            });
            let (table, metric) = (route.table, route.way.metric);
            match route.destination {
                IpPrefix::V4(prefix) => dump
                    .v4
                    .entry(table)
                    .or_default()
                    .push(line(table, prefix, metric, number)),
                IpPrefix::V6(prefix) => dump
                    .v6
                    .entry(table)
                    .or_default()
                    .push(line(table, prefix, metric, number)),
            }
        }
        _ => {}
    })?;
    Ok(dump)
}

fn expectation(way: &Way, objects: &HashMap<u32, ObjectKind>) -> Expected {
    if way.special {
        return Expected::Special;
    }
    match way.kind {
        RouteKind::Blackhole => return Expected::Blackhole,
        RouteKind::Unicast => {}
        _ => return Expected::Kernel,
    }
    let hops: Vec<Hop> = if way.object == 0 {
        way.hops.as_slice().to_vec()
    } else {
        match objects.get(&way.object) {
            Some(ObjectKind::Hop(hop)) if hop.gateway.is_some() => vec![*hop],
            Some(ObjectKind::Blackhole) => return Expected::Blackhole,
            Some(ObjectKind::Group(members)) => {
                let hop = |number| match objects.get(number) {
                    Some(ObjectKind::Hop(hop)) => Some(*hop),
                    _ => None,
                };
                members
                    .iter()
                    .filter_map(|(number, _)| hop(number))
                    .collect()
            }
            _ => return Expected::Kernel,
        }
    };
    if let [
        Hop {
            link,
            gateway: None,
            ..
        },
    ] = hops[..]
    {
        return if way.mtu == 0 {
            Expected::Connected(link)
        } else {
            Expected::Kernel
        };
    }
    let key = |hop: &Hop| {
        Some(HopKey {
            link: hop.link,
            gateway: hop.gateway?,
            mtu: way.mtu,
        })
    };
    match hops.iter().map(key).collect::<Option<Vec<HopKey>>>() {
        Some(keys) if !keys.is_empty() => Expected::Hops(keys),
        _ => Expected::Kernel,
    }
}

struct Check<'a> {
    domain: u32,
    expected: &'a [Expected],
    around: &'a Surroundings,
    engine: &'a dyn Engine,
    result: &'a mut Verification,
}

impl Check<'_> {
    /// Compares one family of one domain; returns how many prefixes the kernel has in it.
    fn family<A: Routed>(
        &mut self,
        mirrored: &Family<A>,
        tables: &HashMap<u32, Vec<Line<A>>>,
        socket: &mut Socket,
        lookup: impl Fn(A) -> NextHop,
    ) -> io::Result<u64> {
        let mut used = vec![LOCAL_TABLE, self.domain];
        if self.domain == MAIN_TABLE {
            used.push(DEFAULT_TABLE);
        }
        let mut lines: Vec<Line<A>> = used
            .iter()
            .filter_map(|table| tables.get(table))
            .flatten()
            .copied()
            .collect();
        // Stable, so that routes of one prefix stay in the kernel's order.
        lines.sort_by_key(|line| (line.address, line.length, line.rank));
        let lines = self.settled(&lines);
        let prefixes = lines.len() as u64;
        let ranges = ranges(&lines);
        drop(lines);
        for (at, &(first, expected)) in ranges.iter().enumerate() {
            self.answer(first, expected, lookup(first));
            let last = ranges
                .get(at + 1)
                .map_or(A::from_left_aligned(u128::MAX), |next| before(next.0));
            if last != first {
                self.answer(last, expected, lookup(last));
            }
        }
        let expected_at = |address: A| {
            let after = ranges.partition_point(|range| range.0 <= address);
            after.checked_sub(1).map_or(KERNEL, |at| ranges[at].1)
        };
        for prefix in mirrored.prefixes(self.domain) {
            self.answer(
                prefix.address(),
                expected_at(prefix.address()),
                lookup(prefix.address()),
            );
        }
        let domain = self.domain;
        for (address, _, _) in mirrored.hosts().filter(|host| host.1 == domain) {
            self.answer(address, expected_at(address), lookup(address));
        }
        let mut random = Random::new(self.result.compared);
        for sample in 0..SAMPLES {
            let address = A::from_left_aligned(random.next_u128());
            self.answer(address, expected_at(address), lookup(address));
            if sample < ASKED && self.domain == MAIN_TABLE {
                self.ask(address, expected_at(address), socket)?;
            }
        }
        Ok(prefixes)
    }

    /// One line for each prefix, the one that the kernel uses.
    fn settled<A: Address>(&self, lines: &[Line<A>]) -> Vec<Line<A>> {
        let same = |one: &Line<A>, other: &Line<A>| {
            (one.address, one.length) == (other.address, other.length)
        };
        lines
            .chunk_by(same)
            .map(|equals| {
                let first = equals[0];
                let others = equals[1..].iter().filter(|other| other.rank == first.rank);
                let special = equals
                    .iter()
                    .any(|line| self.expected[line.expected as usize] == Expected::Special);
                let tie =
                    A::BITS == 128 && others.clone().any(|other| other.metric == first.metric);
                let is_kernels = special || tie || first.rank == 2;
                Line {
                    expected: if is_kernels { KERNEL } else { first.expected },
                    ..first
                }
            })
            .collect()
    }

    /// Compares one answer.
    fn answer<A: Routed>(&mut self, address: A, expected: u32, answer: NextHop) {
        // Destinations that no engine forwards need no answer.
        if !is_compared(address.to_ip()) {
            return;
        }
        self.result.compared += 1;
        let mut entries: Vec<NextHopEntry> = self
            .engine
            .buckets(answer)
            .into_iter()
            .collect::<std::collections::BTreeSet<NextHop>>()
            .into_iter()
            .map(|member| bare(self.engine.next_hop(member)))
            .collect();
        if entries.is_empty() {
            entries.push(bare(self.engine.next_hop(answer)));
        }
        let expected = &self.expected[expected as usize];
        let wanted: Vec<NextHopEntry> = match expected {
            Expected::Kernel | Expected::Special => Vec::new(),
            Expected::Blackhole => vec![super::surroundings::fixed_entry(Kind::Blackhole)],
            Expected::Connected(link) => {
                vec![self.around.entry(&HopKey {
                    link: *link,
                    gateway: address.to_ip(),
                    mtu: 0,
                })]
            }
            Expected::Hops(keys) => keys.iter().map(|key| self.around.entry(key)).collect(),
        };
        let decides =
            |entry: &&NextHopEntry| matches!(entry.kind, Kind::Adjacency | Kind::Blackhole);
        let wrong = entries
            .iter()
            .filter(decides)
            .any(|entry| !wanted.contains(entry));
        let missed = wanted
            .iter()
            .filter(decides)
            .any(|entry| !entries.contains(entry));
        if wrong || missed {
            let engine = entries.iter().map(describe).collect::<Vec<_>>().join(", ");
            let kernel = if wanted.is_empty() {
                "nothing to forward".to_owned()
            } else {
                wanted.iter().map(describe).collect::<Vec<_>>().join(", ")
            };
            self.result
                .differs(self.domain, address.to_ip(), kernel, engine);
        }
    }

    /// Asks the kernel itself whether what its dump says is what it does.
    fn ask<A: Routed>(&mut self, address: A, expected: u32, socket: &mut Socket) -> io::Result<()> {
        if !is_compared(address.to_ip()) {
            return Ok(());
        }
        self.result.asked += 1;
        let verdict = ask_route(socket, address.to_ip())?;
        let Verdict::Forward(link, gateway) = verdict else {
            return Ok(());
        };
        let agrees = match &self.expected[expected as usize] {
            Expected::Kernel | Expected::Special => true,
            Expected::Blackhole => false,
            Expected::Connected(expected) => *expected == link && gateway.is_none(),
            Expected::Hops(keys) => keys
                .iter()
                .any(|key| (key.link, Some(key.gateway)) == (link, gateway)),
        };
        if !agrees {
            let kernel = format!("link {link}, gateway {gateway:?} (asked)");
            let dumped = format!("{:?} (dumped)", self.expected[expected as usize]);
            self.result
                .differs(self.domain, address.to_ip(), kernel, dumped);
        }
        Ok(())
    }
}

/// Only addresses that a router may forward to are worth comparing.
fn is_compared(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            !address.is_multicast() && !address.is_broadcast() && !address.is_loopback()
        }
        IpAddr::V6(address) => {
            !address.is_multicast() && !address.is_unicast_link_local() && !address.is_loopback()
        }
    }
}

/// An entry without what its engine adds for itself.
fn bare(entry: NextHopEntry) -> NextHopEntry {
    NextHopEntry {
        flags: 0,
        group_size: 0,
        group_first: 0,
        stamp: 0,
        ..entry
    }
}

fn describe(entry: &NextHopEntry) -> String {
    if entry.kind != Kind::Adjacency {
        return format!("{:?}", entry.kind).to_lowercase();
    }
    let mac = entry
        .destination_mac
        .map(|byte| format!("{byte:02x}"))
        .join(":");
    format!(
        "port {} to {mac}, vlan {}, mtu {}",
        entry.port, entry.vlan, entry.mtu
    )
}
