//! The routes of one kernel table and family: every alternative of every prefix, best first.
//!
//! Nearly every prefix has one route; it sits in the map itself (16 bytes with its key, IPv4). Only
//! prefixes with several (other metrics, appended routes) have a list on the side. A mark says in
//! which round a route was last seen, so that a resynchronisation can sweep what the kernel no
//! longer has without a moment in which routes are missing.

use std::collections::HashMap;

use fib::{Address, Prefix};

use super::model::Placement;
use super::slots::Slots;
use super::ways::WayId;

/// One route of a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alternative {
    /// Its way.
    pub way: WayId,
    mark: u8,
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
}

impl<A: Address> Default for RouteTable<A> {
    fn default() -> Self {
        Self {
            slots: Slots::default(),
            lists: HashMap::new(),
            lengths: vec![0; usize::from(A::BITS) + 1],
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
        match self.slots.get(prefix) {
            None => Vec::new(),
            Some(slot) if !slot.more => vec![slot.best.way],
            Some(_) => self
                .lists
                .get(&prefix)
                .into_iter()
                .flatten()
                .map(|other| other.way)
                .collect(),
        }
    }

    /// The best way of a prefix, and whether there are others.
    pub fn best(&self, prefix: Prefix<A>) -> Option<(WayId, bool)> {
        self.slots
            .get(prefix)
            .map(|slot| (slot.best.way, slot.more))
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
        let Some(slot) = self.slots.get_mut(prefix) else {
            self.slots.insert(
                prefix,
                Slot {
                    best: new,
                    more: false,
                },
            );
            self.lengths[usize::from(prefix.length())] += 1;
            return None;
        };
        let equal = |other: WayId| metric(other) == metric(way);
        if !slot.more {
            let old = slot.best.way;
            if old == way || same(old) || (placement == Placement::Replace && equal(old)) {
                slot.best = new;
                return Some(old);
            }
            slot.more = true;
            self.lists.insert(prefix, vec![slot.best]);
        }
        let list = self.lists.entry(prefix).or_default();
        let at = list
            .iter()
            .position(|other| other.way == way)
            .or_else(|| list.iter().position(|other| same(other.way)))
            .or_else(|| {
                list.iter()
                    .position(|other| placement == Placement::Replace && equal(other.way))
            });
        if let Some(at) = at {
            let old = std::mem::replace(&mut list[at], new).way;
            slot.best = list[0];
            return Some(old);
        }
        let at = match placement {
            Placement::First => list
                .iter()
                .position(|other| metric(other.way) >= metric(way)),
            _ => list
                .iter()
                .position(|other| metric(other.way) > metric(way)),
        };
        list.insert(at.unwrap_or(list.len()), new);
        slot.best = list[0];
        None
    }

    /// Takes the routes out for which `gone` holds; returns their ways.
    pub fn remove(&mut self, prefix: Prefix<A>, gone: impl Fn(WayId) -> bool) -> Vec<WayId> {
        self.remove_alternatives(prefix, |other| gone(other.way))
    }

    fn remove_alternatives(
        &mut self,
        prefix: Prefix<A>,
        gone: impl Fn(&Alternative) -> bool,
    ) -> Vec<WayId> {
        let Some(slot) = self.slots.get_mut(prefix) else {
            return Vec::new();
        };
        if !slot.more {
            if !gone(&slot.best) {
                return Vec::new();
            }
            let way = slot.best.way;
            self.slots.remove(prefix);
            self.lengths[usize::from(prefix.length())] -= 1;
            return vec![way];
        }
        let Some(list) = self.lists.get_mut(&prefix) else {
            return Vec::new();
        };
        let (out, left): (Vec<_>, Vec<_>) = list.drain(..).partition(|other| gone(other));
        match left.as_slice() {
            [] => {
                self.lists.remove(&prefix);
                self.slots.remove(prefix);
                self.lengths[usize::from(prefix.length())] -= 1;
            }
            [only] => {
                *slot = Slot {
                    best: *only,
                    more: false,
                };
                self.lists.remove(&prefix);
            }
            [first, ..] => {
                slot.best = *first;
                *list = left;
            }
        }
        out.into_iter().map(|other| other.way).collect()
    }

    /// The prefixes of one part of the table, from 0 to [`super::slots::PARTS`], with a route for
    /// which `wanted` holds.
    pub fn prefixes_by(&self, part: usize, wanted: impl Fn(WayId) -> bool) -> Vec<Prefix<A>> {
        self.with(self.slots.part_entries(part), |other| wanted(other.way))
    }

    /// The prefixes of one part of the table, from 0 to [`super::slots::PARTS`], with a route that
    /// was not seen in round `mark`.
    pub fn unseen(&self, part: usize, mark: u8) -> Vec<Prefix<A>> {
        self.with(self.slots.part_entries(part), |other| other.mark != mark)
    }

    fn with<'a>(
        &'a self,
        among: impl Iterator<Item = (&'a Prefix<A>, &'a Slot)>,
        wanted: impl Fn(&Alternative) -> bool,
    ) -> Vec<Prefix<A>>
    where
        A: 'a,
    {
        among
            .filter(|(prefix, slot)| {
                if slot.more {
                    let list = self.lists.get(prefix);
                    list.is_some_and(|list| list.iter().any(&wanted))
                } else {
                    wanted(&slot.best)
                }
            })
            .map(|(prefix, _)| *prefix)
            .collect()
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

    /// Takes out the routes of a prefix that were not seen in round `mark`; returns their ways.
    pub fn sweep(&mut self, prefix: Prefix<A>, mark: u8) -> Vec<WayId> {
        self.remove_alternatives(prefix, |other| other.mark != mark)
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

    /// Gives back memory that one part once needed and no longer does.
    pub fn shrink_part(&mut self, number: usize) {
        self.slots.shrink_part(number);
        if number == 0 {
            self.lists.shrink_to_fit();
        }
    }
}
