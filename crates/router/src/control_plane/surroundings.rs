//! What lies around the router: links, ports, addresses, neighbours; and what follows from them for
//! one way out.
//!
//! A frame can leave by a link when the link is a port or a VLAN sub-interface of one, is up, has
//! carrier, and the kernel knows the neighbour's Ethernet address. Whenever one of these fails the
//! entry says "punt", and the kernel does what it would have done without us: ask for the address,
//! send elsewhere, or answer with an error.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use fastpath::forward::{PortSettings, VlanSettings};
use fib::NextHopEntry;
use fib::next_hop::Kind;

use super::model::{Link, LinkAddress, LinkKind, Neighbour};
use crate::engine::{MAIN_TABLE, Port};

/// Links, ports, addresses, neighbours.
#[derive(Debug, Default)]
pub struct Surroundings {
    /// Links by interface index.
    pub links: HashMap<u32, Link>,
    /// Neighbours by link and address.
    pub neighbours: HashMap<(u32, IpAddr), Neighbour>,
    addresses: HashSet<LinkAddress>,
    /// Links that lost their last IPv4 address, upon which the kernel stops IPv4 on them until one
    /// comes back.
    without_v4: HashSet<u32>,
    ports: Vec<WantedPort>,
}

#[derive(Debug, Clone)]
struct WantedPort {
    name: String,
    kept_by_kernel: bool,
}

/// What makes one way out different from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HopKey {
    /// Interface index to leave by.
    pub link: u32,
    /// The neighbour to send to.
    pub gateway: IpAddr,
    /// The route's own MTU in bytes; 0 for none.
    pub mtu: u32,
}

struct Egress {
    port: u32,
    vlan: u16,
    source: [u8; 6],
    mtu: u32,
}

impl Surroundings {
    /// Nothing known yet; `ports` are to be forwarded between.
    pub fn new(ports: &[String]) -> Self {
        let ports = ports
            .iter()
            .map(|name| WantedPort {
                name: name.clone(),
                kept_by_kernel: false,
            })
            .collect();
        Self {
            ports,
            ..Self::default()
        }
    }

    /// The same ports, and nothing known about anything.
    #[must_use]
    pub fn same_ports(&self) -> Self {
        Self {
            ports: self.ports.clone(),
            ..Self::default()
        }
    }

    /// The names of the ports in their order.
    pub fn port_names(&self) -> impl Iterator<Item = &str> {
        self.ports.iter().map(|port| port.name.as_str())
    }

    /// Adds or removes ports, so that exactly `names` remain; the state of those that stay is kept,
    /// and new ones are the kernel's until they are taken over.
    pub fn set_ports(&mut self, names: &[String]) {
        self.ports.retain(|port| names.contains(&port.name));
        for name in names {
            if !self.ports.iter().any(|port| &port.name == name) {
                self.ports.push(WantedPort {
                    name: name.clone(),
                    kept_by_kernel: true,
                });
            }
        }
    }

    /// Leaves a port to the kernel, or takes it back. True when that is new.
    pub fn keep(&mut self, name: &str, kept_by_kernel: bool) -> bool {
        self.ports
            .iter_mut()
            .find(|port| port.name == name)
            .is_some_and(|port| {
                std::mem::replace(&mut port.kept_by_kernel, kept_by_kernel) != kept_by_kernel
            })
    }

    /// Is this port left to the kernel by policy?
    pub fn is_kept(&self, name: &str) -> bool {
        self.ports
            .iter()
            .any(|port| port.name == name && port.kept_by_kernel)
    }

    /// The link of that name.
    pub fn link_named(&self, name: &str) -> Option<&Link> {
        self.links.values().find(|link| link.name == name)
    }

    /// The table in which frames received on `link` look up: the VRF's, or the main one. `None`
    /// when something else than a VRF owns the link (a bridge, a bond), so that its frames are
    /// not routed here.
    pub fn table_of(&self, link: u32) -> Option<u32> {
        match self.links.get(&link)?.master {
            None => Some(MAIN_TABLE),
            Some(master) => match self.links.get(&master)?.kind {
                LinkKind::Vrf { table } => Some(table),
                _ => None,
            },
        }
    }

    /// Is this link one of ours to forward on: a port, or a VLAN sub-interface of one?
    pub fn is_ours(&self, link: u32) -> bool {
        self.egress(link).is_some()
    }

    /// Does the kernel consider routes through this link alive?
    pub fn alive(&self, link: u32, v6: bool) -> bool {
        self.links.get(&link).is_some_and(|found| found.up)
            && (v6 || !self.without_v4.contains(&link))
    }

    /// The next-hop entry for a way out, as things are now.
    pub fn entry(&self, key: &HopKey) -> NextHopEntry {
        let neighbour = self
            .neighbours
            .get(&(key.link, key.gateway))
            .and_then(Neighbour::usable);
        let (Some(egress), Some(destination)) = (self.egress(key.link), neighbour) else {
            return fixed_entry(Kind::Punt);
        };
        let mtu = if key.mtu == 0 {
            egress.mtu
        } else {
            egress.mtu.min(key.mtu)
        };
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
            LinkKind::Vlan { parent, vid } => (self.links.get(&parent)?, vid),
            LinkKind::Vrf { .. } => return None,
        };
        if !below.up || !below.carrier || !self.enabled(below) {
            return None;
        }
        Some(Egress {
            port: below.index,
            vlan,
            source: link.mac,
            mtu: link.mtu,
        })
    }

    fn enabled(&self, link: &Link) -> bool {
        self.ports
            .iter()
            .any(|port| port.name == link.name && !port.kept_by_kernel)
    }

    /// Every port that has a link, as the engine must treat it now.
    pub fn ports(&self) -> Vec<Port> {
        self.ports
            .iter()
            .filter_map(|wanted| self.link_named(&wanted.name))
            .map(|link| self.port(link))
            .collect()
    }

    fn port(&self, link: &Link) -> Port {
        let table = self.table_of(link.index);
        let mut vlans: Vec<VlanSettings> = self
            .links
            .values()
            .filter(|other| other.up)
            .filter_map(|other| match other.kind {
                LinkKind::Vlan { parent, vid } if parent == link.index => Some(VlanSettings {
                    vid,
                    ifindex: other.index,
                    table: self.table_of(other.index)?,
                    mac: other.mac,
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
                mac: link.mac,
                table: table.unwrap_or(MAIN_TABLE),
                vlans,
            },
        }
    }

    /// Notes an address. True when it is the link's first of IPv4 again, which revives multipath
    /// members on the link.
    pub fn add_address(&mut self, address: LinkAddress) -> bool {
        self.addresses.insert(address);
        address.address.is_ipv4() && self.without_v4.remove(&address.link)
    }

    /// Forgets an address. True when it was the link's last of IPv4, which makes the kernel drop,
    /// in silence, every IPv4 route by that link.
    pub fn remove_address(&mut self, address: LinkAddress) -> bool {
        let was_there = self.addresses.remove(&address);
        let last = was_there
            && address.address.is_ipv4()
            && !self
                .addresses
                .iter()
                .any(|other| other.link == address.link && other.address.is_ipv4());
        if last {
            self.without_v4.insert(address.link);
        }
        last
    }

    /// Is the address on any link (of the same family)?
    pub fn has_address(&self, address: IpAddr) -> bool {
        self.addresses.iter().any(|other| other.address == address)
    }

    /// The addresses known, for the sweep after a resynchronisation.
    pub fn addresses(&self) -> impl Iterator<Item = &LinkAddress> {
        self.addresses.iter()
    }

    /// A link came up: the kernel lets IPv4 on it again.
    pub fn link_came_up(&mut self, link: u32) {
        self.without_v4.remove(&link);
    }

    /// A link is gone, and with it what was on it.
    pub fn forget_link(&mut self, link: u32) {
        self.links.remove(&link);
        self.addresses.retain(|address| address.link != link);
        self.without_v4.remove(&link);
    }
}

/// An entry that needs nothing but its kind.
pub fn fixed_entry(kind: Kind) -> NextHopEntry {
    NextHopEntry {
        kind,
        ..NextHopEntry::default()
    }
}
