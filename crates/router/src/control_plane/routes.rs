//! The routes of one kernel table and family: every alternative of every prefix, best first; and
//! the ways that they go, each stored once.
//!
//! Nearly every prefix has one route; it sits in the map itself (16 bytes with its key, IPv4). Only
//! prefixes with several (other metrics, appended routes) have a list on the side. A mark says in
//! which round a route was last seen, so that a resynchronisation can sweep what the kernel no
//! longer has without a moment in which routes are missing.
//!
//! A way is what a route does, without its prefix ([`Way`]). A full Internet table has a million
//! prefixes and a few hundred distinct ways. Routes hold the way's number, so "every route by this
//! link" is a question about a few hundred ways.

use std::collections::HashMap;

use fib::{Address, NextHop, Prefix};

use super::digest::{self, Sum, Sums};
use super::model::{Placement, Way};
use super::slots::Slots;

/// Number of a stored way.
pub type WayId = u32;

/// A stored way.
#[derive(Debug)]
pub struct Stored {
    /// The way.
    pub way: Way,
    /// The next hop that its routes answer with.
    pub next_hop: NextHop,
    /// Set when the destinations themselves are on this link.
    pub connected: Option<u32>,
    /// The hash of what it says to any box ([`super::digest::said`]); of a way by a nexthop object
    /// none, since that changes.
    pub said: Option<u128>,
    users: u32,
}

/// The store.
#[derive(Debug, Default)]
pub struct Ways {
    slots: Vec<Option<Stored>>,
    free: Vec<WayId>,
    index: HashMap<Way, WayId>,
    latest: Option<WayId>,
}

impl Ways {
    /// The number of an equal way, with one use more.
    pub fn find(&mut self, way: &Way) -> Option<WayId> {
        let same = self
            .latest
            .filter(|&id| self.get(id).is_some_and(|stored| stored.way == *way));
        let id = same.or_else(|| self.index.get(way).copied())?;
        self.latest = Some(id);
        self.hold(id);
        Some(id)
    }

    /// How many uses a way has.
    pub fn users(&self, id: WayId) -> u64 {
        self.get(id).map_or(0, |stored| u64::from(stored.users))
    }

    /// One use more.
    pub fn hold(&mut self, id: WayId) {
        if let Some(stored) = self.slots.get_mut(id as usize).and_then(Option::as_mut) {
            stored.users += 1;
        }
    }

    /// The number of an equal way.
    pub fn number(&self, way: &Way) -> Option<WayId> {
        self.index.get(way).copied()
    }

    /// Stores a way that [`Ways::find`] did not find, with one use.
    pub fn add(&mut self, way: Way, next_hop: NextHop, connected: Option<u32>) -> WayId {
        let said = digest::said(&way, way.hops()).filter(|_| way.object == 0);
        let stored = Some(Stored {
            way: way.clone(),
            next_hop,
            connected,
            said: said.map(|text| digest::of_text(&text)),
            users: 1,
        });
        let id = if let Some(id) = self.free.pop() {
            self.slots[id as usize] = stored;
            id
        } else {
            self.slots.push(stored);
            (self.slots.len() - 1) as WayId
        };
        self.index.insert(way, id);
        self.latest = Some(id);
        id
    }

    /// One use less. The last one removes the way and returns it, so that its next hop can be
    /// released.
    pub fn release(&mut self, id: WayId) -> Option<Stored> {
        let place = self.slots.get_mut(id as usize)?;
        let stored = place.as_mut()?;
        stored.users -= 1;
        if stored.users > 0 {
            return None;
        }
        let stored = place.take()?;
        self.index.remove(&stored.way);
        self.free.push(id);
        if self.latest == Some(id) {
            self.latest = None;
        }
        Some(stored)
    }

    /// A stored way.
    pub fn get(&self, id: WayId) -> Option<&Stored> {
        self.slots.get(id as usize)?.as_ref()
    }

    /// Puts another next hop behind a way.
    pub fn set_next_hop(&mut self, id: WayId, next_hop: NextHop, connected: Option<u32>) {
        if let Some(Some(stored)) = self.slots.get_mut(id as usize) {
            (stored.next_hop, stored.connected) = (next_hop, connected);
        }
    }

    /// The metric of a way; the largest for one that is not stored.
    pub fn metric(&self, id: WayId) -> u32 {
        self.get(id).map_or(u32::MAX, |stored| stored.way.metric)
    }

    /// The numbers of the ways for which `wanted` holds.
    pub fn all(&self, wanted: impl Fn(&Stored) -> bool) -> Vec<WayId> {
        (0..)
            .zip(&self.slots)
            .filter(|(_, slot)| slot.as_ref().is_some_and(&wanted))
            .map(|(id, _)| id)
            .collect()
    }
}

/// One route of a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alternative {
    /// Its way.
    pub way: WayId,
    /// The round in which it was last seen.
    pub mark: u8,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    best: Alternative,
    more: bool,
}

/// The routes of one table.
#[derive(Debug)]
pub struct RouteTable<A> {
    slots: Slots<A, Slot>,
    lists: HashMap<Prefix<A>, Vec<Alternative>>,
    lengths: Vec<u32>,
    /// By the best way of each prefix.
    sums: Sums,
}

impl<A: Address> Default for RouteTable<A> {
    fn default() -> Self {
        Self {
            slots: Slots::default(),
            lists: HashMap::new(),
            lengths: vec![0; usize::from(A::BITS) + 1],
            sums: Sums::default(),
        }
    }
}

impl<A: Address> RouteTable<A> {
    /// How many prefixes have a route.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Is there no route at all?
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The ways of a prefix, best first.
    pub fn ways(&self, prefix: Prefix<A>) -> Vec<WayId> {
        let slot = self.slots.get(prefix);
        match slot.filter(|slot| slot.more) {
            Some(_) => self.lists[&prefix].iter().map(|other| other.way).collect(),
            None => slot.map(|slot| slot.best.way).into_iter().collect(),
        }
    }

    /// The best way of a prefix, and whether there are others.
    pub fn best(&self, prefix: Prefix<A>) -> Option<(WayId, bool)> {
        let slot = self.slots.get(prefix)?;
        Some((slot.best.way, slot.more))
    }

    /// The longest prefix that has a route and contains `address`.
    pub fn covering(&self, address: A) -> Option<Prefix<A>> {
        (0..=A::BITS)
            .rev()
            .filter(|&length| self.lengths[usize::from(length)] > 0)
            .map(|length| Prefix::containing(address, length))
            .find(|prefix| self.slots.contains(*prefix))
    }

    /// Puts a route in. `same` says of an older way whether the new one takes its place whatever
    /// the placement. Returns the way that is no longer used, if one: the old one, or `way`
    /// itself when it was there already.
    pub fn put(
        &mut self,
        prefix: Prefix<A>,
        way: WayId,
        placement: Placement,
        mark: u8,
        metric: impl Fn(WayId) -> u32,
        same: impl Fn(WayId) -> bool,
    ) -> Option<WayId> {
        let new = Alternative { way, mark };
        let mut all = self.take(prefix);
        if all.is_empty() {
            self.lengths[usize::from(prefix.length())] += 1;
            self.sums.change(prefix, None, Some(way));
            self.slots.insert(
                prefix,
                Slot {
                    best: new,
                    more: false,
                },
            );
            return None;
        }
        let before = all.first().map(|best| best.way);
        let first = |wanted: &dyn Fn(WayId) -> bool| all.iter().position(|other| wanted(other.way));
        let replaced = |other| placement == Placement::Replace && metric(other) == metric(way);
        let at = first(&|other| other == way)
            .or_else(|| first(&same))
            .or_else(|| first(&replaced));
        let old = if let Some(at) = at {
            Some(std::mem::replace(&mut all[at], new).way)
        } else {
            let at = match placement {
                Placement::First => first(&|other| metric(other) >= metric(way)),
                _ => first(&|other| metric(other) > metric(way)),
            };
            all.insert(at.unwrap_or(all.len()), new);
            None
        };
        self.sums
            .change(prefix, before, all.first().map(|best| best.way));
        self.keep(prefix, all);
        old
    }

    /// Takes the routes out for which `gone` holds; returns their ways.
    pub fn remove(&mut self, prefix: Prefix<A>, gone: impl Fn(&Alternative) -> bool) -> Vec<WayId> {
        let all = self.take(prefix);
        let before = all.first().map(|best| best.way);
        let (out, left): (Vec<_>, Vec<_>) = all.into_iter().partition(gone);
        let after = left.first().map(|best| best.way);
        self.sums.change(prefix, before, after);
        if !out.is_empty() && left.is_empty() {
            self.slots.remove(prefix);
            self.lengths[usize::from(prefix.length())] -= 1;
        } else {
            self.keep(prefix, left);
        }
        out.into_iter().map(|other| other.way).collect()
    }

    /// The routes of a prefix, best first, to be [kept](Self::keep) afterwards.
    fn take(&mut self, prefix: Prefix<A>) -> Vec<Alternative> {
        match self.slots.get(prefix) {
            None => Vec::new(),
            Some(slot) if slot.more => self.lists.remove(&prefix).unwrap_or_default(),
            Some(slot) => vec![slot.best],
        }
    }

    fn keep(&mut self, prefix: Prefix<A>, all: Vec<Alternative>) {
        let Some(&best) = all.first() else { return };
        let more = all.len() > 1;
        self.slots.insert(prefix, Slot { best, more });
        if more {
            self.lists.insert(prefix, all);
        }
    }

    /// The prefixes of one part of the table, from 0 to [`super::slots::PARTS`], with a route for
    /// which `wanted` holds.
    pub fn with(&self, part: usize, wanted: impl Fn(&Alternative) -> bool) -> Vec<Prefix<A>> {
        let holds = |(prefix, slot): &(&Prefix<A>, &Slot)| {
            let list = slot.more.then(|| self.lists.get(prefix)).flatten();
            list.map_or_else(|| wanted(&slot.best), |list| list.iter().any(&wanted))
        };
        let found = self.slots.part_entries(part).filter(holds);
        found.map(|(prefix, _)| *prefix).collect()
    }

    /// Marks a route as seen in round `mark`, if it is there.
    pub fn see(&mut self, prefix: Prefix<A>, way: WayId, mark: u8) {
        let Some(slot) = self.slots.get_mut(prefix) else {
            return;
        };
        if slot.best.way == way {
            slot.best.mark = mark;
        }
        if slot.more
            && let Some(list) = self.lists.get_mut(&prefix)
            && let Some(other) = list.iter_mut().find(|other| other.way == way)
        {
            other.mark = mark;
        }
    }

    /// The prefixes by their best way, summed up.
    pub(super) fn sums(&self) -> impl Iterator<Item = (WayId, Sum)> {
        self.sums.iter()
    }

    /// Every prefix that has a route.
    pub fn prefixes(&self) -> impl Iterator<Item = Prefix<A>> {
        self.slots.iter().map(|(prefix, _)| *prefix)
    }

    /// The prefixes of one part of the table, from 0 to [`super::slots::PARTS`]: a walk that can
    /// pause between parts.
    pub fn part(&self, number: usize) -> impl Iterator<Item = Prefix<A>> {
        self.slots.part(number)
    }

    /// The prefixes of one part, each with its best way.
    pub fn part_ways(&self, number: usize) -> impl Iterator<Item = (Prefix<A>, WayId)> {
        let entries = self.slots.part_entries(number);
        entries.map(|(prefix, slot)| (*prefix, slot.best.way))
    }

    /// Gives back memory that one part once needed and no longer does.
    pub fn shrink_part(&mut self, number: usize) {
        self.slots.shrink_part(number);
        if number == 0 {
            self.lists.shrink_to_fit();
        }
    }
}
