//! The mirror: everything the kernel has said, and the engine's state that follows from it. A pure
//! state machine: events go in, changes come out. No I/O, no clock, so that storms, flaps and lost
//! messages are plain tests.
//!
//! The kernel does not announce everything it does; [`causes`] does what it does in silence.
//! Because no such list is ever complete, [`Mirror::suspicions`] counts these moments: the follower
//! re-reads the kernel's tables some time after each ([`round`]), and `corelane verify` compares.

mod causes;
mod ports;
mod round;
mod sweep;

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use fib::IpPrefix;

use self::round::Round;
pub use self::round::Swept;
use crate::control_plane::family::Family;
use crate::control_plane::model::{
    DEFAULT_TABLE, Event, LOCAL_TABLE, LinkKind, Neighbour, NextHopObject, Placement, Route, Rule,
};
use crate::control_plane::next_hops::NextHops;
use crate::control_plane::objects::Objects;
use crate::control_plane::routed::Routed;
use crate::control_plane::shared::Shared;
use crate::control_plane::surroundings::Surroundings;
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

    /// Takes in one event as announced; appends what the engine must do to `out`.
    pub fn apply(&mut self, event: Event, out: &mut Vec<Change>) {
        if let Some(round) = &mut self.round {
            round.note(&event);
            round.announce(&event);
        }
        self.take_in(event, out);
    }

    /// Is there something left to do, a piece at a time ([`Mirror::work`])?
    pub fn has_work(&self) -> bool {
        self.v4.is_purging() || self.v6.is_purging()
    }

    /// Does a piece of what is left to do: some thousand changes at most.
    pub fn work(&mut self, out: &mut Vec<Change>) {
        self.v4.purge_part(&mut self.shared, out);
        self.v6.purge_part(&mut self.shared, out);
    }

    /// Must what is left to do be done before this event is taken in? So when it brings back what
    /// is being removed: a link or an address that a dead way needs, or a route by that very
    /// way.
    fn cannot_wait(&self, event: &Event) -> bool {
        match event {
            Event::Link(link) => {
                let before = self.shared.around.links.get(&link.index);
                let was_alive = before.is_some_and(|before| before.up && before.carrier);
                link.up && link.carrier && !was_alive
            }
            Event::Address(_) => true,
            Event::Route(route, _) => {
                self.v4.is_doomed(&route.way) || self.v6.is_doomed(&route.way)
            }
            _ => false,
        }
    }

    fn take_in(&mut self, event: Event, out: &mut Vec<Change>) {
        if self.has_work() && self.cannot_wait(&event) {
            self.v4.finish_purge(&mut self.shared, out);
            self.v6.finish_purge(&mut self.shared, out);
        }
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
                    && matches!(rule.table, LOCAL_TABLE | MAIN_TABLE | DEFAULT_TABLE))
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

/// Link-local and multicast destinations are never forwarded by us, and every link has the same
/// routes for them.
fn is_forwardable(address: u128) -> bool {
    let top = (address >> 112) as u16;
    top & 0xFFC0 != 0xFE80 && top & 0xFF00 != 0xFF00
}
