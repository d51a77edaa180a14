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

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr};

use super::Mirror;
use crate::control_plane::model::{Link, LinkAddress, RouteKind, Way};
use crate::control_plane::shared::Shared;
use crate::engine::Change;

impl Mirror {
    pub(super) fn link(&mut self, link: Link) {
        let index = link.index;
        let now = link.clone();
        let before = self.shared.next_hops.around.put_link(link);
        if before.as_ref() == Some(&now) {
            return;
        }
        let was_up = before.as_ref().is_some_and(|before| before.up);
        let had_carrier = before.as_ref().is_some_and(|before| before.carrier);
        if now.up && !was_up {
            self.shared.next_hops.around.link_came_up(index);
        }
        // First the entries, so that no frame takes a dead way; then the routes, which may be many.
        let next_hops = &self.shared.next_hops;
        if before
            .as_ref()
            .is_some_and(|before| next_hops.depends_on(before))
        {
            self.links_changed();
        } else {
            self.link_changed(index);
        }
        if (was_up && !now.up) || (had_carrier && !now.carrier) {
            self.suspicions += 1;
            let objects = self.shared.objects.by_link(index);
            self.objects_gone(&objects);
        }
        if was_up && !now.up {
            self.purge_dead(index);
        }
    }

    pub(super) fn link_gone(&mut self, index: u32) {
        let Some(before) = self.shared.next_hops.around.links.get(&index) else {
            return;
        };
        let matters = self.shared.next_hops.depends_on(before);
        self.suspicions += 1;
        self.shared.next_hops.around.forget_link(index);
        if let Some(mut port) = self.ports.remove(&index) {
            port.settings.enabled = false;
            self.shared.push(Change::Port(port));
        }
        if matters {
            self.links_changed();
        }
        let on_it = (index, IpAddr::V4(Ipv4Addr::UNSPECIFIED))..;
        let neighbours = self.shared.next_hops.around.neighbours.range(on_it);
        let on_it = neighbours.map(|(key, _)| *key);
        for key in on_it.take_while(|key| key.0 == index).collect::<Vec<_>>() {
            self.neighbour_gone(key);
        }
        let objects = self.shared.objects.by_link(index);
        self.objects_gone(&objects);
        let uses = |way: &Way| way.object == 0 && way.hops().iter().any(|hop| hop.link == index);
        let only = |way: &Way| uses(way) && way.hops().iter().all(|hop| hop.link == index);
        self.v4.purge(uses, &mut self.shared);
        self.v6.purge(only, &mut self.shared);
    }

    /// The routes whose every way out is dead, one of them by `link`.
    fn purge_dead(&mut self, link: u32) {
        let around = &self.shared.next_hops.around;
        let dead = |v6: bool, beside: HashSet<u32>| {
            let beside = beside.into_iter();
            let alive: HashSet<u32> = beside.filter(|&link| around.alive(link, v6)).collect();
            move |way: &Way| {
                !matches!(way.kind, RouteKind::Kernel | RouteKind::Local)
                    && way.object == 0
                    && way.hops().iter().any(|hop| hop.link == link)
                    && !way.hops().iter().any(|hop| alive.contains(&hop.link))
            }
        };
        let dead_v4 = dead(false, self.v4.links_beside(link));
        let dead_v6 = dead(true, self.v6.links_beside(link));
        self.v4.purge(dead_v4, &mut self.shared);
        self.v6.purge(dead_v6, &mut self.shared);
    }

    pub(super) fn address_gone(&mut self, address: LinkAddress) {
        let last = self.shared.next_hops.around.remove_address(address);
        let IpAddr::V4(_) = address.address else {
            return;
        };
        if !self.shared.next_hops.around.has_address(address.address) {
            self.suspicions += 1;
            let source = Some(address.address);
            let leaves = |way: &Way| {
                way.source == source && !matches!(way.kind, RouteKind::Kernel | RouteKind::Local)
            };
            self.v4.purge(leaves, &mut self.shared);
        }
        if last {
            self.link_changed(address.link);
            self.purge_dead(address.link);
        }
    }

    /// What follows from announcements that objects are gone, for all of them together: each look
    /// at every route would be too many.
    pub(super) fn finish_objects(&mut self) {
        let numbers = std::mem::take(&mut self.gone_objects);
        self.objects_gone(&numbers);
    }

    pub(super) fn objects_gone(&mut self, numbers: &[u32]) {
        if numbers.is_empty() {
            return;
        }
        let Shared {
            next_hops, objects, ..
        } = &mut self.shared;
        let gone = objects.gone(numbers, next_hops);
        self.suspicions += 1;
        let uses = |way: &Way| gone.contains(&way.object);
        self.v4.purge(uses, &mut self.shared);
        self.v6.purge(uses, &mut self.shared);
        let Shared {
            next_hops, objects, ..
        } = &mut self.shared;
        objects.forget(&gone, next_hops);
    }
}
