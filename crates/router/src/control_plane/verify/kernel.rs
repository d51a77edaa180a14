//! The kernel's side of a comparison: its tables, read afresh past the mirror and flattened into
//! ranges of addresses that share a route. With a full table that takes about a second, so it runs
//! in a thread of its own.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use fib::IpPrefix;
use figures::Random;
use host::netlink::{ROUTE, Socket};

use super::ranges::{KERNEL, Line, line, ranges};
use crate::control_plane::mirror::Mirror;
use crate::control_plane::model::{
    DEFAULT_TABLE, Event, Hop, LOCAL_TABLE, ObjectKind, RouteKind, Way,
};
use crate::control_plane::netlink::{Verdict, ask_route, dump_all};
use crate::control_plane::routed::Routed;
use crate::control_plane::surroundings::{HopKey, Surroundings};
use crate::engine::MAIN_TABLE;

/// Addresses of each family, chosen at random, for which the kernel is asked one by one.
const ASKED: usize = 64;

/// What the kernel does with the addresses of a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Expected {
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

/// What to read.
#[derive(Debug)]
pub(super) struct Request {
    domains: Vec<u32>,
    /// The ports, and nothing else known yet.
    around: Surroundings,
    /// The addresses to ask for one by one; `None`: some at random.
    asking: Option<Vec<IpAddr>>,
    /// How long to wait before.
    pause: Duration,
}

impl Request {
    /// What belongs to the mirror as it is now.
    pub(super) fn new(mirror: &Mirror, asking: Option<Vec<IpAddr>>, pause: Duration) -> Self {
        Self {
            domains: mirror.domains().to_vec(),
            around: mirror.around().same_ports(),
            asking,
            pause,
        }
    }
}

/// The kernel's answers for one domain and family.
#[derive(Debug)]
pub(super) struct Flat<A> {
    pub(super) domain: u32,
    /// Where each range begins, and what is expected there: an index of [`KernelSide::expected`].
    pub(super) ranges: Vec<(A, u32)>,
}

impl<A: Routed> Flat<A> {
    pub(super) fn expected_at(&self, address: A) -> u32 {
        let after = self.ranges.partition_point(|range| range.0 <= address);
        after.checked_sub(1).map_or(KERNEL, |at| self.ranges[at].1)
    }
}

/// An address for which the kernel, asked, says otherwise than its own dump.
#[derive(Debug)]
pub(super) struct Contradiction {
    pub(super) address: IpAddr,
    pub(super) asked: String,
    pub(super) dumped: String,
}

/// The kernel's tables, flattened.
#[derive(Debug)]
pub(super) struct KernelSide {
    pub(super) v4: Vec<Flat<u32>>,
    pub(super) v6: Vec<Flat<u128>>,
    pub(super) expected: Vec<Expected>,
    pub(super) around: Surroundings,
    /// Prefixes with a route, IPv4 and IPv6.
    pub(super) routes: (u64, u64),
    /// Addresses asked for one by one.
    pub(super) asked: u64,
    pub(super) contradictions: Vec<Contradiction>,
}

/// The routes of every table as dumped.
#[derive(Default)]
struct Lines {
    v4: HashMap<u32, Vec<Line<u32>>>,
    v6: HashMap<u32, Vec<Line<u128>>>,
}

/// Reads and flattens, in the calling thread's network namespace.
///
/// # Errors
/// When the kernel cannot be asked.
pub(super) fn read(request: Request) -> io::Result<KernelSide> {
    std::thread::sleep(request.pause);
    let mut socket = Socket::open(ROUTE, &[])?;
    let (mut lines, mut side) = dump(request.around, &mut socket)?;
    for &domain in &request.domains {
        let (flat, routes) = flatten(domain, &mut lines.v4, &side.expected);
        side.routes.0 += routes;
        side.v4.push(flat);
        let (flat, routes) = flatten(domain, &mut lines.v6, &side.expected);
        side.routes.1 += routes;
        side.v6.push(flat);
    }
    drop(lines);
    for address in request.asking.unwrap_or_else(|| at_random(&side)) {
        side.ask(address, &mut socket)?;
    }
    Ok(side)
}

fn dump(around: Surroundings, socket: &mut Socket) -> io::Result<(Lines, KernelSide)> {
    let mut lines = Lines::default();
    let mut dump = KernelSide {
        v4: Vec::new(),
        v6: Vec::new(),
        expected: vec![Expected::Kernel],
        around,
        routes: (0, 0),
        asked: 0,
        contradictions: Vec::new(),
    };
    let mut index = HashMap::from([(Expected::Kernel, KERNEL)]);
    let mut objects = HashMap::new();
    dump_all(socket, true, |event| match event {
        Event::Link(link) => dump.around.links.extend([(link.index, link)]),
        Event::Neighbour(neighbour) => {
            dump.around
                .neighbours
                .insert((neighbour.link, neighbour.address), neighbour);
        }
        Event::Object(object) => objects.extend([(object.id, object.kind)]),
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
                IpPrefix::V4(prefix) => {
                    let lines = lines.v4.entry(table).or_default();
                    lines.push(line(table, prefix, metric, number));
                }
                IpPrefix::V6(prefix) => {
                    let lines = lines.v6.entry(table).or_default();
                    lines.push(line(table, prefix, metric, number));
                }
            }
        }
        _ => {}
    })?;
    Ok((lines, dump))
}

fn expectation(way: &Way, objects: &HashMap<u32, ObjectKind>) -> Expected {
    if way.special {
        return Expected::Special;
    }
    if way.object != 0 && way.mtu != 0 {
        return Expected::Kernel;
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

/// The ranges of one domain, and how many prefixes have a route in it.
fn flatten<A: Routed>(
    domain: u32,
    tables: &mut HashMap<u32, Vec<Line<A>>>,
    expected: &[Expected],
) -> (Flat<A>, u64) {
    let mut lines = tables.remove(&domain).unwrap_or_default();
    let mut shared = vec![LOCAL_TABLE];
    if domain == MAIN_TABLE {
        shared.push(DEFAULT_TABLE);
    }
    for table in shared {
        lines.extend(tables.get(&table).into_iter().flatten().copied());
    }
    // Stable, so that routes of one prefix stay in the kernel's order.
    lines.sort_by_key(|line| (line.address, line.length, line.rank));
    let lines = settled(&lines, expected);
    let prefixes = lines.len() as u64;
    let ranges = ranges(&lines);
    (Flat { domain, ranges }, prefixes)
}

/// One line for each prefix, the one that the kernel uses.
fn settled<A: Routed>(lines: &[Line<A>], expected: &[Expected]) -> Vec<Line<A>> {
    let same =
        |one: &Line<A>, other: &Line<A>| (one.address, one.length) == (other.address, other.length);
    lines
        .chunk_by(same)
        .map(|equals| {
            let first = equals[0];
            let others = equals[1..].iter().filter(|other| other.rank == first.rank);
            let special = equals
                .iter()
                .any(|line| expected[line.expected as usize] == Expected::Special);
            let tie = A::BITS == 128 && others.clone().any(|other| other.metric == first.metric);
            let is_kernels = special || tie || first.rank == 2;
            Line {
                expected: if is_kernels { KERNEL } else { first.expected },
                ..first
            }
        })
        .collect()
}

fn at_random(side: &KernelSide) -> Vec<IpAddr> {
    let mut addresses = Vec::with_capacity(2 * ASKED);
    some(&side.v4, &mut addresses);
    some(&side.v6, &mut addresses);
    addresses
}

/// Only the main table answers `ip route get` without more being said.
fn some<A: Routed>(flats: &[Flat<A>], out: &mut Vec<IpAddr>) {
    for flat in flats.iter().filter(|flat| flat.domain == MAIN_TABLE) {
        let mut random = Random::new(flat.ranges.len() as u64);
        let address = |_| A::from_left_aligned(random.next_u128()).to_ip();
        out.extend((0..ASKED).map(address));
    }
}

impl KernelSide {
    /// Asks the kernel itself whether what its dump says is what it does.
    fn ask(&mut self, address: IpAddr, socket: &mut Socket) -> io::Result<()> {
        let expected = match address {
            IpAddr::V4(v4) => expected_in_main(&self.v4, v4.into()),
            IpAddr::V6(v6) => expected_in_main(&self.v6, v6.into()),
        };
        let Some(expected) = expected.filter(|_| is_compared(address)) else {
            return Ok(());
        };
        self.asked += 1;
        let Verdict::Forward(link, gateway) = ask_route(socket, address)? else {
            return Ok(());
        };
        let expected = &self.expected[expected as usize];
        let agrees = match expected {
            Expected::Kernel | Expected::Special => true,
            Expected::Blackhole => false,
            Expected::Connected(expected) => *expected == link && gateway.is_none(),
            Expected::Hops(keys) => keys
                .iter()
                .any(|key| (key.link, Some(key.gateway)) == (link, gateway)),
        };
        if !agrees {
            self.contradictions.push(Contradiction {
                address,
                asked: format!("link {link}, gateway {gateway:?} (asked)"),
                dumped: format!("{expected:?} (dumped)"),
            });
        }
        Ok(())
    }
}

fn expected_in_main<A: Routed>(flats: &[Flat<A>], address: A) -> Option<u32> {
    let flat = flats.iter().find(|flat| flat.domain == MAIN_TABLE)?;
    Some(flat.expected_at(address))
}

/// Only addresses that a router may forward to are worth comparing.
pub(super) fn is_compared(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            !address.is_multicast() && !address.is_broadcast() && !address.is_loopback()
        }
        IpAddr::V6(address) => {
            !address.is_multicast() && !address.is_unicast_link_local() && !address.is_loopback()
        }
    }
}
