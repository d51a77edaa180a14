//! Host routes of our own making: a resolved neighbour on a connected network is forwarded to
//! without asking the kernel.
//!
//! The kernel has one route for the network and a neighbour table beside it; the engine has one
//! table. So each neighbour that can be sent to becomes a route of full length, as long as the
//! longest kernel route that covers it is the connected one. Whenever routes inside or around it
//! change, that is decided again.

use fib::{NextHop, Prefix};

use super::{Family, Host};
use crate::control_plane::model::LOCAL_TABLE;
use crate::control_plane::routed::Routed;
use crate::control_plane::shared::Shared;
use crate::control_plane::surroundings::HopKey;
use crate::engine::Change;

impl<A: Routed> Family<A> {
    /// Host routes of resolved neighbours: address, domain, next hop.
    pub fn hosts(&self) -> impl Iterator<Item = (A, u32, NextHop)> {
        self.hosts
            .iter()
            .flat_map(|(address, hosts)| hosts.iter().map(|host| (*address, host.domain, host.id)))
            .filter(|(_, _, id)| *id != NextHop::NONE)
    }

    pub(super) fn host(&self, domain: u32, prefix: Prefix<A>) -> Option<&Host> {
        if prefix.length() != A::BITS || self.hosts.is_empty() {
            return None;
        }
        let hosts = self.hosts.get(&prefix.address())?;
        hosts
            .iter()
            .find(|host| host.domain == domain && host.id != NextHop::NONE)
    }

    /// A neighbour on a link can be sent to (or no longer).
    pub fn neighbour(
        &mut self,
        link: u32,
        address: A,
        usable: bool,
        shared: &mut Shared,
        out: &mut Vec<Change>,
    ) {
        let domain = shared.around.table_of(link).filter(|_| usable);
        let hosts = self.hosts.entry(address).or_default();
        let known = hosts
            .iter()
            .find(|host| host.link == link)
            .map(|host| host.domain);
        if known.is_some() && known != domain {
            self.withdraw_host(link, address, shared, out);
        }
        if let Some(domain) = domain
            && known != Some(domain)
        {
            self.hosts.entry(address).or_default().push(Host {
                link,
                domain,
                id: NextHop::NONE,
            });
        }
        self.review_hosts(Prefix::containing(address, A::BITS), shared, out);
        if self.hosts.get(&address).is_some_and(Vec::is_empty) {
            self.hosts.remove(&address);
        }
    }

    fn withdraw_host(&mut self, link: u32, address: A, shared: &mut Shared, out: &mut Vec<Change>) {
        let Some(hosts) = self.hosts.get(&address) else {
            return;
        };
        let Some(at) = hosts.iter().position(|host| host.link == link) else {
            return;
        };
        let domain = hosts[at].domain;
        let prefix = Prefix::containing(address, A::BITS);
        let before = self.answer(domain, prefix);
        let Some(host) = self
            .hosts
            .get_mut(&address)
            .map(|hosts| hosts.swap_remove(at))
        else {
            return;
        };
        let after = self.answer(domain, prefix);
        if before != after {
            out.push(A::change(domain, prefix, after));
        }
        shared.next_hops.release(host.id, out);
    }

    /// Decides again which neighbours inside `prefix` deserve a host route.
    pub(super) fn review_hosts(
        &mut self,
        prefix: Prefix<A>,
        shared: &mut Shared,
        out: &mut Vec<Change>,
    ) {
        if self.hosts.is_empty() {
            return;
        }
        let found: Vec<(A, u32, u32)> = self
            .hosts
            .range(prefix.address()..=prefix.last())
            .flat_map(|(address, hosts)| {
                hosts.iter().map(|host| (*address, host.link, host.domain))
            })
            .collect();
        for (address, link, domain) in found {
            self.review_host(address, link, domain, shared, out);
        }
    }

    fn review_host(
        &mut self,
        address: A,
        link: u32,
        domain: u32,
        shared: &mut Shared,
        out: &mut Vec<Change>,
    ) {
        let wanted = self.is_attached(domain, address, link) && shared.around.is_ours(link);
        let position = |host: &&mut Host| host.link == link && host.domain == domain;
        let Some(installed) = self
            .hosts
            .get_mut(&address)
            .and_then(|hosts| hosts.iter_mut().find(position))
            .map(|host| host.id != NextHop::NONE)
        else {
            return;
        };
        if wanted == installed {
            return;
        }
        let id = if wanted {
            let key = HopKey {
                link,
                gateway: address.to_ip(),
                mtu: 0,
            };
            shared.next_hops.hop(key, &shared.around, out)
        } else {
            NextHop::NONE
        };
        let prefix = Prefix::containing(address, A::BITS);
        let before = self.answer(domain, prefix);
        let old = self
            .hosts
            .get_mut(&address)
            .and_then(|hosts| hosts.iter_mut().find(position))
            .map_or(NextHop::NONE, |host| std::mem::replace(&mut host.id, id));
        let after = self.answer(domain, prefix);
        if before != after {
            out.push(A::change(domain, prefix, after));
        }
        shared.next_hops.release(old, out);
    }

    /// Do packets for `address` go straight onto `link`?
    fn is_attached(&self, domain: u32, address: A, link: u32) -> bool {
        if self
            .tables
            .get(&LOCAL_TABLE)
            .is_some_and(|local| local.covering(address).is_some())
        {
            return false;
        }
        let Some(routes) = self.tables.get(&domain) else {
            return false;
        };
        let Some(prefix) = routes.covering(address) else {
            return false;
        };
        routes.best(prefix).is_some_and(|(way, more)| {
            let connected = self.ways.get(way).and_then(|stored| stored.connected);
            connected == Some(link) && !(more && self.contested(domain, prefix))
        })
    }
}
