//! The two ends of a resynchronisation: a dump is taken in, and what was not in it goes.

use std::net::IpAddr;

use fib::IpPrefix;

use super::Mirror;
use super::round::{Round, Swept};
use crate::control_plane::model::{Event, LinkAddress};
use crate::control_plane::slots::PARTS;
use crate::engine::Change;

impl Mirror {
    /// Begins to take in a whole dump of the kernel's state. Nothing is removed before it has
    /// ended.
    pub fn begin_round(&mut self) {
        self.round = Some(Round::default());
        self.v4.begin_round();
        self.v6.begin_round();
    }

    /// Takes in one event of the dump.
    pub fn apply_dumped(&mut self, event: Event, out: &mut Vec<Change>) {
        if let Some(round) = &mut self.round {
            round.note(&event);
            if let Event::Route(route, _) = &event
                && round.was_announced(route)
            {
                match route.destination {
                    IpPrefix::V4(prefix) => self.v4.see(route.table, prefix, &route.way),
                    IpPrefix::V6(prefix) => self.v6.see(route.table, prefix, &route.way),
                }
                return;
            }
        }
        self.take_in(event, out);
    }

    /// The dump has come to the routes: removes everything else that was not in it; says how much
    /// that was.
    pub fn sweep_surroundings(&mut self, out: &mut Vec<Change>) -> usize {
        let Some(round) = &mut self.round else {
            return 0;
        };
        let round = std::mem::take(round);
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
        others
    }

    /// The dump was complete: removes the routes that were not in it from one part of every table;
    /// says how many prefixes that touched, and `None` when there is no such part: the round is
    /// over then.
    pub fn sweep_routes(&mut self, part: usize, out: &mut Vec<Change>) -> Option<usize> {
        if part >= PARTS {
            self.round = None;
            return None;
        }
        let v4 = self.v4.sweep_part(part, &mut self.shared, out);
        Some(v4 + self.v6.sweep_part(part, &mut self.shared, out))
    }

    /// The dump was complete, and nothing was announced meanwhile: removes what was not in it.
    pub fn end_round(&mut self, out: &mut Vec<Change>) -> Swept {
        let others = self.sweep_surroundings(out);
        let mut routes = 0;
        let mut part = 0;
        while let Some(swept) = self.sweep_routes(part, out) {
            routes += swept;
            part += 1;
        }
        Swept { routes, others }
    }
}
