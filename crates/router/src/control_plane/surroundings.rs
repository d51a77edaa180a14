//! What lies around the router: links, ports, addresses, neighbours; and what follows from them for
//! one way out.
//!
//! A frame can leave by a link when the link is a port or a VLAN sub-interface of one, is up, has
//! carrier, and the kernel knows the neighbour's Ethernet address. Whenever one of these fails the
//! entry says "punt", or "unresolved" when it is only the address, and the kernel does what it
//! would have done without us: ask for the address, send elsewhere, or answer with an error.

mod ways_out;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr};

use fastpath::forward::{Accepts, Flows, ReversePath};

use super::model::{Link, LinkAddress, LinkKind, Neighbour};

pub use self::ways_out::fixed_entry;
use crate::engine::MAIN_TABLE;

/// Links, ports, addresses, neighbours.
#[derive(Debug, Default)]
pub struct Surroundings {
    /// Links by interface index.
    pub links: HashMap<u32, Link>,
    /// Those of them that frames come in by: they are few, where there are thousands of links.
    receiving: BTreeSet<u32>,
    /// Links below others that take their frames, and these ([`Link::takes_from`]).
    takers: BTreeSet<(u32, u32)>,
    /// Tunnels by the link that they are enslaved to, or 0.
    tunnels: BTreeSet<(u32, u32)>,
    /// Neighbours by link and address.
    pub neighbours: BTreeMap<(u32, IpAddr), Neighbour>,
    addresses: HashSet<LinkAddress>,
    /// Since somebody asked ([`Surroundings::addresses_changed`]).
    addresses_changed: bool,
    /// Why IPv4 sources are looked up without `rp_filter`: whole prefixes are this machine's own
    /// (`ip route add local`); there are, or were, other rules than the first three.
    looks_up_v4: (bool, bool),
    /// Links that lost their last IPv4 address, upon which the kernel stops IPv4 on them until one
    /// comes back.
    without_v4: HashSet<u32>,
    ports: Vec<String>,
    /// Ports and their sub-interfaces that are left to the kernel by policy, by name.
    kept: HashSet<String>,
    /// What each link accepts by the kernel's settings. `None`: nobody reads them, so everything.
    accepts: Option<HashMap<u32, Accepts>>,
    /// How often something was said of a link that frames come in by.
    news: u64,
    flows: Flows,
    /// Do frames come with their VLAN tags, whatever devices do?
    pub trusts_tags: bool,
    /// Where IPv6 has an MTU of its own, by interface index.
    mtu6: HashMap<u32, u32>,
    /// Families that are the kernel's on all links: IPv4, IPv6.
    kept_families: (bool, bool),
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

impl HopKey {
    /// Whatever is on a link itself: the kernel's, and a source there fits a frame from that link.
    pub fn on_link(link: u32) -> Self {
        Self {
            link,
            gateway: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            mtu: 0,
        }
    }
}

impl Surroundings {
    /// Nothing known yet; `ports` are to be forwarded between.
    pub fn new(ports: &[String]) -> Self {
        Self {
            ports: ports.to_vec(),
            ..Self::default()
        }
    }

    /// The same ports, and nothing known about anything.
    #[must_use]
    pub fn same_ports(&self) -> Self {
        Self {
            ports: self.ports.clone(),
            kept: self.kept.clone(),
            accepts: self.accepts.clone(),
            flows: self.flows,
            trusts_tags: self.trusts_tags,
            mtu6: self.mtu6.clone(),
            kept_families: self.kept_families,
            ..Self::default()
        }
    }

    /// The names of the ports in their order.
    pub fn port_names(&self) -> impl Iterator<Item = &str> {
        self.ports.iter().map(String::as_str)
    }

    /// Adds or removes ports, so that exactly `names` remain; the state of those that stay is kept,
    /// and new ones are the kernel's until they are taken over.
    pub fn set_ports(&mut self, names: &[String]) {
        let new = names.iter().filter(|name| !self.ports.contains(name));
        self.kept.extend(new.cloned());
        self.ports = names.to_vec();
        self.find_receiving();
    }

    /// Leaves exactly these ports and sub-interfaces to the kernel. True when that is new.
    pub fn keep(&mut self, names: HashSet<String>) -> bool {
        let new = self.kept != names;
        self.kept = names;
        new
    }

    /// Leaves families to the kernel on all links, or takes them back. True when that is new.
    pub fn keep_families(&mut self, v4: bool, v6: bool) -> bool {
        std::mem::replace(&mut self.kept_families, (v4, v6)) != (v4, v6)
    }

    /// What these links accept by the kernel's settings, by interface index. From the first time
    /// on, those of which that has never been said accept nothing. True when something is new.
    pub fn set_accepts(&mut self, accepts: HashMap<u32, Accepts>) -> bool {
        let mut is_new = self.accepts.is_none();
        let all = self.accepts.get_or_insert_default();
        // Some may have gone since their settings were read.
        for (link, accepts) in accepts {
            if self.links.contains_key(&link) {
                is_new |= all.insert(link, accepts) != Some(accepts);
            }
        }
        is_new
    }

    /// What makes a flow. True when that is new.
    pub fn set_flows(&mut self, flows: Flows) -> bool {
        std::mem::replace(&mut self.flows, flows) != flows
    }

    /// The MTU of IPv6 of these links, by interface index. True when something is new.
    pub fn set_mtu6(&mut self, mtu6: &HashMap<u32, Option<u32>>) -> bool {
        let mut is_new = false;
        for (&link, &mtu) in mtu6 {
            let mtu = mtu.filter(|_| self.links.contains_key(&link));
            let before = match mtu {
                Some(mtu) => self.mtu6.insert(link, mtu),
                None => self.mtu6.remove(&link),
            };
            is_new |= before != mtu;
        }
        is_new
    }

    /// How often something was said of a link that frames come in by.
    pub fn news(&self) -> u64 {
        self.news
    }

    /// A link is there, or has changed; returns what it was before.
    pub fn put_link(&mut self, link: Link) -> Option<Link> {
        let (index, takes_from, receives) = (link.index, link.takes_from, self.is_receiving(&link));
        let is_port = receives && link.kind == LinkKind::Plain;
        let place = tunnel_place(&link);
        let before = self.links.insert(index, link);
        if let Some(below) = before.as_ref().and_then(|before| before.takes_from) {
            self.takers.remove(&(below, index));
        }
        self.takers.extend(takes_from.map(|below| (below, index)));
        if let Some(old) = before.as_ref().and_then(tunnel_place) {
            self.tunnels.remove(&old);
        }
        self.tunnels.extend(place);
        let takes = takes_from.is_some_and(|below| self.receives(below));
        self.news += u64::from(takes || receives);
        if receives && !is_port {
            self.receiving.insert(index);
        } else if is_port != self.receiving.contains(&index) {
            self.find_receiving();
        }
        before
    }

    /// A port has come or gone, and with it what hangs on it.
    fn find_receiving(&mut self) {
        let links = self.links.values();
        let receiving = links.filter(|link| self.is_receiving(link));
        self.receiving = receiving.map(|link| link.index).collect();
    }

    /// What may go on of what comes in by a link.
    pub fn accepts(&self, link: u32) -> Accepts {
        let nothing = Accepts {
            v4: false,
            v6: false,
            ..Accepts::default()
        };
        let name = self.links.get(&link).map(|link| &link.name);
        let accepts = match &self.accepts {
            _ if name.is_some_and(|name| self.is_kept(name)) => nothing,
            None => Accepts::default(),
            Some(accepts) => accepts.get(&link).copied().unwrap_or(nothing),
        };
        let reverse_path = match accepts.reverse_path {
            ReversePath::Off if self.looks_up_v4 != (false, false) => ReversePath::Loose,
            // Without an address of its own the kernel takes a way by the interface alone
            // (`no_addr` of `__fib_validate_source`).
            ReversePath::Loose if !self.has_address_v4(link) => ReversePath::Strict,
            other => other,
        };
        Accepts {
            v4: accepts.v4 && !self.kept_families.0,
            v6: accepts.v6 && !self.kept_families.1,
            reverse_path,
            ..accepts
        }
    }

    fn has_address_v4(&self, link: u32) -> bool {
        let mut addresses = self.addresses.iter();
        addresses.any(|own| own.link == link && own.address.is_ipv4())
    }

    /// Does what an interface accepts depend on its addresses?
    pub fn validates_loosely(&self) -> bool {
        let accepts = self.accepts.iter().flat_map(HashMap::values);
        let mut paths = accepts.map(|accepts| accepts.reverse_path);
        paths.any(|path| path == ReversePath::Loose)
    }

    /// The links that frames come in by: ports and their VLAN sub-interfaces.
    pub fn receiving(&self) -> impl Iterator<Item = &Link> {
        let indexes = self.receiving.iter();
        indexes.filter_map(|index| self.links.get(index))
    }

    /// Do frames come in by this link?
    pub fn receives(&self, link: u32) -> bool {
        self.receiving.contains(&link)
    }

    fn is_receiving(&self, link: &Link) -> bool {
        !matches!(link.kind, LinkKind::Vrf { .. }) && self.is_looked_at(link)
    }

    /// Have IPv4 addresses come or gone since this was last asked?
    pub fn addresses_changed(&mut self) -> bool {
        std::mem::take(&mut self.addresses_changed)
    }

    /// Are whole IPv4 prefixes this machine's own? Sources are then looked up, for what lies in one
    /// is as much our own as an address is. True when that is new.
    pub fn set_wide_local_v4(&mut self, wide: bool) -> bool {
        std::mem::replace(&mut self.looks_up_v4.0, wide) != wide
    }

    /// A rule of IPv4 is there that was not at first; a VRF brings one. The kernel then looks every source up, in the
    /// table of its interface, for good (`fib_has_custom_rules`). True when that is new.
    pub fn set_custom_rules_v4(&mut self) -> bool {
        !std::mem::replace(&mut self.looks_up_v4.1, true)
    }

    /// Is this a port or a sub-interface of one, or a VRF that one may be in?
    pub fn is_looked_at(&self, link: &Link) -> bool {
        let is_port = |link: &Link| self.ports.contains(&link.name);
        match link.kind {
            LinkKind::Plain => is_port(link),
            LinkKind::Vlan { parent, .. } => self.links.get(&parent).is_some_and(is_port),
            LinkKind::Vrf { .. } => true,
        }
    }

    /// Is this port or sub-interface left to the kernel by policy?
    pub fn is_kept(&self, name: &str) -> bool {
        self.kept.contains(name)
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

    /// The link that has what comes in by this one, so that it is not routed: a bridge, a bond, one
    /// that takes its frames ([`Link::takes_from`]).
    pub fn owner(&self, link: &Link) -> Option<&Link> {
        let master = link.master.and_then(|master| self.links.get(&master));
        let owns = |master: &&Link| !matches!(master.kind, LinkKind::Vrf { .. });
        let mut takers = self.takers.range((link.index, 0)..=(link.index, u32::MAX));
        let taker = || takers.next().and_then(|(_, taker)| self.links.get(taker));
        master.filter(owns).or_else(taker)
    }

    /// The table that frames look up in which come in by this link, if they do.
    fn table_on_arrival(&self, link: &Link) -> Option<u32> {
        let table = self.table_of(link.index);
        table.filter(|_| self.owner(link).is_none())
    }

    /// The name of the VRF that looks up in a table.
    pub fn vrf(&self, table: u32) -> Option<&str> {
        let of_table = LinkKind::Vrf { table };
        let found = self.links.values().find(|link| link.kind == of_table);
        found.map(|link| link.name.as_str())
    }

    /// Does the kernel consider routes through this link alive?
    pub fn alive(&self, link: u32, v6: bool) -> bool {
        self.links.get(&link).is_some_and(|found| found.up)
            && (v6 || !self.without_v4.contains(&link))
    }

    /// Notes an address. True when it is the link's first of IPv4 again, which revives multipath
    /// members on the link.
    pub fn add_address(&mut self, address: LinkAddress) -> bool {
        self.addresses_changed |= self.addresses.insert(address) && address.address.is_ipv4();
        address.address.is_ipv4() && self.without_v4.remove(&address.link)
    }

    /// Forgets an address. True when it was the link's last of IPv4, which makes the kernel drop,
    /// in silence, every IPv4 route by that link.
    pub fn remove_address(&mut self, address: LinkAddress) -> bool {
        let was_there = self.addresses.remove(&address);
        self.addresses_changed |= was_there && address.address.is_ipv4();
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
        let gone = self.links.remove(&link);
        if let Some(place) = gone.as_ref().and_then(tunnel_place) {
            self.tunnels.remove(&place);
        }
        if let Some(below) = gone.and_then(|gone| gone.takes_from) {
            self.takers.remove(&(below, link));
        }
        if self.receiving.contains(&link) {
            self.find_receiving();
        }
        self.mtu6.remove(&link);
        if let Some(accepts) = &mut self.accepts {
            accepts.remove(&link);
        }
        self.addresses.retain(|address| address.link != link);
        self.without_v4.remove(&link);
    }
}

/// A link's place among the tunnels, if it is one.
fn tunnel_place(link: &Link) -> Option<(u32, u32)> {
    let place = (link.master.unwrap_or_default(), link.index);
    link.is_tunnel.then_some(place)
}
