//! Resynchronisation by mark and sweep: a whole dump is taken in, and only at its end goes what was
//! not in it. So forwarding never stops, and a dump that failed is simply begun again.
//!
//! Announcements may be taken in between any two routes of the dump. What one says of a route is
//! newer than, or as new as, what the dump says of it: the announcements come in the kernel's
//! order, and those that are still to come say what happened since. So a route that was announced
//! in this round is no longer the dump's to tell; it only confirms what is here already.

use std::collections::{BTreeSet, HashSet};
use std::net::IpAddr;

use fib::IpPrefix;

use crate::control_plane::model::{Event, LinkAddress, Route, Rule};

/// What a resynchronisation has seen so far; routes carry marks of their own.
#[derive(Debug, Default)]
pub(super) struct Round {
    pub(super) links: HashSet<u32>,
    pub(super) addresses: HashSet<LinkAddress>,
    pub(super) neighbours: HashSet<(u32, IpAddr)>,
    pub(super) objects: HashSet<u32>,
    pub(super) rules: BTreeSet<Rule>,
    /// Routes that were announced since it began: table, prefix, metric.
    announced: HashSet<(u32, IpPrefix, u32)>,
}

impl Round {
    /// Notes what an event says is there.
    pub(super) fn note(&mut self, event: &Event) {
        match event {
            Event::Link(link) => {
                self.links.insert(link.index);
            }
            Event::Address(address) => {
                self.addresses.insert(*address);
            }
            Event::Neighbour(neighbour) => {
                self.neighbours.insert((neighbour.link, neighbour.address));
            }
            Event::Object(object) => {
                self.objects.insert(object.id);
            }
            Event::Rule(rule) => {
                self.rules.insert(rule.clone());
            }
            _ => {}
        }
    }

    /// Was this route announced since the round began?
    pub(super) fn was_announced(&self, route: &Route) -> bool {
        self.announced.contains(&key(route))
    }

    /// Notes that a route was announced.
    pub(super) fn announce(&mut self, event: &Event) {
        if let Event::Route(route, _) | Event::RouteGone(route) = event {
            self.announced.insert(key(route));
        }
    }
}

fn key(route: &Route) -> (u32, IpPrefix, u32) {
    (route.table, route.destination, route.way.metric)
}

/// What a resynchronisation found that no message had told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Prefixes whose routes the kernel no longer has.
    pub routes: usize,
    /// Everything else.
    pub others: usize,
}
