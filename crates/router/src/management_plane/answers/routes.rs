//! What `corelane show routes` prints: the routes as known, and the answers for one address.

use std::collections::VecDeque;
use std::net::IpAddr;

use fib::next_hop::Kind;
use fib::{IpPrefix, NextHop, NextHopEntry, Prefix};

use super::{Rows, Said, link_name, mac, name};
use crate::control_plane::family::Family;
use crate::control_plane::follower::Follower;
use crate::control_plane::model::Way;
use crate::control_plane::routed::Routed;
use crate::control_plane::slots::PARTS;
use crate::management_plane::forms::{About, Adjacency, Answer, Entry, RouteRow, Routes, Via};
use crate::management_plane::pieces::STEPS;

pub(in crate::management_plane) fn via(follower: &Follower, way: &Way) -> Vec<Via> {
    let hops = match way.object {
        0 => way.hops().to_vec(),
        object => follower.mirror().objects().hops(object),
    };
    hops.iter()
        .map(|hop| Via {
            link: link_name(follower, hop.link),
            gateway: hop.gateway.map(|gateway| gateway.to_string()),
            weight: hop.weight,
        })
        .collect()
}

pub(super) fn routes(follower: &Follower, limit: usize) -> Said {
    let mirror = follower.mirror();
    let (v4, v6) = mirror.routes();
    let domains = mirror.domains().iter().copied();
    let mut listing = Listing {
        left: limit,
        tables: domains
            .flat_map(|domain| [(domain, false), (domain, true)])
            .collect(),
        part: 0,
        waiting: Vec::new(),
        rows: Rows::default(),
    };
    let routes = Routes::Known {
        v4,
        v6,
        objects: mirror.objects().len(),
        next_hops: mirror.next_hops().in_use(),
        listed: Vec::new(),
    };
    (
        About::Routes { routes },
        Some(Box::new(move |follower, text| listing.step(follower, text))),
    )
}

/// A list of routes under way, which holds the prefixes of a part of a table.
struct Listing {
    /// So many more are wanted.
    left: usize,
    /// Domains and whether of IPv6, of which the first is being listed.
    tables: VecDeque<(u32, bool)>,
    /// Its next part.
    part: usize,
    /// Of its parts so far, the next one last.
    waiting: Vec<IpPrefix>,
    rows: Rows,
}

impl Listing {
    fn step(&mut self, follower: &Follower, text: &mut String) -> bool {
        let Some(&(domain, is_v6)) = self.tables.front().filter(|_| self.left > 0) else {
            return false;
        };
        let mirror = follower.mirror();
        if let Some(prefix) = self.waiting.pop() {
            let row = match prefix {
                IpPrefix::V4(prefix) => route(follower, mirror.v4(), domain, prefix),
                IpPrefix::V6(prefix) => route(follower, mirror.v6(), domain, prefix),
            };
            self.left -= usize::from(row.is_some());
            self.rows.add(row.as_ref(), text);
            return true;
        }
        // As many parts as make a piece, so that short tables are in order.
        while self.part < PARTS && self.waiting.len() < STEPS {
            if is_v6 {
                self.waiting
                    .extend(mirror.v6().part(domain, self.part).map(IpPrefix::V6));
            } else {
                self.waiting
                    .extend(mirror.v4().part(domain, self.part).map(IpPrefix::V4));
            }
            self.part += 1;
        }
        self.waiting.sort_unstable_by(|one, other| other.cmp(one));
        if self.waiting.is_empty() {
            self.tables.pop_front();
            self.part = 0;
        }
        true
    }
}

fn route<A: Routed>(
    follower: &Follower,
    family: &Family<A>,
    domain: u32,
    prefix: Prefix<A>,
) -> Option<RouteRow> {
    let (stored, _) = family.best(domain, prefix)?;
    Some(RouteRow {
        table: domain,
        prefix: prefix.to_string(),
        kind: name(stored.way.kind),
        metric: stored.way.metric,
        via: via(follower, &stored.way),
        next_hop: family.answer(domain, prefix).0,
    })
}

pub(super) fn look_up(follower: &Follower, address: IpAddr) -> About {
    let engine = follower.engine().answers();
    let answers = follower.mirror().domains().iter().map(|&table| {
        let id = match address {
            IpAddr::V4(address) => engine.lookup_v4(table, address.into()),
            IpAddr::V6(address) => engine.lookup_v6(table, address.into()),
        };
        let entries = engine.entries(id).into_iter();
        Answer {
            table,
            next_hop: id.0,
            entries: entries.map(|(id, of)| entry(follower, id, &of)).collect(),
        }
    });
    let routes = Routes::Found {
        address: address.to_string(),
        answers: answers.collect(),
    };
    About::Routes { routes }
}

fn entry(follower: &Follower, id: NextHop, entry: &NextHopEntry) -> Entry {
    let adjacency = (entry.kind == Kind::Adjacency).then(|| Adjacency {
        port: link_name(follower, entry.port),
        mac: mac(entry.destination_mac),
        vlan: entry.vlan,
        mtu: entry.mtu,
    });
    Entry {
        next_hop: id.0,
        kind: name(entry.kind),
        adjacency,
    }
}
