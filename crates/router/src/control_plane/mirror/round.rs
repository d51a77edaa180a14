//! Resynchronisation by mark and sweep: a whole dump is taken in as if it were announcements, and only at its end goes what
//! was not in it. So forwarding never stops, and a dump that failed is simply begun again.

use std::collections::{BTreeSet, HashSet};
use std::net::IpAddr;

use super::Mirror;
use crate::control_plane::model::{Event, LinkAddress, Rule};
use crate::engine::Change;

/// What a resynchronisation has seen so far; routes carry marks of their own.
#[derive(Debug, Default)]
pub(super) struct Round {
    links: HashSet<u32>,
    addresses: HashSet<LinkAddress>,
    neighbours: HashSet<(u32, IpAddr)>,
    objects: HashSet<u32>,
    rules: BTreeSet<Rule>,
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
}
