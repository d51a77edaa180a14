//! Routes and neighbours of one address family, and the answer that follows from them for every prefix.
//!
//! A *domain* is what the engine calls a table: the main one, or a VRF's. The kernel finds a route for a domain by asking
//! its tables in the order of the rules; the answer here is composed the same way:
//! 1. the local table (255): addresses of this machine and broadcasts go to the kernel;
//! 2. the domain's own table, best alternative first;
//! 3. a resolved neighbour on a connected network: a host route of our own making;
//! 4. for the main domain the default table (253), which is the kernel's business.
//!
//! Whatever is not certain is answered "punt": the kernel is then asked for every packet, which is slow and right.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use fib::{Address, IpPrefix, NextHop, Prefix};

use super::model::{Placement, RouteKind, Way};
use super::next_hops::{HopKey, NextHops};
use super::objects::Objects;
use super::routes::RouteTable;
use super::surroundings::Surroundings;
use super::ways::{Stored, WayId, Ways};
use crate::engine::{Change, MAIN_TABLE, fixed};

/// The kernel's table of its own addresses.
pub const LOCAL_TABLE: u32 = 255;
/// The kernel's table of last resort.
pub const DEFAULT_TABLE: u32 = 253;

/// A family whose changes and addresses have names of their own.
pub trait Routed: Address {
    /// Is this IPv6?
    const V6: bool;
    /// The engine's word for a route of this family.
    fn change(table: u32, prefix: Prefix<Self>, next_hop: NextHop) -> Change;
    /// The address, if it is of this family.
    fn from_ip(address: IpAddr) -> Option<Self>;
    /// The prefix, in the type of both families.
    fn either(prefix: Prefix<Self>) -> IpPrefix;
}

impl Routed for u32 {
    const V6: bool = false;
    fn change(table: u32, prefix: Prefix<Self>, next_hop: NextHop) -> Change {
        Change::RouteV4 {
            table,
            prefix,
            next_hop,
        }
    }
    fn from_ip(address: IpAddr) -> Option<Self> {
        if let IpAddr::V4(address) = address {
            Some(address.into())
        } else {
            None
        }
    }
    fn either(prefix: Prefix<Self>) -> IpPrefix {
        IpPrefix::V4(prefix)
    }
}

impl Routed for u128 {
    const V6: bool = true;
    fn change(table: u32, prefix: Prefix<Self>, next_hop: NextHop) -> Change {
        Change::RouteV6 {
            table,
            prefix,
            next_hop,
        }
    }
    fn from_ip(address: IpAddr) -> Option<Self> {
        if let IpAddr::V6(address) = address {
            Some(address.into())
        } else {
            None
        }
    }
    fn either(prefix: Prefix<Self>) -> IpPrefix {
        IpPrefix::V6(prefix)
    }
}

/// What both families share while one of them changes.
#[derive(Debug)]
pub struct Shared {
    /// Links, ports, neighbours.
    pub around: Surroundings,
    /// Numbers of next hops.
    pub next_hops: NextHops,
    /// Nexthop objects.
    pub objects: Objects,
    /// Tables in which ports look up; [`MAIN_TABLE`] is always among them.
    pub domains: Vec<u32>,
}

impl Shared {
    /// Does a change in kernel table `table` show in `domain`?
    fn shows(table: u32, domain: u32) -> bool {
        table == LOCAL_TABLE || table == domain || (table == DEFAULT_TABLE && domain == MAIN_TABLE)
    }
}

#[derive(Debug)]
struct Host {
    link: u32,
    domain: u32,
    /// [`NextHop::NONE`] while some route says otherwise.
    id: NextHop,
}

/// Routes and neighbours of one family.
#[derive(Debug)]
pub struct Family<A> {
    ways: Ways,
    tables: HashMap<u32, RouteTable<A>>,
    hosts: BTreeMap<A, Vec<Host>>,
    /// Prefixes of the local table shorter than an address, which shadow everything inside them.
    wide_local: Vec<Prefix<A>>,
    enabled: bool,
    mark: u8,
    before: Vec<NextHop>,
}

impl<A: Routed> Default for Family<A> {
    fn default() -> Self {
        Self {
            ways: Ways::default(),
            tables: HashMap::new(),
            hosts: BTreeMap::new(),
            wide_local: Vec::new(),
            enabled: true,
            mark: 0,
            before: Vec::new(),
        }
    }
}

impl<A: Routed> Family<A> {
    /// Is this family forwarded, or left to the kernel?
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// How many prefixes have a route in `table`.
    pub fn routes_in(&self, table: u32) -> usize {
        self.tables.get(&table).map_or(0, RouteTable::len)
    }

    /// The kernel tables that have routes.
    pub fn tables(&self) -> impl Iterator<Item = u32> {
        self.tables
            .iter()
            .filter(|(_, routes)| !routes.is_empty())
            .map(|(table, _)| *table)
    }

    /// Every prefix of a kernel table.
    pub fn prefixes(&self, table: u32) -> impl Iterator<Item = Prefix<A>> {
        self.tables
            .get(&table)
            .into_iter()
            .flat_map(RouteTable::prefixes)
    }

    /// The best way of a prefix in a kernel table.
    pub fn best(&self, table: u32, prefix: Prefix<A>) -> Option<&Stored> {
        self.ways.get(self.tables.get(&table)?.best(prefix)?.0)
    }

    /// Host routes of resolved neighbours: address, domain, next hop.
    pub fn hosts(&self) -> impl Iterator<Item = (A, u32, NextHop)> {
        self.hosts
            .iter()
            .flat_map(|(address, hosts)| hosts.iter().map(|host| (*address, host.domain, host.id)))
            .filter(|(_, _, id)| *id != NextHop::NONE)
    }

    /// What the engine must answer for exactly this prefix; [`NextHop::NONE`]: nothing of its own.
    pub fn answer(&self, domain: u32, prefix: Prefix<A>) -> NextHop {
        if !self.enabled {
            return NextHop::NONE;
        }
        if let Some((way, _)) = self
            .tables
            .get(&LOCAL_TABLE)
            .and_then(|local| local.best(prefix))
        {
            return match self.ways.get(way) {
                Some(stored) if stored.way.kind != RouteKind::Kernel => stored.next_hop,
                _ => fixed::PUNT,
            };
        }
        if let Some((way, more)) = self
            .tables
            .get(&domain)
            .and_then(|routes| routes.best(prefix))
        {
            let shadowed = self
                .wide_local
                .iter()
                .any(|local| local.contains(prefix.address()));
            if shadowed || (more && self.contested(domain, prefix)) {
                return fixed::PUNT;
            }
            let Some(stored) = self.ways.get(way) else {
                return fixed::PUNT;
            };
            if stored.connected.is_some()
                && let Some(host) = self
                    .host(domain, prefix)
                    .filter(|host| stored.connected == Some(host.link))
            {
                return host.id;
            }
            return stored.next_hop;
        }
        if domain == MAIN_TABLE
            && self
                .tables
                .get(&DEFAULT_TABLE)
                .is_some_and(|routes| routes.best(prefix).is_some())
        {
            return fixed::PUNT;
        }
        self.host(domain, prefix)
            .map_or(NextHop::NONE, |host| host.id)
    }

    fn host(&self, domain: u32, prefix: Prefix<A>) -> Option<&Host> {
        if prefix.length() != A::BITS || self.hosts.is_empty() {
            return None;
        }
        let hosts = self.hosts.get(&prefix.address())?;
        hosts
            .iter()
            .find(|host| host.domain == domain && host.id != NextHop::NONE)
    }

    /// Is it for the kernel to choose among the alternatives of this prefix? So when one of them looks at more than the
    /// destination, and in IPv6 when two are equally good and not one multipath route.
    fn contested(&self, table: u32, prefix: Prefix<A>) -> bool {
        let Some(routes) = self.tables.get(&table) else {
            return false;
        };
        let ways = routes.ways(prefix);
        let special = ways
            .iter()
            .any(|&way| self.ways.get(way).is_some_and(|stored| stored.way.special));
        let tie = A::V6 && ways.len() > 1 && self.ways.metric(ways[0]) == self.ways.metric(ways[1]);
        special || tie
    }

    /// A route is there.
    pub fn put(
        &mut self,
        table: u32,
        prefix: Prefix<A>,
        way: Way,
        placement: Placement,
        shared: &mut Shared,
        out: &mut Vec<Change>,
    ) {
        let multipath = A::V6 && way.object == 0;
        let id = match self.ways.find(&way) {
            Some(id) => id,
            None => self.store(table, prefix, way, shared, out),
        };
        let mark = self.mark;
        self.change(table, prefix, shared, out, |routes, ways| {
            let metric = |way| ways.metric(way);
            // The kernel announces an IPv6 multipath route anew, with all members, whenever one joins.
            let same = |old| multipath && joined(ways, old, id);
            routes
                .put(prefix, id, placement, mark, metric, same)
                .into_iter()
                .collect()
        });
        if table == LOCAL_TABLE && prefix.length() < A::BITS && !self.wide_local.contains(&prefix) {
            self.wide_local.push(prefix);
            self.emit_inside(prefix, shared, out);
        }
    }

    fn store(
        &mut self,
        table: u32,
        prefix: Prefix<A>,
        way: Way,
        shared: &mut Shared,
        out: &mut Vec<Change>,
    ) -> WayId {
        let before = self
            .best(table, prefix)
            .map_or(NextHop::NONE, |stored| stored.next_hop);
        let (next_hop, connected) = resolve::<A>(&way, before, shared, out);
        self.ways.add(way, next_hop, connected)
    }

    /// A route is gone.
    pub fn remove(
        &mut self,
        table: u32,
        prefix: Prefix<A>,
        way: &Way,
        shared: &mut Shared,
        out: &mut Vec<Change>,
    ) {
        let Some(routes) = self.tables.get(&table) else {
            return;
        };
        let candidates = routes.ways(prefix);
        let stored = |id: WayId| self.ways.get(id).map(|stored| &stored.way);
        if let Some(&exact) = candidates.iter().find(|&&id| stored(id) == Some(way)) {
            self.change(table, prefix, shared, out, |routes, _| {
                routes.remove(prefix, |id| id == exact)
            });
        } else if let Some(smaller) = candidates.iter().find_map(|&id| without(stored(id)?, way)) {
            self.put(table, prefix, smaller, Placement::Last, shared, out);
        } else {
            let equals: Vec<WayId> = candidates
                .into_iter()
                .filter(|&id| self.ways.metric(id) == way.metric)
                .collect();
            if let [only] = equals[..] {
                self.change(table, prefix, shared, out, |routes, _| {
                    routes.remove(prefix, |id| id == only)
                });
            }
        }
        self.forget_wide_local(table, prefix, shared, out);
    }

    fn forget_wide_local(
        &mut self,
        table: u32,
        prefix: Prefix<A>,
        shared: &mut Shared,
        out: &mut Vec<Change>,
    ) {
        if table == LOCAL_TABLE
            && self
                .tables
                .get(&table)
                .is_none_or(|routes| routes.best(prefix).is_none())
            && let Some(at) = self.wide_local.iter().position(|wide| *wide == prefix)
        {
            self.wide_local.swap_remove(at);
            self.emit_inside(prefix, shared, out);
        }
    }

    /// Changes the routes of one prefix, and tells the engine what follows: new answers, neighbours that come to the
    /// fore or step back, ways that nobody uses any more.
    fn change(
        &mut self,
        table: u32,
        prefix: Prefix<A>,
        shared: &mut Shared,
        out: &mut Vec<Change>,
        change: impl FnOnce(&mut RouteTable<A>, &Ways) -> Vec<WayId>,
    ) {
        let mut before = std::mem::take(&mut self.before);
        before.clear();
        before.extend(shared.domains.iter().map(|&domain| {
            if Shared::shows(table, domain) {
                self.answer(domain, prefix)
            } else {
                NextHop::NONE
            }
        }));
        let dropped = change(self.tables.entry(table).or_default(), &self.ways);
        for (&domain, &before) in shared.domains.iter().zip(&before) {
            if Shared::shows(table, domain) {
                let after = self.answer(domain, prefix);
                if after != before {
                    out.push(A::change(domain, prefix, after));
                }
            }
        }
        self.before = before;
        self.review_hosts(prefix, shared, out);
        for way in dropped {
            if let Some(stored) = self.ways.release(way) {
                shared.next_hops.release(stored.next_hop, out);
            }
        }
    }

    /// Removes every route by the ways for which `dead` holds: what the kernel did without a word.
    pub fn purge(
        &mut self,
        dead: impl Fn(&Way) -> bool,
        shared: &mut Shared,
        out: &mut Vec<Change>,
    ) {
        let ways = self.ways.all(dead);
        if ways.is_empty() {
            return;
        }
        let is_dead = |way: WayId| ways.binary_search(&way).is_ok();
        let tables: Vec<u32> = self.tables.keys().copied().collect();
        for table in tables {
            let prefixes = self
                .tables
                .get(&table)
                .map(|routes| routes.prefixes_by(is_dead))
                .unwrap_or_default();
            for prefix in prefixes {
                self.change(table, prefix, shared, out, |routes, _| {
                    routes.remove(prefix, is_dead)
                });
                self.forget_wide_local(table, prefix, shared, out);
            }
        }
    }

    /// From now on routes are marked as of a new round.
    pub fn begin_round(&mut self) {
        self.mark = self.mark.wrapping_add(1);
    }

    /// Removes the routes that were not seen in this round; returns how many prefixes that touched.
    pub fn end_round(&mut self, shared: &mut Shared, out: &mut Vec<Change>) -> usize {
        let mark = self.mark;
        let tables: Vec<u32> = self.tables.keys().copied().collect();
        let mut swept = 0;
        for table in tables {
            let prefixes = self
                .tables
                .get(&table)
                .map(|routes| routes.unseen(mark))
                .unwrap_or_default();
            swept += prefixes.len();
            for prefix in prefixes {
                self.change(table, prefix, shared, out, |routes, _| {
                    routes.sweep(prefix, mark)
                });
                self.forget_wide_local(table, prefix, shared, out);
            }
        }
        self.tables.retain(|_, routes| !routes.is_empty());
        self.tables.values_mut().for_each(RouteTable::shrink);
        swept
    }

    /// A neighbour on a link can be sent to (or no longer).
    pub fn neighbour(
        &mut self,
        link: u32,
        address: A,
        usable: bool,
        shared: &mut Shared,
        out: &mut Vec<Change>,
    ) {
        let domain = shared.around.table_of(link).filter(|_| usable);
        let hosts = self.hosts.entry(address).or_default();
        let known = hosts
            .iter()
            .find(|host| host.link == link)
            .map(|host| host.domain);
        if known.is_some() && known != domain {
            self.withdraw_host(link, address, shared, out);
        }
        if let Some(domain) = domain
            && known != Some(domain)
        {
            self.hosts.entry(address).or_default().push(Host {
                link,
                domain,
                id: NextHop::NONE,
            });
        }
        self.review_hosts(Prefix::containing(address, A::BITS), shared, out);
        if self.hosts.get(&address).is_some_and(Vec::is_empty) {
            self.hosts.remove(&address);
        }
    }

    fn withdraw_host(&mut self, link: u32, address: A, shared: &mut Shared, out: &mut Vec<Change>) {
        let Some(hosts) = self.hosts.get(&address) else {
            return;
        };
        let Some(at) = hosts.iter().position(|host| host.link == link) else {
            return;
        };
        let domain = hosts[at].domain;
        let prefix = Prefix::containing(address, A::BITS);
        let before = self.answer(domain, prefix);
        let Some(host) = self
            .hosts
            .get_mut(&address)
            .map(|hosts| hosts.swap_remove(at))
        else {
            return;
        };
        let after = self.answer(domain, prefix);
        if before != after {
            out.push(A::change(domain, prefix, after));
        }
        shared.next_hops.release(host.id, out);
    }

    /// Decides again which neighbours inside `prefix` deserve a host route.
    pub fn review_hosts(&mut self, prefix: Prefix<A>, shared: &mut Shared, out: &mut Vec<Change>) {
        if self.hosts.is_empty() {
            return;
        }
        let found: Vec<(A, u32, u32)> = self
            .hosts
            .range(prefix.address()..=prefix.last())
            .flat_map(|(address, hosts)| {
                hosts.iter().map(|host| (*address, host.link, host.domain))
            })
            .collect();
        for (address, link, domain) in found {
            self.review_host(address, link, domain, shared, out);
        }
    }

    fn review_host(
        &mut self,
        address: A,
        link: u32,
        domain: u32,
        shared: &mut Shared,
        out: &mut Vec<Change>,
    ) {
        let wanted = self.is_attached(domain, address, link) && shared.around.is_ours(link);
        let position = |host: &&mut Host| host.link == link && host.domain == domain;
        let Some(installed) = self
            .hosts
            .get_mut(&address)
            .and_then(|hosts| hosts.iter_mut().find(position))
            .map(|host| host.id != NextHop::NONE)
        else {
            return;
        };
        if wanted == installed {
            return;
        }
        let id = if wanted {
            let key = HopKey {
                link,
                gateway: address.to_ip(),
                mtu: 0,
            };
            shared.next_hops.hop(key, &shared.around, out)
        } else {
            NextHop::NONE
        };
        let prefix = Prefix::containing(address, A::BITS);
        let before = self.answer(domain, prefix);
        let old = self
            .hosts
            .get_mut(&address)
            .and_then(|hosts| hosts.iter_mut().find(position))
            .map_or(NextHop::NONE, |host| std::mem::replace(&mut host.id, id));
        let after = self.answer(domain, prefix);
        if before != after {
            out.push(A::change(domain, prefix, after));
        }
        shared.next_hops.release(old, out);
    }

    /// Do packets for `address` go straight onto `link`?
    fn is_attached(&self, domain: u32, address: A, link: u32) -> bool {
        if self
            .tables
            .get(&LOCAL_TABLE)
            .is_some_and(|local| local.covering(address).is_some())
        {
            return false;
        }
        let Some(routes) = self.tables.get(&domain) else {
            return false;
        };
        let Some(prefix) = routes.covering(address) else {
            return false;
        };
        routes.best(prefix).is_some_and(|(way, more)| {
            let connected = self.ways.get(way).and_then(|stored| stored.connected);
            connected == Some(link) && !(more && self.contested(domain, prefix))
        })
    }

    /// Turns the family on or off; off, the engine has no route of it and every packet is the kernel's.
    pub fn enable(&mut self, enabled: bool, shared: &Shared, out: &mut Vec<Change>) {
        if self.enabled == enabled {
            return;
        }
        self.enabled = true;
        for &domain in &shared.domains {
            self.emit_domain(domain, enabled, out);
        }
        self.enabled = enabled;
    }

    /// Tells the engine every answer of a domain, or takes every one back.
    pub fn emit_domain(&self, domain: u32, install: bool, out: &mut Vec<Change>) {
        if !self.enabled {
            return;
        }
        let mut seen = std::collections::HashSet::new();
        let tables = [LOCAL_TABLE, domain, DEFAULT_TABLE];
        let used = if domain == MAIN_TABLE {
            &tables[..]
        } else {
            &tables[..2]
        };
        let hosts = self.hosts().filter(|(_, other, _)| *other == domain);
        let hosts = hosts.map(|(address, _, _)| Prefix::containing(address, A::BITS));
        for prefix in used
            .iter()
            .flat_map(|&table| self.prefixes(table))
            .chain(hosts)
        {
            let answer = self.answer(domain, prefix);
            if answer != NextHop::NONE && seen.insert(prefix) {
                out.push(A::change(
                    domain,
                    prefix,
                    if install { answer } else { NextHop::NONE },
                ));
            }
        }
    }

    /// Repeats the answers inside a prefix whose shadow changed.
    fn emit_inside(&mut self, outer: Prefix<A>, shared: &mut Shared, out: &mut Vec<Change>) {
        for &domain in &shared.domains {
            let inside = |prefix: &Prefix<A>| {
                outer.contains(prefix.address()) && prefix.length() > outer.length()
            };
            for prefix in self.prefixes(domain).filter(inside) {
                out.push(A::change(domain, prefix, self.answer(domain, prefix)));
            }
        }
        self.review_hosts(outer, shared, out);
    }
}

/// The next hop of a way, with one use held, and the link on which its destinations are, if they are on one.
fn resolve<A: Routed>(
    way: &Way,
    before: NextHop,
    shared: &mut Shared,
    out: &mut Vec<Change>,
) -> (NextHop, Option<u32>) {
    if way.special {
        return (fixed::PUNT, None);
    }
    match way.kind {
        RouteKind::Kernel => return (fixed::PUNT, None),
        RouteKind::Blackhole => return (fixed::BLACKHOLE, None),
        RouteKind::Unreachable => return (fixed::UNREACHABLE, None),
        RouteKind::Prohibit => return (fixed::PROHIBIT, None),
        RouteKind::Unicast => {}
    }
    if way.object != 0 {
        return (
            shared
                .objects
                .hold(way.object, &mut shared.next_hops, &shared.around, out),
            None,
        );
    }
    let key = |hop: &super::model::Hop| {
        hop.gateway.map(|gateway| HopKey {
            link: hop.link,
            gateway,
            mtu: way.mtu,
        })
    };
    match way.hops.as_slice() {
        [] => (fixed::PUNT, None),
        [hop] => match key(hop) {
            Some(key) => (shared.next_hops.hop(key, &shared.around, out), None),
            // A route with its own MTU to a connected network is rare enough for the kernel to serve.
            None => (fixed::PUNT, (way.mtu == 0).then_some(hop.link)),
        },
        hops if hops.iter().any(|hop| hop.gateway.is_none()) => (fixed::PUNT, None),
        hops => {
            let mut members = Vec::with_capacity(hops.len());
            for hop in hops {
                if let Some(key) = key(hop) {
                    members.push((shared.next_hops.hop(key, &shared.around, out), hop.weight));
                }
            }
            (
                shared
                    .next_hops
                    .group(members, before, &shared.around, A::V6, out),
                None,
            )
        }
    }
}

/// Is the way `new` the multipath route `old` with members added?
fn joined(ways: &Ways, old: WayId, new: WayId) -> bool {
    let (Some(old), Some(new)) = (ways.get(old), ways.get(new)) else {
        return false;
    };
    let (old, new) = (&old.way, &new.way);
    let gateways = |way: &Way| way.hops.as_slice().iter().all(|hop| hop.gateway.is_some());
    let within = |small: &Way, large: &Way| {
        small.hops.as_slice().iter().all(|hop| {
            large
                .hops
                .as_slice()
                .iter()
                .any(|other| (other.link, other.gateway) == (hop.link, hop.gateway))
        })
    };
    old.metric == new.metric
        && old.kind == RouteKind::Unicast
        && new.kind == RouteKind::Unicast
        && old.object == 0
        && !old.hops.as_slice().is_empty()
        && gateways(old)
        && gateways(new)
        && (within(old, new) || within(new, old))
}

/// The multipath way `way` without the members of `gone`, if that is a proper part of it.
fn without(way: &Way, gone: &Way) -> Option<Way> {
    let leaving = gone.hops.as_slice();
    let members = way.hops.as_slice();
    if way.metric != gone.metric || leaving.is_empty() || leaving.len() >= members.len() {
        return None;
    }
    let left: Vec<_> = members
        .iter()
        .filter(|hop| {
            !leaving
                .iter()
                .any(|other| (other.link, other.gateway) == (hop.link, hop.gateway))
        })
        .copied()
        .collect();
    if left.len() + leaving.len() != members.len() {
        return None;
    }
    let mut smaller = Way {
        hops: super::model::Hops::None,
        ..way.clone()
    };
    for hop in left {
        smaller.hops.push(hop);
    }
    Some(smaller)
}
