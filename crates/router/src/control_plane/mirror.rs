//! The mirror: everything the kernel has said, and the engine's state that follows from it. A pure state machine: events
//! go in, changes come out. No I/O, no clock, so that storms, flaps and lost messages are plain tests.
//!
//! The kernel does not announce everything it does. What it does in silence is done here on the event that causes it:
//!
//! | cause | silently gone in the kernel (`net/ipv4/fib_semantics.c`, `nexthop.c`) |
//! |---|---|
//! | link down | IPv4 routes all of whose ways out use it; nexthop objects on it |
//! | carrier lost | nexthop objects on it, and their IPv4 routes |
//! | link removed | IPv4 routes with any way out by it |
//! | nexthop object removed | its IPv4 routes; its membership in groups; groups without members |
//! | last IPv4 address of a link removed | IPv4 routes by it |
//! | address removed | IPv4 routes with that preferred source |
//!
//! Because such a list is never complete, [`Mirror::suspicions`] counts these moments: the follower re-reads the kernel's
//! tables some time after each, and `corelane verify` compares.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::IpAddr;

use fib::IpPrefix;

use super::family::{Family, LOCAL_TABLE, Shared};
use super::model::{
    Event, Link, LinkAddress, LinkKind, Neighbour, NextHopObject, Placement, Route, RouteKind,
    Rule, Way,
};
use super::next_hops::NextHops;
use super::objects::Objects;
use super::routed::Routed;
use super::surroundings::Surroundings;
use crate::engine::{Change, MAIN_TABLE, Port};

/// The mirror of the kernel's control plane.
#[derive(Debug)]
pub struct Mirror {
    v4: Family<u32>,
    v6: Family<u128>,
    shared: Shared,
    rules: BTreeSet<Rule>,
    ports: HashMap<u32, Port>,
    round: Option<Round>,
    suspicions: u64,
}

/// What a resynchronisation has seen so far; routes carry marks of their own.
#[derive(Debug, Default)]
struct Round {
    links: HashSet<u32>,
    addresses: HashSet<LinkAddress>,
    neighbours: HashSet<(u32, IpAddr)>,
    objects: HashSet<u32>,
    rules: BTreeSet<Rule>,
}

/// What a resynchronisation found that no message had told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Prefixes whose routes the kernel no longer has.
    pub routes: usize,
    /// Everything else.
    pub others: usize,
}

impl Mirror {
    /// Knows nothing yet and forwards between `ports`. The fixed next hops are written to `out`.
    pub fn new(ports: &[String], out: &mut Vec<Change>) -> Self {
        let shared = Shared {
            around: Surroundings::new(ports),
            next_hops: NextHops::new(out),
            objects: Objects::default(),
            domains: vec![MAIN_TABLE],
        };
        Self {
            v4: Family::default(),
            v6: Family::default(),
            shared,
            rules: BTreeSet::new(),
            ports: HashMap::new(),
            round: None,
            suspicions: 0,
        }
    }

    /// Takes in one event; appends what the engine must do to `out`.
    pub fn apply(&mut self, event: Event, out: &mut Vec<Change>) {
        self.note(&event);
        match event {
            Event::Link(link) => self.link(link, out),
            Event::LinkGone(index) => self.link_gone(index, out),
            Event::Address(address) => {
                if self.shared.around.add_address(address) {
                    self.links_changed(out);
                }
            }
            Event::AddressGone(address) => self.address_gone(address, out),
            Event::Neighbour(neighbour) => self.neighbour(neighbour, out),
            Event::NeighbourGone(link, address) => self.neighbour_gone(link, address, out),
            Event::Rule(rule) => {
                self.rules.insert(rule);
            }
            Event::RuleGone(rule) => {
                self.rules.remove(&rule);
            }
            Event::Object(NextHopObject { id, kind }) => {
                let Shared {
                    around,
                    next_hops,
                    objects,
                    ..
                } = &mut self.shared;
                objects.put(id, kind, next_hops, around, out);
            }
            Event::ObjectGone(number) => self.objects_gone(&[number], out),
            Event::Route(route, placement) => self.route(route, placement, out),
            Event::RouteGone(route) => self.route_gone(&route, out),
        }
    }

    fn note(&mut self, event: &Event) {
        let Some(round) = &mut self.round else { return };
        match event {
            Event::Link(link) => {
                round.links.insert(link.index);
            }
            Event::Address(address) => {
                round.addresses.insert(*address);
            }
            Event::Neighbour(neighbour) => {
                round.neighbours.insert((neighbour.link, neighbour.address));
            }
            Event::Object(object) => {
                round.objects.insert(object.id);
            }
            Event::Rule(rule) => {
                round.rules.insert(rule.clone());
            }
            _ => {}
        }
    }

    fn route(&mut self, route: Route, placement: Placement, out: &mut Vec<Change>) {
        match route.destination {
            IpPrefix::V4(prefix) => self.v4.put(
                route.table,
                prefix,
                route.way,
                placement,
                &mut self.shared,
                out,
            ),
            IpPrefix::V6(prefix) if is_forwardable(prefix.address()) => {
                self.v6.put(
                    route.table,
                    prefix,
                    route.way,
                    placement,
                    &mut self.shared,
                    out,
                );
            }
            IpPrefix::V6(_) => {}
        }
    }

    fn route_gone(&mut self, route: &Route, out: &mut Vec<Change>) {
        match route.destination {
            IpPrefix::V4(prefix) => {
                self.v4
                    .remove(route.table, prefix, &route.way, &mut self.shared, out);
            }
            IpPrefix::V6(prefix) => {
                self.v6
                    .remove(route.table, prefix, &route.way, &mut self.shared, out);
            }
        }
    }

    fn neighbour(&mut self, neighbour: Neighbour, out: &mut Vec<Change>) {
        let Neighbour { link, address, .. } = neighbour;
        let usable = neighbour.usable().is_some();
        let before = self
            .shared
            .around
            .neighbours
            .insert((link, address), neighbour);
        if before.and_then(|before| before.usable()) == neighbour.usable() {
            return;
        }
        let Shared {
            around, next_hops, ..
        } = &mut self.shared;
        next_hops.refresh_neighbour(link, address, around, out);
        self.host(link, address, usable, out);
    }

    fn neighbour_gone(&mut self, link: u32, address: IpAddr, out: &mut Vec<Change>) {
        if self
            .shared
            .around
            .neighbours
            .remove(&(link, address))
            .is_none()
        {
            return;
        }
        let Shared {
            around, next_hops, ..
        } = &mut self.shared;
        next_hops.refresh_neighbour(link, address, around, out);
        self.host(link, address, false, out);
    }

    fn host(&mut self, link: u32, address: IpAddr, usable: bool, out: &mut Vec<Change>) {
        match address {
            IpAddr::V4(address) => {
                self.v4
                    .neighbour(link, address.into(), usable, &mut self.shared, out);
            }
            IpAddr::V6(address) if is_forwardable(address.into()) => {
                self.v6
                    .neighbour(link, address.into(), usable, &mut self.shared, out);
            }
            IpAddr::V6(_) => {}
        }
    }

    fn link(&mut self, link: Link, out: &mut Vec<Change>) {
        let index = link.index;
        let now = link.clone();
        let before = self.shared.around.links.insert(index, link);
        if before.as_ref() == Some(&now) {
            return;
        }
        let was_up = before.as_ref().is_some_and(|before| before.up);
        let had_carrier = before.as_ref().is_some_and(|before| before.carrier);
        if now.up && !was_up {
            self.shared.around.link_came_up(index);
        }
        // First the entries, so that no frame takes a dead way; then the routes, which may be many.
        self.links_changed(out);
        if (was_up && !now.up) || (had_carrier && !now.carrier) {
            self.suspicions += 1;
            let objects = self.shared.objects.by_link(index);
            self.objects_gone(&objects, out);
        }
        if was_up && !now.up {
            self.purge_dead(index, out);
        }
    }

    fn link_gone(&mut self, index: u32, out: &mut Vec<Change>) {
        if !self.shared.around.links.contains_key(&index) {
            return;
        }
        self.suspicions += 1;
        self.shared.around.forget_link(index);
        if let Some(mut port) = self.ports.remove(&index) {
            port.enabled = false;
            out.push(Change::Port(port));
        }
        self.links_changed(out);
        let neighbours: Vec<IpAddr> = self
            .shared
            .around
            .neighbours
            .keys()
            .filter(|key| key.0 == index)
            .map(|key| key.1)
            .collect();
        for address in neighbours {
            self.neighbour_gone(index, address, out);
        }
        let objects = self.shared.objects.by_link(index);
        self.objects_gone(&objects, out);
        let uses =
            |way: &Way| way.object == 0 && way.hops.as_slice().iter().any(|hop| hop.link == index);
        let only = |way: &Way| uses(way) && way.hops.as_slice().iter().all(|hop| hop.link == index);
        self.v4.purge(uses, &mut self.shared, out);
        self.v6.purge(only, &mut self.shared, out);
    }

    /// The routes whose every way out is dead, one of them by `link`.
    fn purge_dead(&mut self, link: u32, out: &mut Vec<Change>) {
        for v6 in [false, true] {
            let alive: HashMap<u32, bool> = self
                .shared
                .around
                .links
                .keys()
                .map(|&link| (link, self.shared.around.alive(link, v6)))
                .collect();
            let dead = |way: &Way| {
                way.kind != RouteKind::Kernel
                    && way.object == 0
                    && way.hops.as_slice().iter().any(|hop| hop.link == link)
                    && way
                        .hops
                        .as_slice()
                        .iter()
                        .all(|hop| !alive.get(&hop.link).is_some_and(|alive| *alive))
            };
            if v6 {
                self.v6.purge(dead, &mut self.shared, out);
            } else {
                self.v4.purge(dead, &mut self.shared, out);
            }
        }
    }

    fn address_gone(&mut self, address: LinkAddress, out: &mut Vec<Change>) {
        let last = self.shared.around.remove_address(address);
        let IpAddr::V4(_) = address.address else {
            return;
        };
        if !self.shared.around.has_address(address.address) {
            self.suspicions += 1;
            let source = Some(address.address);
            let leaves = |way: &Way| way.source == source && way.kind != RouteKind::Kernel;
            self.v4.purge(leaves, &mut self.shared, out);
        }
        if last {
            self.links_changed(out);
            self.purge_dead(address.link, out);
        }
    }

    fn objects_gone(&mut self, numbers: &[u32], out: &mut Vec<Change>) {
        let mut gone = Vec::new();
        for &number in numbers {
            let Shared {
                around,
                next_hops,
                objects,
                ..
            } = &mut self.shared;
            gone.extend(objects.gone(number, next_hops, around, out));
        }
        if gone.is_empty() {
            return;
        }
        self.suspicions += 1;
        let uses = |way: &Way| gone.contains(&way.object);
        self.v4.purge(uses, &mut self.shared, out);
        self.v6.purge(uses, &mut self.shared, out);
        self.shared
            .objects
            .forget(&gone, &mut self.shared.next_hops, out);
    }

    /// Everything that depends on links or ports, again: entries, groups, ports, domains, host routes.
    fn links_changed(&mut self, out: &mut Vec<Change>) {
        let Shared {
            around, next_hops, ..
        } = &mut self.shared;
        next_hops.refresh_all(around, out);
        let ports = around.ports();
        self.set_domains(&ports, out);
        for port in ports {
            if self.ports.get(&port.ifindex) != Some(&port) {
                out.push(Change::Port(port.clone()));
                self.ports.insert(port.ifindex, port);
            }
        }
        let neighbours: Vec<Neighbour> = self.shared.around.neighbours.values().copied().collect();
        for neighbour in neighbours {
            self.host(
                neighbour.link,
                neighbour.address,
                neighbour.usable().is_some(),
                out,
            );
        }
    }

    fn set_domains(&mut self, ports: &[Port], out: &mut Vec<Change>) {
        let mut wanted = vec![MAIN_TABLE];
        for table in ports
            .iter()
            .flat_map(|port| port.vlans.iter().map(|vlan| vlan.table).chain([port.table]))
        {
            if !wanted.contains(&table) {
                wanted.push(table);
            }
        }
        let before = self.shared.domains.clone();
        for &domain in before.iter().filter(|domain| !wanted.contains(domain)) {
            self.v4.emit_domain(domain, false, out);
            self.v6.emit_domain(domain, false, out);
        }
        self.shared.domains.clone_from(&wanted);
        for &domain in wanted.iter().filter(|domain| !before.contains(domain)) {
            self.v4.emit_domain(domain, true, out);
            self.v6.emit_domain(domain, true, out);
        }
    }

    /// Leaves a port to the kernel, or takes it back.
    pub fn keep_port(&mut self, name: &str, kept_by_kernel: bool, out: &mut Vec<Change>) {
        if self.shared.around.keep(name, kept_by_kernel) {
            self.links_changed(out);
        }
    }

    /// Forwards between `names` from now on. Ports that stay notice nothing.
    pub fn set_ports(&mut self, names: &[String], out: &mut Vec<Change>) {
        self.shared.around.set_ports(names);
        let leaving: Vec<u32> = self
            .ports
            .values()
            .filter(|port| !names.contains(&port.name))
            .map(|port| port.ifindex)
            .collect();
        for index in leaving {
            if let Some(mut port) = self.ports.remove(&index) {
                port.enabled = false;
                out.push(Change::Port(port));
            }
        }
        self.links_changed(out);
    }

    /// Forwards a family, or leaves every packet of it to the kernel.
    pub fn enable_families(&mut self, v4: bool, v6: bool, out: &mut Vec<Change>) {
        self.v4.enable(v4, &self.shared, out);
        self.v6.enable(v6, &self.shared, out);
    }

    /// Begins to take in a whole dump of the kernel's state. Nothing is removed before [`Mirror::end_round`].
    pub fn begin_round(&mut self) {
        self.round = Some(Round::default());
        self.v4.begin_round();
        self.v6.begin_round();
    }

    /// The dump was complete: removes what was not in it. (A dump that failed is simply begun again.)
    pub fn end_round(&mut self, out: &mut Vec<Change>) -> Swept {
        let Some(round) = self.round.take() else {
            return Swept::default();
        };
        let mut others = 0;
        let links: Vec<u32> = self
            .shared
            .around
            .links
            .keys()
            .filter(|index| !round.links.contains(index))
            .copied()
            .collect();
        others += links.len();
        for index in links {
            self.link_gone(index, out);
        }
        let addresses: Vec<LinkAddress> = self
            .shared
            .around
            .addresses()
            .filter(|address| !round.addresses.contains(address))
            .copied()
            .collect();
        others += addresses.len();
        for address in addresses {
            self.address_gone(address, out);
        }
        let neighbours: Vec<(u32, IpAddr)> = self
            .shared
            .around
            .neighbours
            .keys()
            .filter(|key| !round.neighbours.contains(key))
            .copied()
            .collect();
        others += neighbours.len();
        for (link, address) in neighbours {
            self.neighbour_gone(link, address, out);
        }
        let objects: Vec<u32> = self
            .shared
            .objects
            .numbers()
            .filter(|number| !round.objects.contains(number))
            .collect();
        others += objects.len();
        self.objects_gone(&objects, out);
        self.rules = round.rules;
        let routes =
            self.v4.end_round(&mut self.shared, out) + self.v6.end_round(&mut self.shared, out);
        Swept { routes, others }
    }

    /// How often something happened upon which the kernel removes things in silence.
    pub fn suspicions(&self) -> u64 {
        self.suspicions
    }

    /// Links, ports, neighbours.
    pub fn around(&self) -> &Surroundings {
        &self.shared.around
    }

    /// The numbers of next hops and what stands behind them.
    pub fn next_hops(&self) -> &NextHops {
        &self.shared.next_hops
    }

    /// Nexthop objects.
    pub fn objects(&self) -> &Objects {
        &self.shared.objects
    }

    /// IPv4 routes.
    pub fn v4(&self) -> &Family<u32> {
        &self.v4
    }

    /// IPv6 routes.
    pub fn v6(&self) -> &Family<u128> {
        &self.v6
    }

    /// The tables in which ports look up.
    pub fn domains(&self) -> &[u32] {
        &self.shared.domains
    }

    /// Policy rules of a family (4 or 6) that a look-up by destination cannot follow.
    pub fn policy_rules(&self, family: u8) -> impl Iterator<Item = &Rule> {
        let plain = |rule: &Rule| {
            rule.l3mdev
                || (!rule.selective
                    && matches!(
                        rule.table,
                        LOCAL_TABLE | MAIN_TABLE | super::family::DEFAULT_TABLE
                    ))
        };
        self.rules
            .iter()
            .filter(move |rule| rule.family == family && !plain(rule))
    }

    /// How many IPv4 and IPv6 prefixes have a route, the local table's included.
    pub fn routes(&self) -> (usize, usize) {
        (total(&self.v4), total(&self.v6))
    }

    /// Is this link a VRF master, and of which table?
    pub fn vrf_table(&self, link: u32) -> Option<u32> {
        match self.shared.around.links.get(&link)?.kind {
            LinkKind::Vrf { table } => Some(table),
            _ => None,
        }
    }
}

fn total<A: Routed>(family: &Family<A>) -> usize {
    family.tables().map(|table| family.routes_in(table)).sum()
}

/// Link-local and multicast destinations are never forwarded by us, and every link has the same routes for them.
fn is_forwardable(address: u128) -> bool {
    let top = (address >> 112) as u16;
    top & 0xFFC0 != 0xFE80 && top & 0xFF00 != 0xFF00
}
