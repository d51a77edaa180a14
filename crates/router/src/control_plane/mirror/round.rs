//! Resynchronisation by mark and sweep: a whole dump is taken in, and only at its end goes what was
//! not in it. So forwarding never stops, and a dump that failed is simply begun again.
//!
//! Announcements may be taken in between any two messages of the dump. What one says of a route, a
//! link or anything else is newer than, or as new as, what the dump says of it: the announcements
//! come in the kernel's order, and those that are still to come say what happened since. So what
//! was announced in this round is no longer the dump's to tell; of a route, the dump only confirms
//! what is here already. The same holds for what the kernel may have removed in silence since
//! ([`super::causes`]): the dump may be older, and the suspicion has the tables read once more.

use std::borrow::Borrow;
use std::collections::{BTreeSet, HashSet};
use std::net::IpAddr;

use fib::IpPrefix;

use super::Mirror;
use crate::control_plane::model::{
    Event, Link, LinkAddress, Neighbour, NextHopObject, ObjectKind, Rule, Way,
};
use crate::control_plane::slots::PARTS;

/// What a resynchronisation has seen so far; routes carry marks of their own.
#[derive(Debug, Default)]
pub(super) struct Round {
    seen: HashSet<Key>,
    rules: BTreeSet<Rule>,
    /// What was announced since it began.
    announced: HashSet<Key>,
    bereaved: Bereaved,
}

/// What lost something in this round with which the kernel removes more in silence.
#[derive(Debug, Default)]
struct Bereaved {
    /// Links that went, went down or lost an IPv4 address; and those that lost their carrier.
    links: HashSet<u32>,
    without_carrier: HashSet<u32>,
    addresses: HashSet<IpAddr>,
    objects: HashSet<u32>,
}

impl Bereaved {
    fn note(&mut self, event: &Event) {
        match event {
            Event::Link(link) if !link.up => self.links.extend([link.index]),
            Event::Link(link) if !link.carrier => self.without_carrier.extend([link.index]),
            Event::LinkGone(index) => self.links.extend([*index]),
            Event::AddressGone(gone) if gone.address.is_ipv4() => {
                self.links.insert(gone.link);
                self.addresses.insert(gone.address);
            }
            Event::ObjectGone(id) => self.objects.extend([*id]),
            _ => {}
        }
    }

    /// May this route be gone?
    fn concerns(&self, way: &Way) -> bool {
        self.objects.contains(&way.object)
            || way.hops().iter().any(|hop| self.links.contains(&hop.link))
            || way
                .source
                .is_some_and(|source| self.addresses.contains(&source))
    }

    /// May this object be gone, or have lost a member?
    fn concerns_object(&self, kind: &ObjectKind) -> bool {
        match kind {
            ObjectKind::Hop(hop) => {
                self.links.contains(&hop.link) || self.without_carrier.contains(&hop.link)
            }
            ObjectKind::Group(members) => members.iter().any(|(id, _)| self.objects.contains(id)),
            ObjectKind::Blackhole | ObjectKind::Other => false,
        }
    }
}

/// What an event is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Link(u32),
    Address(LinkAddress),
    Neighbour(u32, IpAddr),
    Rule(Rule),
    Object(u32),
    /// Table, prefix, metric.
    Route(u32, IpPrefix, u32),
}

impl Round {
    /// Notes what an event says is there.
    pub(super) fn note(&mut self, event: &Event) {
        match event {
            Event::Rule(rule) => self.rules.extend([rule.clone()]),
            Event::Link(_) | Event::Address(_) | Event::Neighbour(_) | Event::Object(_) => {
                self.seen.extend([key(event)]);
            }
            _ => {}
        }
    }

    /// Notes what was announced.
    pub(super) fn announce(&mut self, event: &Event) {
        if let Event::RuleGone(rule) = event {
            self.rules.remove(rule);
        }
        self.announced.insert(key(event));
    }

    /// Notes what was announced with which the kernel may have removed more.
    pub(super) fn bereave(&mut self, event: &Event) {
        self.bereaved.note(event);
    }

    /// Is what the dump says here older than what was announced, or may it be?
    fn knows_better(&self, event: &Event) -> bool {
        self.announced.contains(&key(event))
            || match event {
                Event::Route(route, _) => self.bereaved.concerns(&route.way),
                Event::Object(object) => self.bereaved.concerns_object(&object.kind),
                _ => false,
            }
    }
}

fn key(event: &Event) -> Key {
    match event {
        Event::Link(Link { index, .. }) | Event::LinkGone(index) => Key::Link(*index),
        Event::Address(address) | Event::AddressGone(address) => Key::Address(*address),
        Event::Neighbour(Neighbour { link, address, .. }) | Event::NeighbourGone(link, address) => {
            Key::Neighbour(*link, *address)
        }
        Event::Rule(rule) | Event::RuleGone(rule) => Key::Rule(rule.clone()),
        Event::Object(NextHopObject { id, .. }) | Event::ObjectGone(id) => Key::Object(*id),
        Event::Route(route, _) | Event::RouteGone(route) => {
            Key::Route(route.table, route.destination, route.way.metric)
        }
    }
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
    /// Begins to take in a whole dump of the kernel's state. Nothing is removed before it has
    /// ended.
    pub fn begin_round(&mut self) {
        self.round = Some(Round::default());
        self.v4.begin_round();
        self.v6.begin_round();
    }

    /// The dump did not come to its end: nothing is removed.
    pub fn give_up_round(&mut self) {
        self.round = None;
    }

    /// Takes in one event of the dump.
    pub fn apply_dumped(&mut self, event: Event) {
        if let Some(round) = &mut self.round {
            if round.knows_better(&event) {
                if let Event::Route(route, _) = &event {
                    match route.destination {
                        IpPrefix::V4(prefix) => self.v4.see(route.table, prefix, &route.way),
                        IpPrefix::V6(prefix) => self.v6.see(route.table, prefix, &route.way),
                    }
                }
                return;
            }
            round.note(&event);
        }
        self.take_in(event);
    }

    /// The dump has come to the routes: removes everything else that was not in it; says how much
    /// that was.
    pub fn sweep_surroundings(&mut self) -> usize {
        let Some(mut round) = self.round.take() else {
            return 0;
        };
        self.round = Some(Round {
            announced: std::mem::take(&mut round.announced),
            bereaved: std::mem::take(&mut round.bereaved),
            ..Round::default()
        });
        let around = &self.shared.next_hops.around;
        let links = unseen(around.links.keys(), Key::Link, &round.seen);
        let mut others = links.len();
        for index in links {
            self.link_gone(index);
        }
        let around = &self.shared.next_hops.around;
        let addresses = unseen(around.addresses(), Key::Address, &round.seen);
        others += addresses.len();
        for address in addresses {
            self.address_gone(address);
        }
        let around = &self.shared.next_hops.around;
        let of_neighbour = |(link, address)| Key::Neighbour(link, address);
        let neighbours = unseen(around.neighbours.keys(), of_neighbour, &round.seen);
        others += neighbours.len();
        for key in neighbours {
            self.neighbour_gone(key);
        }
        let objects = unseen(self.shared.objects.numbers(), Key::Object, &round.seen);
        others += objects.len();
        self.objects_gone(&objects);
        self.rule_changes += u64::from(self.rules != round.rules);
        self.rules = round.rules;
        others
    }

    /// The dump was complete: removes the routes that were not in it from one part of every table;
    /// says how many prefixes that touched, and `None` when there is no such part: the round is
    /// over then.
    pub fn sweep_routes(&mut self, part: usize) -> Option<usize> {
        if part >= PARTS {
            self.round = None;
            return None;
        }
        let v4 = self.v4.sweep_part(part, &mut self.shared);
        Some(v4 + self.v6.sweep_part(part, &mut self.shared))
    }
}

/// What is known and was not seen.
fn unseen<T: Copy>(
    known: impl Iterator<Item = impl Borrow<T>>,
    key: impl Fn(T) -> Key,
    seen: &HashSet<Key>,
) -> Vec<T> {
    let known = known.map(|one| *one.borrow());
    known.filter(|&one| !seen.contains(&key(one))).collect()
}
