//! Routes and neighbours of one address family, and the answer that follows from them for every
//! prefix.
//!
//! A *domain* is what the engine calls a table: the main one, or a VRF's. The kernel finds a route
//! for a domain by asking its tables in the order of the rules; the answer here is composed the
//! same way:
//! 1. the local table (255): addresses of this machine and broadcasts go to the kernel;
//! 2. the domain's own table, best alternative first;
//! 3. a resolved neighbour on a connected network: a host route of our own making;
//! 4. for the main domain the default table (253), which is the kernel's business.
//!
//! Whatever is not certain is answered "punt": the kernel is then asked for every packet, which is
//! slow and right.

mod emit;
mod hosts;
mod purge;
mod round;

use std::collections::{BTreeMap, HashMap};

use fib::{NextHop, Prefix};

use crate::control_plane::model::{DEFAULT_TABLE, LOCAL_TABLE, Placement, RouteKind, Way};
use crate::control_plane::resolve::{joined, resolve, without};
use crate::control_plane::routed::Routed;
use crate::control_plane::routes::RouteTable;
use crate::control_plane::shared::Shared;
use crate::control_plane::ways::{Stored, WayId, Ways};
use crate::engine::{Change, MAIN_TABLE, fixed};

/// A neighbour that can be sent to, and the next hop of its host route.
#[derive(Debug)]
struct Host {
    link: u32,
    domain: u32,
    /// [`NextHop::NONE`] while some route says otherwise.
    id: NextHop,
}

/// Ways whose routes are being removed; each is held, so that its number means nothing else
/// meanwhile.
#[derive(Debug)]
struct Doomed {
    ways: Vec<WayId>,
    part: usize,
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
    doomed: Option<Doomed>,
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
            doomed: None,
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

    /// The prefixes of one part of a kernel table, from 0 to [`super::slots::PARTS`].
    pub(in crate::control_plane) fn part(
        &self,
        table: u32,
        number: usize,
    ) -> impl Iterator<Item = Prefix<A>> {
        self.tables
            .get(&table)
            .into_iter()
            .flat_map(move |routes| routes.part(number))
    }

    /// The best way of a prefix in a kernel table.
    pub fn best(&self, table: u32, prefix: Prefix<A>) -> Option<&Stored> {
        self.ways.get(self.tables.get(&table)?.best(prefix)?.0)
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

    /// Is it for the kernel to choose among the alternatives of this prefix? So when one of them
    /// looks at more than the destination, and in IPv6 when two are equally good and not one
    /// multipath route.
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
            // The kernel announces an IPv6 multipath route anew, with all members, whenever one
            // joins.
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

    /// Changes the routes of one prefix, and tells the engine what follows: new answers, neighbours
    /// that come to the fore or step back, ways that nobody uses any more.
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
}
