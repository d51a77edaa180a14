//! The kernel's objects as plain values: what the decoder produces and the mirror consumes. No I/O.

use std::net::IpAddr;

use fib::IpPrefix;

/// The kernel's table of its own addresses.
pub const LOCAL_TABLE: u32 = 255;
/// The kernel's table of last resort.
pub const DEFAULT_TABLE: u32 = 253;

/// Something that the kernel said, by notification or in a dump.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A link is there, or changed.
    Link(Link),
    /// A link is gone; its index.
    LinkGone(u32),
    /// An address is on a link.
    Address(LinkAddress),
    /// An address left a link.
    AddressGone(LinkAddress),
    /// A neighbour entry is there, or changed its state.
    Neighbour(Neighbour),
    /// A neighbour entry is gone.
    NeighbourGone(u32, IpAddr),
    /// A policy rule is there.
    Rule(Rule),
    /// A policy rule is gone.
    RuleGone(Rule),
    /// A nexthop object is there, or was replaced.
    Object(NextHopObject),
    /// A nexthop object is gone; its number.
    ObjectGone(u32),
    /// A route is there.
    Route(Route, Placement),
    /// A route is gone.
    RouteGone(Route),
}

/// Where a route goes among those of the same prefix and metric: the flags of its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// After its equals (`NLM_F_APPEND`, and every route of a dump).
    Last,
    /// Before its equals (`NLM_F_CREATE` alone).
    First,
    /// Instead of the first of its equals (`NLM_F_REPLACE`).
    Replace,
}

/// What a link is, as far as forwarding cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    /// A device that can be a port.
    Plain,
    /// A VLAN sub-interface of `parent`.
    Vlan {
        /// Interface index of the device below.
        parent: u32,
        /// VLAN identifier.
        vid: u16,
        /// A map of its own (`egress-qos-map`) says which priority a frame gets.
        has_priorities: bool,
    },
    /// A VRF master.
    Vrf {
        /// Its route table.
        table: u32,
    },
}

/// Why no program can have the frames of a device with this hardware type (`ARPHRD_…`), if none can.
pub fn unfit(hardware: u16) -> Option<&'static str> {
    (hardware != libc::ARPHRD_ETHER).then_some("its frames have no Ethernet header")
}

/// Does a device of this kind put packets into others? It notes what its path takes with the route
/// that a packet came with, or answers by it (`skb_tunnel_check_pmtu`, `tnl_update_pmtu`), and
/// what a program redirects has none: the sender would never know.
pub fn is_tunnel(kind: &str) -> bool {
    const TUNNELS: [&str; 6] = [
        "vxlan",
        "geneve",
        "gretap",
        "erspan",
        "ip6gretap",
        "ip6erspan",
    ];
    TUNNELS.contains(&kind)
}

/// A link (interface).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Interface index.
    pub index: u32,
    /// Name.
    pub name: String,
    /// Administratively up (`IFF_UP`).
    pub up: bool,
    /// Carrier: `IFF_RUNNING` or `IFF_LOWER_UP`, as the kernel's nexthop code asks.
    pub carrier: bool,
    /// Ethernet address; zero where there is none.
    pub mac: [u8; 6],
    /// MTU in bytes of IP packet.
    pub mtu: u32,
    /// What it is.
    pub kind: LinkKind,
    /// The link that it is enslaved to: a VRF, a bridge, a bond.
    pub master: Option<u32>,
    /// The link below whose frames it takes for itself (ipvlan; macvlan that passes through).
    pub takes_from: Option<u32>,
    /// Why its frames are the kernel's in both directions, whatever is in them.
    pub unfit: Option<&'static str>,
    /// What leaves by it, or by what it is enslaved to, is the kernel's ([`is_tunnel`]).
    pub is_tunnel: bool,
}

/// An address on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinkAddress {
    /// Interface index.
    pub link: u32,
    /// The address.
    pub address: IpAddr,
}

/// A neighbour entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbour {
    /// Interface index.
    pub link: u32,
    /// The neighbour's address.
    pub address: IpAddr,
    /// `NUD_*` bits.
    pub state: u16,
    /// Its Ethernet address, when known.
    pub mac: Option<[u8; 6]>,
}

/// Neighbour states (`NUD_*` of `linux/neighbour.h`).
pub mod nud {
    /// No answer yet.
    pub const INCOMPLETE: u16 = 0x01;
    /// Confirmed not long ago.
    pub const REACHABLE: u16 = 0x02;
    /// Not confirmed lately; still used.
    pub const STALE: u16 = 0x04;
    /// Used while stale; a probe follows soon.
    pub const DELAY: u16 = 0x08;
    /// Being probed; still used.
    pub const PROBE: u16 = 0x10;
    /// Did not answer.
    pub const FAILED: u16 = 0x20;
    /// Needs no resolution.
    pub const NOARP: u16 = 0x40;
    /// Set by hand.
    pub const PERMANENT: u16 = 0x80;
    /// The states in which the kernel sends to the known address (`NUD_VALID`).
    pub const VALID: u16 = REACHABLE | STALE | DELAY | PROBE | NOARP | PERMANENT;
}

impl Neighbour {
    /// The address to send to, when the kernel itself would send without asking first.
    pub fn usable(&self) -> Option<[u8; 6]> {
        if self.state & nud::VALID != 0 {
            self.mac
        } else {
            None
        }
    }
}

/// A policy rule.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rule {
    /// 4 or 6.
    pub family: u8,
    /// Its preference.
    pub priority: u32,
    /// The table it looks in; 0 for a rule that does something else.
    pub table: u32,
    /// The rule that serves all VRFs.
    pub l3mdev: bool,
    /// It asks for more than "every packet": source, mark, interface, ports, ...
    pub selective: bool,
}

/// A nexthop object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextHopObject {
    /// Its number.
    pub id: u32,
    /// What it is.
    pub kind: ObjectKind,
}

/// What a nexthop object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectKind {
    /// One way out.
    Hop(Hop),
    /// Members by number, each with its weight.
    Group(Vec<(u32, u16)>),
    /// Drops.
    Blackhole,
    /// Something that the kernel must do (encapsulation, a bridge's forwarding entry).
    Other,
}

/// `RTN_*`: what a route does with its packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RouteKind {
    /// Forwards.
    Unicast,
    /// Delivers here: local, broadcast, anycast.
    Local,
    /// The kernel's own: multicast, and all that is not listed here.
    Kernel,
    /// Drops silently.
    Blackhole,
    /// Answers "host unreachable".
    Unreachable,
    /// Answers "prohibited".
    Prohibit,
}

/// One way out of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hop {
    /// Interface index to leave by.
    pub link: u32,
    /// The router to hand the packet to; `None`: the destination itself is on the link.
    pub gateway: Option<IpAddr>,
    /// Share of the flows, at least 1.
    pub weight: u16,
}

impl Hop {
    /// Does it leave by the same link to the same gateway?
    fn is_same(&self, other: &Self) -> bool {
        (self.link, self.gateway) == (other.link, other.gateway)
    }
}

/// The ways out of a route. One is by far the commonest, and costs no allocation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Hops {
    /// None: blackholes and the like, or a nexthop object's business.
    None,
    /// One.
    One(Hop),
    /// Several, in the kernel's order.
    Many(Vec<Hop>),
}

impl Hops {
    /// The ways out as a slice.
    pub fn as_slice(&self) -> &[Hop] {
        match self {
            Self::None => &[],
            Self::One(hop) => std::slice::from_ref(hop),
            Self::Many(hops) => hops,
        }
    }

    /// Adds one.
    pub fn push(&mut self, hop: Hop) {
        match self {
            Self::None => *self = Self::One(hop),
            Self::One(first) => *self = Self::Many(vec![*first, hop]),
            Self::Many(hops) => hops.push(hop),
        }
    }
}

/// Everything about a route except its table and prefix. A full Internet table has few distinct
/// ones.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Way {
    /// What it does.
    pub kind: RouteKind,
    /// Smaller wins.
    pub metric: u32,
    /// Number of the nexthop object it uses; 0 for none.
    pub object: u32,
    /// Its ways out, when it uses no object.
    pub hops: Hops,
    /// The address that the kernel prefers as source: the route leaves with that address.
    pub source: Option<IpAddr>,
    /// MTU of the route in bytes; 0 for none.
    pub mtu: u32,
    /// It asks for what no fast path does: type of service, source prefix, encapsulation. The
    /// kernel's.
    pub special: bool,
}

impl Way {
    /// The ways out.
    pub fn hops(&self) -> &[Hop] {
        self.hops.as_slice()
    }

    /// Do the ways out of this one leave by the same links to the same gateways as some of
    /// `other`'s?
    fn is_part_of(&self, other: &Self) -> bool {
        let same = |hop: &Hop| other.hops().iter().any(|other| other.is_same(hop));
        self.hops().iter().all(same)
    }

    /// Is this multipath route the same as `other`, with members added or left out?
    pub fn is_regrouped(&self, other: &Self) -> bool {
        let gateways = |way: &Self| way.hops().iter().all(|hop| hop.gateway.is_some());
        self.metric == other.metric
            && self.kind == RouteKind::Unicast
            && other.kind == RouteKind::Unicast
            && self.object == 0
            && !self.hops().is_empty()
            && gateways(self)
            && gateways(other)
            && (self.is_part_of(other) || other.is_part_of(self))
    }

    /// This multipath route without the members of `gone`, if these are a proper part of it.
    pub fn without(&self, gone: &Self) -> Option<Self> {
        let (members, leaving) = (self.hops(), gone.hops());
        if self.metric != gone.metric || leaving.is_empty() || leaving.len() >= members.len() {
            return None;
        }
        let mut smaller = Self {
            hops: Hops::None,
            ..self.clone()
        };
        let stays = |hop: &&Hop| !leaving.iter().any(|other| other.is_same(hop));
        for hop in members.iter().filter(stays) {
            smaller.hops.push(*hop);
        }
        (smaller.hops().len() + leaving.len() == members.len()).then_some(smaller)
    }
}

/// A route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Kernel table number.
    pub table: u32,
    /// The prefix.
    pub destination: IpPrefix,
    /// The rest.
    pub way: Way,
}
