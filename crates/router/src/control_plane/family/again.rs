//! Numbers of next hops have come back: whoever was refused one asks again.

use std::collections::HashSet;

use fib::{NextHop, Prefix};

use super::{Family, Host};
use crate::control_plane::model::RouteKind;
use crate::control_plane::next_hops::Content;
use crate::control_plane::routed::Routed;
use crate::control_plane::routes::{Alternative, Stored, WayId};
use crate::control_plane::shared::Shared;
use crate::control_plane::slots::PARTS;
use crate::control_plane::surroundings::HopKey;
use crate::engine::fixed;

impl<A: Routed> Family<A> {
    /// Ways and neighbours that were refused a number ask again, and the engine gets the answers
    /// that are new. Not while routes are being removed.
    pub fn try_again(&mut self, shared: &mut Shared) {
        let next_hops = &shared.next_hops;
        let refused = self.ways.all(|Stored { way, next_hop, .. }| {
            way.kind == RouteKind::Unicast && !way.special && next_hops.is_refused(*next_hop)
        });
        let (mut new, mut gone) = (HashSet::new(), Vec::new());
        for id in refused {
            let Some(Stored { way, next_hop, .. }) = self.ways.get(id) else {
                continue;
            };
            let (old, way) = (*next_hop, way.clone());
            let (next_hop, connected) = shared.resolve(&way, A::V6, old);
            self.ways.set_next_hop(id, next_hop, connected);
            gone.push(old);
            if old != next_hop {
                new.insert(id);
            }
        }
        if !new.is_empty() {
            self.emit_ways(&new, shared);
        }
        for old in gone {
            shared.next_hops.release(old);
        }
        self.hosts_again(shared);
    }

    /// Tells the engine every answer by these ways.
    fn emit_ways(&self, ways: &HashSet<WayId>, shared: &mut Shared) {
        let by_them = |other: &Alternative| ways.contains(&other.way);
        for (&table, routes) in &self.tables {
            for prefix in (0..PARTS).flat_map(|part| routes.with(part, by_them)) {
                for domain in shared.domains.clone() {
                    if Shared::shows(table, domain) {
                        shared.push(A::change(domain, prefix, self.answer(domain, prefix)));
                    }
                }
            }
        }
    }

    fn hosts_again(&mut self, shared: &mut Shared) {
        let refused = self.hosts.iter().filter(|(_, host)| host.id == fixed::PUNT);
        let refused: Vec<_> = refused.map(|(&at, host)| (at, host.domain)).collect();
        for (at @ (address, link), domain) in refused {
            let (gateway, mtu) = (address.to_ip(), 0);
            let hop = Content::Hop(HopKey { link, gateway, mtu });
            let id = shared.next_hops.share(hop, NextHop::NONE);
            let prefix = Prefix::containing(address, A::BITS);
            self.change(domain, prefix, shared, |family| {
                family.hosts.insert(at, Host { domain, id });
            });
        }
    }
}
