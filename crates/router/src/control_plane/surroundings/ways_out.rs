//! What follows for one way out, and for a port, from what lies around.

use fastpath::forward::{PortSettings, VlanSettings};
use fib::NextHopEntry;
use fib::next_hop::Kind;

use super::{HopKey, Surroundings};
use crate::control_plane::model::{Link, LinkKind, Neighbour};
use crate::engine::{MAIN_TABLE, Port};

struct Egress {
    port: u32,
    vlan: u16,
    source: [u8; 6],
    mtu: u32,
}

impl Surroundings {
    /// Is this link one of ours to forward on: a port, or a VLAN sub-interface of one?
    pub fn is_ours(&self, link: u32) -> bool {
        self.egress(link).is_some()
    }

    /// The next-hop entry for a way out, as things are now.
    pub fn entry(&self, key: &HopKey) -> NextHopEntry {
        let neighbour = self
            .neighbours
            .get(&(key.link, key.gateway))
            .and_then(Neighbour::usable);
        let Some(egress) = self.egress(key.link) else {
            return fixed_entry(Kind::Punt);
        };
        let Some(destination) = neighbour else {
            return NextHopEntry {
                kind: Kind::Unresolved,
                port: egress.port,
                vlan: egress.vlan,
                ..NextHopEntry::default()
            };
        };
        let of_v6 = self.mtu6.get(&key.link).filter(|_| key.gateway.is_ipv6());
        let of_route = Some(&key.mtu).filter(|&&mtu| mtu != 0);
        let limits = of_v6.into_iter().chain(of_route);
        let mtu = limits.fold(egress.mtu, |mtu, &limit| mtu.min(limit));
        NextHopEntry {
            kind: Kind::Adjacency,
            mtu: u16::try_from(mtu).unwrap_or(0),
            port: egress.port,
            destination_mac: destination,
            source_mac: egress.source,
            vlan: egress.vlan,
            ..NextHopEntry::default()
        }
    }

    fn egress(&self, link: u32) -> Option<Egress> {
        let link = self.links.get(&link)?;
        if !link.up || !link.carrier {
            return None;
        }
        let (below, vlan) = match link.kind {
            LinkKind::Plain => (link, 0),
            // The kernel knows a packet's priority.
            LinkKind::Vlan {
                has_priorities: true,
                ..
            }
            | LinkKind::Vrf { .. } => return None,
            LinkKind::Vlan { parent, vid, .. } => (self.links.get(&parent)?, vid),
        };
        let is_kept = !self.enabled(below) || self.is_kept(&link.name);
        if !below.up || !below.carrier || is_kept || self.tunnels(below) {
            return None;
        }
        Some(Egress {
            port: below.index,
            vlan,
            source: link.mac,
            mtu: link.mtu,
        })
    }

    /// May what leaves by this link be put into other packets?
    fn tunnels(&self, link: &Link) -> bool {
        let members = (link.index, 0)..=(link.index, u32::MAX);
        link.is_tunnel || self.tunnels.range(members).next().is_some()
    }

    fn enabled(&self, link: &Link) -> bool {
        self.ports.contains(&link.name) && !self.is_kept(&link.name)
    }

    /// Every port that has a link, as the engine must treat it now.
    pub fn ports(&self) -> Vec<Port> {
        self.ports
            .iter()
            .filter_map(|name| self.link_named(name))
            .map(|link| self.port(link))
            .collect()
    }

    fn port(&self, link: &Link) -> Port {
        let table = self.table_on_arrival(link);
        let mut vlans: Vec<VlanSettings> = self
            .links
            .values()
            .filter(|other| other.up)
            .filter_map(|other| match other.kind {
                LinkKind::Vlan { parent, vid, .. } if parent == link.index => Some(VlanSettings {
                    vid,
                    ifindex: other.index,
                    table: self.table_on_arrival(other)?,
                    mac: other.mac,
                    accepts: self.accepts(other.index),
                }),
                _ => None,
            })
            .collect();
        vlans.sort_by_key(|vlan| vlan.vid);
        Port {
            ifindex: link.index,
            name: link.name.clone(),
            mtu: link.mtu,
            settings: PortSettings {
                enabled: link.up && table.is_some() && self.enabled(link),
                accepts: self.accepts(link.index),
                mac: link.mac,
                table: table.unwrap_or(MAIN_TABLE),
                trusts_tags: self.trusts_tags,
                flows: self.flows,
                vlans,
            },
        }
    }
}

/// An entry that needs nothing but its kind.
pub fn fixed_entry(kind: Kind) -> NextHopEntry {
    NextHopEntry {
        kind,
        ..NextHopEntry::default()
    }
}
