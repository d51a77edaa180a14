//! What the kernel does in silence, done here on the event that causes it.
//!
//! | cause | silently gone in the kernel (`net/ipv4/fib_semantics.c`, `nexthop.c`) |
//! |---|---|
//! | link down | IPv4 routes all of whose ways out use it; nexthop objects on it |
//! | carrier lost | nexthop objects on it, and their IPv4 routes |
//! | link removed | IPv4 routes with any way out by it |
//! | nexthop object removed | its IPv4 routes; its membership in groups; groups without members |
//! | last IPv4 address of a link removed | IPv4 routes by it |
//! | address removed | IPv4 routes with that preferred source |

use std::collections::HashMap;
use std::net::IpAddr;

use super::Mirror;
use crate::control_plane::model::{Link, LinkAddress, RouteKind, Way};
use crate::control_plane::shared::Shared;
use crate::engine::Change;

impl Mirror {
    pub(super) fn link(&mut self, link: Link, out: &mut Vec<Change>) {
        let index = link.index;
        let now = link.clone();
        let before = self.shared.around.links.insert(index, link);
        if before.as_ref() == Some(&now) {
            return;
        }
        let was_up = before.as_ref().is_some_and(|before| before.up);
        let had_carrier = before.as_ref().is_some_and(|before| before.carrier);
        if now.up && !was_up {
            self.shared.around.link_came_up(index);
        }
        // First the entries, so that no frame takes a dead way; then the routes, which may be many.
        self.links_changed(out);
        if (was_up && !now.up) || (had_carrier && !now.carrier) {
            self.suspicions += 1;
            let objects = self.shared.objects.by_link(index);
            self.objects_gone(&objects, out);
        }
        if was_up && !now.up {
            self.purge_dead(index, out);
        }
    }

    pub(super) fn link_gone(&mut self, index: u32, out: &mut Vec<Change>) {
        if !self.shared.around.links.contains_key(&index) {
            return;
        }
        self.suspicions += 1;
        self.shared.around.forget_link(index);
        if let Some(mut port) = self.ports.remove(&index) {
            port.settings.enabled = false;
            out.push(Change::Port(port));
        }
        self.links_changed(out);
        let neighbours: Vec<IpAddr> = self
            .shared
            .around
            .neighbours
            .keys()
            .filter(|key| key.0 == index)
            .map(|key| key.1)
            .collect();
        for address in neighbours {
            self.neighbour_gone(index, address, out);
        }
        let objects = self.shared.objects.by_link(index);
        self.objects_gone(&objects, out);
        let uses =
            |way: &Way| way.object == 0 && way.hops.as_slice().iter().any(|hop| hop.link == index);
        let only = |way: &Way| uses(way) && way.hops.as_slice().iter().all(|hop| hop.link == index);
        self.v4.purge(uses, &mut self.shared, out);
        self.v6.purge(only, &mut self.shared, out);
    }

    /// The routes whose every way out is dead, one of them by `link`.
    fn purge_dead(&mut self, link: u32, out: &mut Vec<Change>) {
        for v6 in [false, true] {
            let alive: HashMap<u32, bool> = self
                .shared
                .around
                .links
                .keys()
                .map(|&link| (link, self.shared.around.alive(link, v6)))
                .collect();
            let dead = |way: &Way| {
                way.kind != RouteKind::Kernel
                    && way.object == 0
                    && way.hops.as_slice().iter().any(|hop| hop.link == link)
                    && way
                        .hops
                        .as_slice()
                        .iter()
                        .all(|hop| !alive.get(&hop.link).is_some_and(|alive| *alive))
            };
            if v6 {
                self.v6.purge(dead, &mut self.shared, out);
            } else {
                self.v4.purge(dead, &mut self.shared, out);
            }
        }
    }

    pub(super) fn address_gone(&mut self, address: LinkAddress, out: &mut Vec<Change>) {
        let last = self.shared.around.remove_address(address);
        let IpAddr::V4(_) = address.address else {
            return;
        };
        if !self.shared.around.has_address(address.address) {
            self.suspicions += 1;
            let source = Some(address.address);
            let leaves = |way: &Way| way.source == source && way.kind != RouteKind::Kernel;
            self.v4.purge(leaves, &mut self.shared, out);
        }
        if last {
            self.links_changed(out);
            self.purge_dead(address.link, out);
        }
    }

    pub(super) fn objects_gone(&mut self, numbers: &[u32], out: &mut Vec<Change>) {
        let mut gone = Vec::new();
        for &number in numbers {
            let Shared {
                around,
                next_hops,
                objects,
                ..
            } = &mut self.shared;
            gone.extend(objects.gone(number, next_hops, around, out));
        }
        if gone.is_empty() {
            return;
        }
        self.suspicions += 1;
        let uses = |way: &Way| gone.contains(&way.object);
        self.v4.purge(uses, &mut self.shared, out);
        self.v6.purge(uses, &mut self.shared, out);
        self.shared
            .objects
            .forget(&gone, &mut self.shared.next_hops, out);
    }
}
