//! The search beside the program's: by which prefix, group and member, in the same tables; and what
//! a question leaves open.

use std::net::IpAddr;

use fib::next_hop::Kind;
use fib::{NextHop, NextHopEntry, Prefix};

use super::form::{Group, Longest, Taken, Way};
use super::packet::Seen;
use super::{Arrival, Question, WayOut, kind_name};
use crate::control_plane::family::Family;
use crate::control_plane::follower::Follower;
use crate::control_plane::model::LOCAL_TABLE;
use crate::control_plane::routed::Routed;
use crate::engine::{EngineError, MAIN_TABLE, Port};
use crate::management_plane::answers::routes::via;
use crate::management_plane::answers::{link_name, mac, state_name};
use crate::user_plane::flow_hash;

/// What the tables say.
#[derive(Default)]
pub(super) struct Found {
    pub(super) prefix: Option<Longest>,
    pub(super) next_hop: Option<Taken>,
    /// What the frame takes.
    pub(super) entry: Option<NextHopEntry>,
    /// What the flow may take as far as the kernel is concerned: all members of a group.
    pub(super) ways: Vec<WayOut>,
    number: NextHop,
    members: Vec<NextHop>,
}

impl Found {
    /// The next hops that the program may count the frame under.
    pub(super) fn next_hops(&self) -> Vec<NextHop> {
        let mut all = self.members.clone();
        all.push(self.number);
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The one that the search found.
    pub(super) fn taken(&self) -> Option<NextHop> {
        match self.next_hop.as_ref()?.group.as_ref() {
            Some(group) => group.member.map(NextHop),
            None => Some(self.number),
        }
    }
}

/// Searches the tables for a frame's destination.
pub(super) fn search(follower: &Follower, arrival: &Arrival, seen: &Seen) -> Found {
    let Some(packet) = seen.ip.filter(|_| follower.engine().keeps_table()) else {
        return Found::default();
    };
    let (mirror, answers) = (follower.mirror(), follower.engine().answers());
    let table = arrival.table;
    let (number, prefix) = match packet.to {
        IpAddr::V4(to) => (
            answers.lookup_v4(table, to.into()),
            longest(follower, mirror.v4(), table, u32::from(to)),
        ),
        IpAddr::V6(to) => (
            answers.lookup_v6(table, to.into()),
            longest(follower, mirror.v6(), table, u128::from(to)),
        ),
    };
    if number == NextHop::NONE {
        return Found {
            prefix,
            ..Found::default()
        };
    }
    let members = answers.buckets(number);
    let group = (!members.is_empty()).then(|| group(arrival, seen, &members));
    let taken = match &group {
        Some(group) => group.member.map(NextHop),
        None => Some(number),
    };
    let entry = taken.map_or_else(NextHopEntry::default, |taken| answers.next_hop(taken));
    let mut different = members.clone();
    different.sort_unstable();
    different.dedup();
    if different.is_empty() {
        different.push(number);
    }
    let entries = different.iter().map(|&id| answers.next_hop(id));
    let ways = entries
        .filter(|entry| entry.kind == Kind::Adjacency)
        .map(|entry| way_out(follower, &entry))
        .collect();
    Found {
        prefix,
        next_hop: Some(Taken {
            number: number.0,
            group,
            kind: kind_name(entry.kind),
            way: (entry.port != 0).then(|| way(follower, &entry, packet.to)),
        }),
        entry: Some(entry),
        ways,
        number,
        members,
    }
}

fn group(arrival: &Arrival, seen: &Seen, buckets: &[NextHop]) -> Group {
    let hash = flow_hash::of(&seen.untagged, arrival.port.settings.flows);
    let bucket = hash.map(|hash| ((u64::from(hash) * buckets.len() as u64) >> 32) as usize);
    let mut members = buckets.to_vec();
    members.sort_unstable();
    members.dedup();
    Group {
        buckets: buckets.len(),
        members: members.len(),
        hash,
        bucket,
        member: bucket.map(|bucket| buckets[bucket].0),
    }
}

/// The longest prefix that says something of its own.
pub(super) fn longest<A: Routed>(
    follower: &Follower,
    family: &Family<A>,
    table: u32,
    address: A,
) -> Option<Longest> {
    let prefix = (0..=A::BITS).rev().find_map(|length| {
        let prefix = Prefix::containing(address, length);
        (family.answer(table, prefix) != NextHop::NONE).then_some(prefix)
    })?;
    let tables = [LOCAL_TABLE, table];
    let route = tables.iter().find_map(|&of| family.best(of, prefix));
    let Some((stored, _)) = route else {
        return Some(Longest {
            prefix: prefix.to_string(),
            kind: "neighbour".to_owned(),
            metric: 0,
            via: Vec::new(),
        });
    };
    Some(Longest {
        prefix: prefix.to_string(),
        kind: format!("{:?}", stored.way.kind).to_lowercase(),
        metric: stored.way.metric,
        via: via(follower, &stored.way),
    })
}

/// The link that an entry leaves by: the port, or its VLAN's.
fn link_of(follower: &Follower, entry: &NextHopEntry) -> u32 {
    let ports = follower.mirror().around().ports();
    let port = ports.iter().find(|port| port.ifindex == entry.port);
    let vlans = port.into_iter().flat_map(|port| &port.settings.vlans);
    let mut vlans = vlans.filter(|vlan| entry.vlan != 0 && vlan.vid == entry.vlan & 0xfff);
    vlans.next().map_or(entry.port, |vlan| vlan.ifindex)
}

fn way_out(follower: &Follower, entry: &NextHopEntry) -> WayOut {
    let link = link_of(follower, entry);
    let neighbours = follower.mirror().around().neighbours.values();
    let there = neighbours
        .filter(|neighbour| neighbour.link == link && neighbour.mac == Some(entry.destination_mac));
    WayOut {
        link,
        neighbours: there.map(|neighbour| neighbour.address).collect(),
    }
}

pub(super) fn way(follower: &Follower, entry: &NextHopEntry, to: IpAddr) -> Way {
    let out = way_out(follower, entry);
    let adjacency = entry.kind == Kind::Adjacency;
    // The destination itself, or a gateway of its family, if any fits.
    let addresses = &out.neighbours;
    let neighbour = addresses
        .iter()
        .find(|address| **address == to)
        .or_else(|| {
            let mut of_family = addresses.iter();
            of_family.find(|address| address.is_ipv6() == to.is_ipv6())
        })
        .or(addresses.first());
    let around = follower.mirror().around();
    let known = neighbour.and_then(|&address| around.neighbours.get(&(out.link, address)));
    Way {
        egress: link_name(follower, out.link),
        tag: entry.vlan,
        neighbour: neighbour.filter(|_| adjacency).map(IpAddr::to_string),
        mac: adjacency.then(|| mac(entry.destination_mac)),
        state: known
            .filter(|_| adjacency)
            .map(|known| state_name(known.state)),
        mtu: entry.mtu,
    }
}

/// The port that a packet comes by: the one that is named, the one towards its source, or the
/// first that is not its way out.
pub(super) fn port(
    follower: &Follower,
    question: &Question,
    ports: &[Port],
) -> Result<Port, EngineError> {
    let names = || {
        let names: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
        names.join(", ")
    };
    if let Some(name) = &question.port {
        let named = ports.iter().find(|port| port.name == *name);
        return named.cloned().ok_or_else(|| {
            let remedy = format!("no port of this router that is there; it has {}", names());
            EngineError::new(format!("explain --port {name}"), remedy)
        });
    }
    if question.frame.is_some() {
        let remedy = format!("say by which port it comes: --port, one of {}", names());
        return Err(EngineError::new("explain a frame", remedy));
    }
    let by = |address: Option<IpAddr>| address.map_or(0, |address| leads(follower, address));
    let towards = ports.iter().find(|port| port.ifindex == by(question.from));
    let out = by(question.to);
    let another = || ports.iter().find(|port| port.ifindex != out);
    let chosen = towards.or_else(another).or(ports.first());
    chosen.cloned().ok_or_else(|| {
        EngineError::new(
            "explain",
            "no port of this router is there: corelane show ports",
        )
    })
}

/// The port that an address is behind, by the main table; 0: none.
fn leads(follower: &Follower, address: IpAddr) -> u32 {
    let answers = follower.engine().answers();
    let number = match address {
        IpAddr::V4(address) => answers.lookup_v4(MAIN_TABLE, address.into()),
        IpAddr::V6(address) => answers.lookup_v6(MAIN_TABLE, address.into()),
    };
    let mut entries = answers.entries(number).into_values();
    entries.next().map_or(0, |entry| entry.port)
}

/// An address that somebody on a link could have: a neighbour's, or one beside our own.
pub(super) fn host(follower: &Follower, link: u32, v6: bool) -> Option<IpAddr> {
    let around = follower.mirror().around();
    let fits = |address: &IpAddr| match address {
        IpAddr::V4(_) => !v6,
        IpAddr::V6(address) => v6 && !address.is_unicast_link_local(),
    };
    let known = around.neighbours.values();
    let mut known = known.filter(|one| {
        one.link == link
            && one.usable().is_some()
            && fits(&one.address)
            && !one.address.is_multicast()
    });
    if let Some(neighbour) = known.next() {
        return Some(neighbour.address);
    }
    let own = around.addresses().filter(|own| own.link == link);
    let own = own.map(|own| own.address).find(fits)?;
    Some(match own {
        IpAddr::V4(own) => IpAddr::V4((u32::from(own).wrapping_add(1)).into()),
        IpAddr::V6(own) => IpAddr::V6((u128::from(own).wrapping_add(1)).into()),
    })
}
