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
//!
//! # Routes that the kernel has removed without a word
//! They are removed at once when they are few, else a part of the tables at a time, so that
//! announcements need not wait until a million routes are gone. The entries of the next hops have
//! said "punt" since the moment when they died, so what is still to be removed is the kernel's to
//! decide. Whatever could make such a way right again has to wait until the last route is gone
//! ([`Family::finish_purge`]).

mod again;
mod hosts;

use std::collections::{BTreeMap, HashMap, HashSet};

use fib::{NextHop, Prefix};
use hosts::Host;

use super::digest::{self, Digest, Sum};
use super::model::{DEFAULT_TABLE, LOCAL_TABLE, Placement, RouteKind, Way};
use super::objects::Objects;
use super::routed::Routed;
use super::routes::{Alternative, RouteTable, Stored, WayId, Ways};
use super::shared::Shared;
use super::slots::PARTS;
use crate::engine::{MAIN_TABLE, fixed};

/// More routes than this are not removed at once: about ten milliseconds' worth.
const AT_ONCE: u64 = 8 << 10;

/// Ways whose routes are being removed; each is held, so that its number means nothing else
/// meanwhile.
#[derive(Debug)]
struct Doomed {
    ways: Vec<WayId>,
    part: usize,
}

/// Routes and neighbours of one family.
#[derive(Debug, Default)]
pub struct Family<A> {
    ways: Ways,
    tables: HashMap<u32, RouteTable<A>>,
    /// By address and link.
    hosts: BTreeMap<(A, u32), Host>,
    /// Prefixes of the local table shorter than an address, which shadow everything inside them.
    wide_local: Vec<Prefix<A>>,
    /// A prefix outside of the local table is, or was, this machine's own.
    local_elsewhere: bool,
    /// Since somebody asked ([`Family::local_changed`]).
    local_changed: bool,
    mark: u8,
    /// Answers of before, by domain, while a prefix changes.
    before: Vec<(u32, NextHop)>,
    doomed: Option<Doomed>,
}

impl<A: Routed> Family<A> {
    /// How many prefixes have a route in `table`.
    pub fn routes_in(&self, table: u32) -> usize {
        self.tables.get(&table).map_or(0, RouteTable::len)
    }

    /// How many prefixes have a route in any table.
    pub fn routes(&self) -> usize {
        self.tables.values().map(RouteTable::len).sum()
    }

    /// Every prefix of a kernel table.
    pub fn prefixes(&self, table: u32) -> impl Iterator<Item = Prefix<A>> {
        let routes = self.tables.get(&table).into_iter();
        routes.flat_map(RouteTable::prefixes)
    }

    /// Has the local table changed since this was last asked?
    pub fn local_changed(&mut self) -> bool {
        std::mem::take(&mut self.local_changed)
    }

    /// Prefixes of the local table shorter than an address.
    pub fn wide_local(&self) -> impl Iterator<Item = Prefix<A>> {
        self.wide_local.iter().copied()
    }

    /// Has somebody made a prefix this machine's own in another table than the local one? The
    /// kernel looks sources up from then on (`fib_has_custom_local_routes`), for good.
    pub fn is_local_elsewhere(&self) -> bool {
        self.local_elsewhere
    }

    /// The prefixes of one part of a kernel table, from 0 to [`PARTS`].
    pub(crate) fn part(&self, table: u32, number: usize) -> impl Iterator<Item = Prefix<A>> {
        let routes = self.tables.get(&table).into_iter();
        routes.flat_map(move |routes| routes.part(number))
    }

    /// The same, each with the number of its best way.
    pub(crate) fn part_ways(
        &self,
        table: u32,
        number: usize,
    ) -> impl Iterator<Item = (Prefix<A>, WayId)> {
        let routes = self.tables.get(&table).into_iter();
        routes.flat_map(move |routes| routes.part_ways(number))
    }

    /// The best way of a prefix in a kernel table, and whether there are others.
    pub fn best(&self, table: u32, prefix: Prefix<A>) -> Option<(&Stored, bool)> {
        let (way, more) = self.tables.get(&table)?.best(prefix)?;
        Some((self.ways.get(way)?, more))
    }

    /// The digest of the routes of a kernel table.
    pub(crate) fn digest(&self, table: u32, objects: &Objects) -> Digest {
        let mut by_text: HashMap<u128, Sum> = HashMap::new();
        let sums = self.tables.get(&table).into_iter();
        for (way, sum) in sums.flat_map(RouteTable::sums) {
            if let Some(said) = self.said(way, objects) {
                *by_text.entry(said).or_default() += sum;
            }
        }
        let mut digest = Digest::default();
        for (said, sum) in by_text {
            digest.add(sum, said);
        }
        digest
    }

    /// The hash of what a way says to any box.
    pub(crate) fn said(&self, way: WayId, objects: &Objects) -> Option<u128> {
        let Stored { way, said, .. } = self.ways.get(way)?;
        if way.object == 0 {
            return *said;
        }
        objects.said(way)
    }

    /// What the best route of a prefix in a kernel table says to any box.
    pub(crate) fn best_said(
        &self,
        table: u32,
        prefix: Prefix<A>,
        objects: &Objects,
    ) -> Option<String> {
        let (Stored { way, .. }, _) = self.best(table, prefix)?;
        match way.object {
            0 => digest::said(way, way.hops()),
            object => digest::said(way, &objects.hops(object)),
        }
    }

    /// What the engine must answer for exactly this prefix; [`NextHop::NONE`]: nothing of its own.
    pub fn answer(&self, domain: u32, prefix: Prefix<A>) -> NextHop {
        if let Some((stored, _)) = self.best(LOCAL_TABLE, prefix) {
            return stored.next_hop;
        }
        if let Some((stored, more)) = self.best(domain, prefix) {
            let mut local = self.wide_local.iter();
            if local.any(|local| local.contains(prefix.address()))
                || (more && self.contested(domain, prefix))
            {
                return fixed::PUNT;
            }
            let on_link = stored.connected.and_then(|_| self.host(domain, prefix));
            return match on_link {
                Some((link, id)) if stored.connected == Some(link) => id,
                _ => stored.next_hop,
            };
        }
        if domain == MAIN_TABLE && self.best(DEFAULT_TABLE, prefix).is_some() {
            return fixed::PUNT;
        }
        self.host(domain, prefix)
            .map_or(NextHop::NONE, |(_, id)| id)
    }

    /// Is it for the kernel to choose among the alternatives of this prefix? So when one of them
    /// looks at more than the destination, and in IPv6 when two are equally good and not one
    /// multipath route.
    fn contested(&self, table: u32, prefix: Prefix<A>) -> bool {
        let ways = self.tables.get(&table).map(|routes| routes.ways(prefix));
        let ways = ways.unwrap_or_default();
        let mut stored = ways.iter().filter_map(|&way| self.ways.get(way));
        let tie = A::V6 && ways.len() > 1 && self.ways.metric(ways[0]) == self.ways.metric(ways[1]);
        tie || stored.any(|stored| stored.way.special)
    }

    /// A route is there.
    pub fn put(
        &mut self,
        table: u32,
        prefix: Prefix<A>,
        way: Way,
        placement: Placement,
        shared: &mut Shared,
    ) {
        let multipath = A::V6 && way.object == 0;
        if way.kind == RouteKind::Local && table != LOCAL_TABLE {
            self.local_changed |= !self.local_elsewhere;
            self.local_elsewhere = true;
        }
        let id = self.ways.find(&way).unwrap_or_else(|| {
            let before = self.best(table, prefix);
            let before = before.map_or(NextHop::NONE, |(stored, _)| stored.next_hop);
            let (next_hop, connected) = shared.resolve(&way, A::V6, before);
            self.ways.add(way, next_hop, connected)
        });
        let mark = self.mark;
        self.change_routes(table, prefix, shared, |routes, ways| {
            let metric = |way| ways.metric(way);
            // The kernel announces an IPv6 multipath route anew, with all members, whenever one
            // joins.
            let same = |old| {
                let both = (ways.get(old), ways.get(id));
                multipath
                    && matches!(both, (Some(old), Some(new)) if old.way.is_regrouped(&new.way))
            };
            let dropped = routes.put(prefix, id, placement, mark, metric, same);
            dropped.into_iter().collect()
        });
    }

    /// A route is gone.
    pub fn remove(&mut self, table: u32, prefix: Prefix<A>, way: &Way, shared: &mut Shared) {
        let Some(routes) = self.tables.get(&table) else {
            return;
        };
        let candidates = routes.ways(prefix);
        let stored = |id: &WayId| self.ways.get(*id).map(|stored| &stored.way);
        let exact = candidates.iter().find(|&id| stored(id) == Some(way));
        if exact.is_none()
            && let Some(smaller) = candidates.iter().find_map(|id| stored(id)?.without(way))
        {
            self.put(table, prefix, smaller, Placement::Last, shared);
            return;
        }
        let equal = |id: &&WayId| self.ways.metric(**id) == way.metric;
        let equals: Vec<&WayId> = candidates.iter().filter(equal).collect();
        let only = <[&WayId; 1]>::try_from(equals).ok().map(|[only]| only);
        if let Some(&gone) = exact.or(only) {
            self.change_routes(table, prefix, shared, |routes, _| {
                routes.remove(prefix, |other| other.way == gone)
            });
        }
    }

    /// Changes the routes of one prefix, and tells the engine what follows: new answers, neighbours
    /// that come to the fore or step back, ways that nobody uses any more.
    fn change_routes(
        &mut self,
        table: u32,
        prefix: Prefix<A>,
        shared: &mut Shared,
        change: impl FnOnce(&mut RouteTable<A>, &Ways) -> Vec<WayId>,
    ) {
        let dropped = self.change(table, prefix, shared, |family| {
            change(family.tables.entry(table).or_default(), &family.ways)
        });
        self.review_hosts(prefix, shared);
        for way in dropped {
            self.release(way, shared);
        }
        self.local_changed |= table == LOCAL_TABLE;
        if table != LOCAL_TABLE || prefix.length() == A::BITS {
            return;
        }
        let known = self.wide_local.iter().position(|wide| *wide == prefix);
        match (known, self.best(table, prefix)) {
            (None, Some(_)) => self.wide_local.push(prefix),
            (Some(at), None) => drop(self.wide_local.swap_remove(at)),
            _ => return,
        }
        self.emit_inside(prefix, shared);
    }

    /// Changes what is known of one prefix of a kernel table, and tells the engine the answers that
    /// are new.
    fn change<T>(
        &mut self,
        table: u32,
        prefix: Prefix<A>,
        shared: &mut Shared,
        change: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let mut before = std::mem::take(&mut self.before);
        let domains = shared.domains.iter().copied();
        let domains = domains.filter(|&domain| Shared::shows(table, domain));
        before.extend(domains.map(|domain| (domain, self.answer(domain, prefix))));
        let outcome = change(self);
        for (domain, before) in before.drain(..) {
            let after = self.answer(domain, prefix);
            if after != before {
                shared.push(A::change(domain, prefix, after));
            }
        }
        self.before = before;
        outcome
    }

    fn release(&mut self, way: WayId, shared: &mut Shared) {
        if let Some(stored) = self.ways.release(way) {
            shared.next_hops.release(stored.next_hop);
        }
    }

    /// Tells the engine every answer of a domain.
    pub fn emit_domain(&self, domain: u32, shared: &mut Shared) {
        let mut seen = HashSet::new();
        let tables = self.tables.keys().copied();
        let shown = tables.filter(|&table| Shared::shows(table, domain));
        let hosts = self.hosts().filter(|(_, other, _)| *other == domain);
        let hosts = hosts.map(|(address, _, _)| Prefix::containing(address, A::BITS));
        for prefix in shown.flat_map(|table| self.prefixes(table)).chain(hosts) {
            let answer = self.answer(domain, prefix);
            if answer != NextHop::NONE && seen.insert(prefix) {
                shared.push(A::change(domain, prefix, answer));
            }
        }
    }

    /// How many answers a domain has, at most.
    pub fn size(&self, domain: u32) -> usize {
        let tables = self.tables.iter();
        let shown = tables.filter(|(table, _)| Shared::shows(**table, domain));
        let hosts = self.hosts().filter(|(_, other, _)| *other == domain);
        shown.map(|(_, routes)| routes.len()).sum::<usize>() + hosts.count()
    }

    /// Repeats the answers inside a prefix whose shadow changed.
    fn emit_inside(&mut self, outer: Prefix<A>, shared: &mut Shared) {
        let inside = |prefix: &Prefix<A>| {
            outer.contains(prefix.address()) && prefix.length() > outer.length()
        };
        for domain in shared.domains.clone() {
            for prefix in self.prefixes(domain).filter(inside) {
                shared.push(A::change(domain, prefix, self.answer(domain, prefix)));
            }
        }
        self.review_hosts(outer, shared);
    }

    /// The links of all ways that leave by `link`, itself among them.
    pub fn links_beside(&self, link: u32) -> HashSet<u32> {
        let leaves = |stored: &Stored| stored.way.hops().iter().any(|hop| hop.link == link);
        let ways = self.ways.all(leaves).into_iter();
        let ways = ways.filter_map(|id| self.ways.get(id));
        ways.flat_map(|stored| stored.way.hops())
            .map(|hop| hop.link)
            .collect()
    }

    /// Removes every route by the ways for which `dead` holds, or begins to.
    pub fn purge(&mut self, dead: impl Fn(&Way) -> bool, shared: &mut Shared) {
        let ways = self.ways.all(|stored| dead(&stored.way));
        if ways.is_empty() {
            return;
        }
        let routes: u64 = ways.iter().map(|&way| self.ways.users(way)).sum();
        let under_way = self.doomed.take();
        let few = under_way.is_none() && routes <= AT_ONCE;
        // What joins a removal under way has it begin again: its first parts are done in no time.
        let mut all = under_way.map_or_else(Vec::new, |doomed| doomed.ways);
        for way in ways {
            if let Err(at) = all.binary_search(&way) {
                self.ways.hold(way);
                all.insert(at, way);
            }
        }
        self.doomed = Some(Doomed { ways: all, part: 0 });
        if few {
            self.finish_purge(shared);
        }
    }

    /// Are there routes still to be removed?
    pub fn is_purging(&self) -> bool {
        self.doomed.is_some()
    }

    /// Does this way belong to routes that are still to be removed?
    pub fn is_doomed(&self, way: &Way) -> bool {
        let number = self.ways.number(way);
        let is_dead =
            |doomed: &Doomed| number.is_some_and(|way| doomed.ways.binary_search(&way).is_ok());
        self.doomed.as_ref().is_some_and(is_dead)
    }

    /// Removes all that is still to be removed.
    pub fn finish_purge(&mut self, shared: &mut Shared) {
        while self.doomed.is_some() {
            self.purge_part(shared);
        }
    }

    /// Removes what is to be removed from the next part of every table.
    pub fn purge_part(&mut self, shared: &mut Shared) {
        let Some(Doomed { ways, part }) = self.doomed.take() else {
            return;
        };
        self.clear_part(part, shared, |other| ways.binary_search(&other.way).is_ok());
        let part = part + 1;
        if part < PARTS {
            self.doomed = Some(Doomed { ways, part });
        } else {
            for way in ways {
                self.release(way, shared);
            }
        }
    }

    /// From now on routes are marked as of a new round, in which a whole dump of the kernel's says
    /// which there are.
    pub fn begin_round(&mut self) {
        self.mark = self.mark.wrapping_add(1);
    }

    /// The kernel has this very route: if it is here, it is seen; if not, nothing happens.
    pub fn see(&mut self, table: u32, prefix: Prefix<A>, way: &Way) {
        if let Some(way) = self.ways.number(way)
            && let Some(routes) = self.tables.get_mut(&table)
        {
            routes.see(prefix, way, self.mark);
        }
    }

    /// Removes the routes of one part of every table, from 0 to [`PARTS`], that were not seen in
    /// this round; returns how many prefixes that touched.
    pub fn sweep_part(&mut self, part: usize, shared: &mut Shared) -> usize {
        let mark = self.mark;
        let swept = self.clear_part(part, shared, |other| other.mark != mark);
        self.tables.retain(|_, routes| !routes.is_empty());
        for routes in self.tables.values_mut() {
            routes.shrink_part(part);
        }
        swept
    }

    /// Removes the routes of one part of every table for which `gone` holds; returns how many
    /// prefixes that touched.
    fn clear_part(
        &mut self,
        part: usize,
        shared: &mut Shared,
        gone: impl Fn(&Alternative) -> bool,
    ) -> usize {
        let mut touched = Vec::new();
        for (&table, routes) in &self.tables {
            let prefixes = routes.with(part, &gone).into_iter();
            touched.extend(prefixes.map(|prefix| (table, prefix)));
        }
        for &(table, prefix) in &touched {
            self.change_routes(table, prefix, shared, |routes, _| {
                routes.remove(prefix, &gone)
            });
        }
        touched.len()
    }
}
