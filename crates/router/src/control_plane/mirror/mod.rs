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

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use fib::IpPrefix;

use self::round::Round;
pub use self::round::Swept;
use crate::control_plane::digest::Digest;
use crate::control_plane::family::Family;
use crate::control_plane::model::{
    DEFAULT_TABLE, Event, LOCAL_TABLE, Neighbour, NextHopObject, Placement, Route, Rule,
};
use crate::control_plane::next_hops::NextHops;
use crate::control_plane::objects::Objects;
use crate::control_plane::shared::Shared;
use crate::control_plane::surroundings::Surroundings;
use crate::engine::{Change, MAIN_TABLE, Port};

/// The rules that a kernel begins with: their preferences and tables.
const FIRST_RULES: [(u32, u32); 3] = [
    (0, LOCAL_TABLE),
    (32766, MAIN_TABLE),
    (32767, DEFAULT_TABLE),
];

/// The mirror of the kernel's control plane.
#[derive(Debug)]
pub struct Mirror {
    v4: Family<u32>,
    v6: Family<u128>,
    shared: Shared,
    rules: BTreeSet<Rule>,
    /// How often these have changed.
    rule_changes: u64,
    /// Of IPv4 and of IPv6: whether any was ever there.
    had_rules: [bool; 2],
    ports: HashMap<u32, Port>,
    round: Option<Round>,
    /// Nexthop objects of which only that was announced.
    gone_objects: Vec<u32>,
    suspicions: u64,
}

impl Mirror {
    /// Knows nothing yet and forwards between `ports`. The fixed next hops are the first changes.
    pub fn new(ports: &[String]) -> Self {
        let shared = Shared {
            next_hops: NextHops::new(Surroundings::new(ports)),
            objects: Objects::default(),
            domains: vec![MAIN_TABLE],
        };
        Self {
            v4: Family::default(),
            v6: Family::default(),
            shared,
            rules: BTreeSet::new(),
            rule_changes: 0,
            had_rules: [false; 2],
            ports: HashMap::new(),
            round: None,
            gone_objects: Vec::new(),
            suspicions: 0,
        }
    }

    /// Takes in one event as announced.
    pub fn apply(&mut self, event: Event) {
        let before = self.suspicions;
        let announced = self.round.as_mut().map(|round| {
            round.note(&event);
            round.announce(&event);
            event.clone()
        });
        self.take_in(event);
        let suspicious = self.suspicions != before || !self.gone_objects.is_empty();
        if let (Some(round), Some(event), true) = (&mut self.round, announced, suspicious) {
            round.bereave(&event);
        }
    }

    /// Is there something left to do, a piece at a time ([`Mirror::work`])?
    pub fn has_work(&self) -> bool {
        self.v4.is_purging() || self.v6.is_purging()
    }

    /// Does a piece of what is left to do: some thousand changes at most.
    pub fn work(&mut self) {
        self.v4.purge_part(&mut self.shared);
        self.v6.purge_part(&mut self.shared);
    }

    /// Numbers of next hops may have come back: whoever was refused one asks again.
    pub fn try_again(&mut self) {
        let Shared {
            next_hops, objects, ..
        } = &mut self.shared;
        if next_hops.refused() == 0 || self.v4.is_purging() || self.v6.is_purging() {
            return;
        }
        next_hops.forget_refused();
        objects.try_again(next_hops);
        self.v4.try_again(&mut self.shared);
        self.v6.try_again(&mut self.shared);
    }

    /// Must what is left to do be done before this event is taken in? So when it brings back what
    /// is being removed: a link or an address that a dead way needs, or a route by that very
    /// way.
    fn cannot_wait(&self, event: &Event) -> bool {
        match event {
            Event::Link(link) => {
                let before = self.shared.next_hops.around.links.get(&link.index);
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

    fn take_in(&mut self, event: Event) {
        if !matches!(event, Event::ObjectGone(_)) {
            self.finish_objects();
        }
        if self.has_work() && self.cannot_wait(&event) {
            self.v4.finish_purge(&mut self.shared);
            self.v6.finish_purge(&mut self.shared);
        }
        match event {
            Event::Link(link) => self.link(link),
            Event::LinkGone(index) => self.link_gone(index),
            Event::Address(address) => {
                if self.shared.next_hops.around.add_address(address) {
                    self.link_changed(address.link);
                }
            }
            Event::AddressGone(address) => self.address_gone(address),
            Event::Neighbour(neighbour) => self.neighbour(neighbour),
            Event::NeighbourGone(link, address) => self.neighbour_gone((link, address)),
            Event::Rule(rule) => {
                self.had_rules[usize::from(rule.family == 6)] = true;
                let first = FIRST_RULES.contains(&(rule.priority, rule.table));
                let is_first = first && !rule.selective && !rule.l3mdev;
                let around = &mut self.shared.next_hops.around;
                if rule.family == 4 && !is_first && around.set_custom_rules_v4() {
                    self.ports_changed();
                }
                self.rule_changes += u64::from(self.rules.insert(rule));
            }
            Event::RuleGone(rule) => {
                self.rule_changes += u64::from(self.rules.remove(&rule));
            }
            Event::Object(NextHopObject { id, kind }) => {
                let Shared {
                    next_hops, objects, ..
                } = &mut self.shared;
                objects.put(id, kind, next_hops);
            }
            Event::ObjectGone(number) => self.gone_objects.push(number),
            Event::Route(route, placement) => self.route(route, placement),
            Event::RouteGone(route) => self.route_gone(&route),
        }
    }

    fn route(&mut self, route: Route, placement: Placement) {
        let Route { table, way, .. } = route;
        let shared = &mut self.shared;
        match route.destination {
            IpPrefix::V4(prefix) => self.v4.put(table, prefix, way, placement, shared),
            IpPrefix::V6(prefix) if is_forwardable(prefix.address()) => {
                self.v6.put(table, prefix, way, placement, shared);
            }
            IpPrefix::V6(_) => {}
        }
    }

    fn route_gone(&mut self, route: &Route) {
        let (table, way, shared) = (route.table, &route.way, &mut self.shared);
        match route.destination {
            IpPrefix::V4(prefix) => self.v4.remove(table, prefix, way, shared),
            IpPrefix::V6(prefix) => self.v6.remove(table, prefix, way, shared),
        }
    }

    fn neighbour(&mut self, neighbour: Neighbour) {
        let Neighbour { link, address, .. } = neighbour;
        let known = &mut self.shared.next_hops.around.neighbours;
        let before = known.insert((link, address), neighbour);
        if before.and_then(|before| before.usable()) != neighbour.usable() {
            self.shared.next_hops.refresh_neighbour(link, address);
            self.host(link, address, neighbour.usable().is_some());
        }
    }

    fn neighbour_gone(&mut self, (link, address): (u32, IpAddr)) {
        let known = &mut self.shared.next_hops.around.neighbours;
        if known.remove(&(link, address)).is_some() {
            self.shared.next_hops.refresh_neighbour(link, address);
            self.host(link, address, false);
        }
    }

    fn host(&mut self, link: u32, address: IpAddr, usable: bool) {
        let shared = &mut self.shared;
        match address {
            IpAddr::V4(address) => self.v4.neighbour(link, address.into(), usable, shared),
            IpAddr::V6(address) if is_forwardable(address.into()) => {
                self.v6.neighbour(link, address.into(), usable, shared);
            }
            IpAddr::V6(_) => {}
        }
    }

    /// How many changes the engine will have to make, at least.
    pub fn pending(&self) -> usize {
        self.shared.next_hops.changes.len() + self.gone_objects.len()
    }

    /// What the engine must do, in order; whoever hands it over empties it.
    pub fn changes(&mut self) -> &mut Vec<Change> {
        self.finish_objects();
        self.own_changed();
        &mut self.shared.next_hops.changes
    }

    /// How often something happened upon which the kernel removes things in silence.
    pub fn suspicions(&self) -> u64 {
        self.suspicions
    }

    /// Links, ports, neighbours.
    pub fn around(&self) -> &Surroundings {
        &self.shared.next_hops.around
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

    /// The digest of a table of IPv4 or IPv6.
    pub fn digest(&self, domain: u32, is_v6: bool) -> Digest {
        if is_v6 {
            self.v6.digest(domain, &self.shared.objects)
        } else {
            self.v4.digest(domain, &self.shared.objects)
        }
    }

    /// The tables in which ports look up.
    pub fn domains(&self) -> &[u32] {
        &self.shared.domains
    }

    /// How often policy rules have changed.
    pub fn rule_changes(&self) -> u64 {
        self.rule_changes
    }

    /// Policy rules of a family (4 or 6) that a look-up by destination cannot follow.
    pub fn policy_rules(&self, family: u8) -> impl Iterator<Item = &Rule> {
        let usual = |table| matches!(table, LOCAL_TABLE | MAIN_TABLE | DEFAULT_TABLE);
        let plain = move |rule: &Rule| !rule.selective && (rule.l3mdev || usual(rule.table));
        self.rules
            .iter()
            .filter(move |rule| rule.family == family && !plain(rule))
    }

    /// Is one of the usual rules of a family missing, or in another place? Local addresses and VRFs
    /// come before the main table, the default table behind it. A kernel without rules has said
    /// none, ever.
    pub fn has_other_order(&self, family: u8) -> bool {
        let mut rules: Vec<&Rule> = self.rules.iter().collect();
        rules.retain(|rule| rule.family == family && !rule.selective);
        rules.sort_by_key(|rule| rule.priority);
        let main = |rule: &&Rule| rule.table == MAIN_TABLE && !rule.l3mdev;
        let place = rules.iter().position(main).unwrap_or(rules.len());
        let (before, behind) = rules.split_at(place);
        let is_local = |rule: &&Rule| rule.table == LOCAL_TABLE;
        let is_default = |rule: &&Rule| rule.table == DEFAULT_TABLE;
        self.had_rules[usize::from(family == 6)]
            && (behind.is_empty()
                || !before.iter().any(is_local)
                || before.iter().any(is_default)
                || behind.iter().any(|rule| rule.l3mdev))
    }

    /// How many answers a table in which ports look up has in a family, at most.
    pub fn size(&self, domain: u32, v6: bool) -> usize {
        if v6 {
            self.v6.size(domain)
        } else {
            self.v4.size(domain)
        }
    }

    /// How many IPv4 and IPv6 prefixes have a route, the local table's included.
    pub fn routes(&self) -> (usize, usize) {
        (self.v4.routes(), self.v6.routes())
    }
}

/// Link-local and multicast destinations are never forwarded by us, and every link has the same
/// routes for them.
fn is_forwardable(address: u128) -> bool {
    let top = (address >> 112) as u16;
    top & 0xFFC0 != 0xFE80 && top & 0xFF00 != 0xFF00
}
