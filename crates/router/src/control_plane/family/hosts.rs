//! Host routes.
//!
//! The kernel has one route for a connected network and a neighbour table beside it; the engine has
//! one table. So each neighbour that can be sent to becomes a route of full length, as long as the
//! longest kernel route that covers it is the connected one. Whenever routes inside or around it
//! change, that is decided again.

use fib::{NextHop, Prefix};

use super::Family;
use crate::control_plane::model::LOCAL_TABLE;
use crate::control_plane::next_hops::Content;
use crate::control_plane::routed::Routed;
use crate::control_plane::shared::Shared;
use crate::control_plane::surroundings::HopKey;

/// The host route of a neighbour that can be sent to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Host {
    pub(super) domain: u32,
    /// [`NextHop::NONE`] while some route says otherwise.
    pub(super) id: NextHop,
}

impl<A: Routed> Family<A> {
    /// Host routes of resolved neighbours: address, domain, next hop.
    pub fn hosts(&self) -> impl Iterator<Item = (A, u32, NextHop)> {
        let hosts = self.hosts.iter();
        let hosts = hosts.map(|(&(address, _), host)| (address, host.domain, host.id));
        hosts.filter(|(_, _, id)| *id != NextHop::NONE)
    }

    /// Link and next hop of the host route for exactly this prefix.
    pub(super) fn host(&self, domain: u32, prefix: Prefix<A>) -> Option<(u32, NextHop)> {
        if prefix.length() != A::BITS || self.hosts.is_empty() {
            return None;
        }
        let address = prefix.address();
        let mut hosts = self.hosts.range((address, 0)..=(address, u32::MAX));
        hosts.find_map(|(&(_, link), host)| {
            (host.domain == domain && host.id != NextHop::NONE).then_some((link, host.id))
        })
    }

    /// A neighbour on a link can be sent to (or no longer).
    pub fn neighbour(&mut self, link: u32, address: A, usable: bool, shared: &mut Shared) {
        let prefix = Prefix::containing(address, A::BITS);
        let domain = shared.next_hops.around.table_of(link).filter(|_| usable);
        let known = self.hosts.get(&(address, link)).map(|host| host.domain);
        if let Some(known) = known.filter(|_| known != domain) {
            let gone = self.change(known, prefix, shared, |family| {
                family.hosts.remove(&(address, link))
            });
            let id = gone.map_or(NextHop::NONE, |host| host.id);
            shared.next_hops.release(id);
        }
        if let Some(domain) = domain {
            let id = NextHop::NONE;
            let host = self.hosts.entry((address, link));
            host.or_insert(Host { domain, id });
        }
        self.review_hosts(prefix, shared);
    }

    /// Decides again which neighbours inside `prefix` deserve a host route.
    pub(super) fn review_hosts(&mut self, prefix: Prefix<A>, shared: &mut Shared) {
        if self.hosts.is_empty() {
            return;
        }
        let inside = (prefix.address(), 0)..=(prefix.last(), u32::MAX);
        let found: Vec<_> = self
            .hosts
            .range(inside)
            .map(|(key, host)| (*key, *host))
            .collect();
        for (at @ (address, link), Host { domain, id }) in found {
            let ours = shared.next_hops.around.is_ours(link);
            let wanted = ours && self.is_attached(domain, address, link);
            if wanted == (id != NextHop::NONE) {
                continue;
            }
            let (gateway, mtu) = (address.to_ip(), 0);
            let hop = Content::Hop(HopKey { link, gateway, mtu });
            let id = if wanted {
                shared.next_hops.share(hop, NextHop::NONE)
            } else {
                NextHop::NONE
            };
            let prefix = Prefix::containing(address, A::BITS);
            let old = self.change(domain, prefix, shared, |family| {
                family.hosts.insert(at, Host { domain, id })
            });
            shared
                .next_hops
                .release(old.map_or(NextHop::NONE, |host| host.id));
        }
    }

    /// Do packets for `address` go straight onto `link`?
    fn is_attached(&self, domain: u32, address: A, link: u32) -> bool {
        let covering = |table| self.tables.get(&table)?.covering(address);
        covering(LOCAL_TABLE).is_none()
            && covering(domain).is_some_and(|prefix| {
                self.best(domain, prefix).is_some_and(|(stored, more)| {
                    stored.connected == Some(link) && !(more && self.contested(domain, prefix))
                })
            })
    }
}
