//! Messages of rtnetlink as the mirror's events.
//!
//! Written by hand against `linux/rtnetlink.h`, `linux/if_link.h`, `linux/neighbour.h`, `linux/nexthop.h` and
//! `linux/fib_rules.h`, because a full table is a million messages: a route with one way out is decoded without
//! allocating. Whatever is not understood makes a route *special*, which leaves it to the kernel.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fib::{IpPrefix, Prefix};

use super::attributes::{attributes, number, short, text};
use crate::control_plane::model::{
    Event, Hop, Hops, Link, LinkAddress, LinkKind, Neighbour, NextHopObject, ObjectKind, Placement,
    Route, RouteKind, Rule, Way,
};

/// `linux/rtnetlink.h`; not every C library's headers have them.
const RTA_VIA: u16 = 18;
/// As above.
const RTA_ENCAP: u16 = 22;

const AF_INET: u8 = libc::AF_INET as u8;
const AF_INET6: u8 = libc::AF_INET6 as u8;

/// One message without its header.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// `RTM_*`.
    pub kind: u16,
    /// `NLM_F_*`.
    pub flags: u16,
    /// What follows the header.
    pub payload: &'a [u8],
    /// It is part of a dump, where routes come in the kernel's order.
    pub dumped: bool,
    /// Leave out members of multipath routes that the kernel says are dead.
    pub living_only: bool,
}

/// The event in a message; `None` when it says nothing about forwarding, or is damaged.
pub fn decode(message: Message<'_>) -> Option<Event> {
    let Message { payload, .. } = message;
    match message.kind {
        libc::RTM_NEWLINK => link(payload).map(Event::Link),
        libc::RTM_DELLINK => link(payload).map(|link| Event::LinkGone(link.index)),
        libc::RTM_NEWADDR => address(payload).map(Event::Address),
        libc::RTM_DELADDR => address(payload).map(Event::AddressGone),
        libc::RTM_NEWNEIGH => neighbour(payload).map(Event::Neighbour),
        libc::RTM_DELNEIGH => {
            neighbour(payload).map(|gone| Event::NeighbourGone(gone.link, gone.address))
        }
        libc::RTM_NEWRULE => rule(payload).map(Event::Rule),
        libc::RTM_DELRULE => rule(payload).map(Event::RuleGone),
        RTM_NEWNEXTHOP => object(payload).map(Event::Object),
        RTM_DELNEXTHOP => object(payload).map(|object| Event::ObjectGone(object.id)),
        libc::RTM_NEWROUTE => {
            route(payload, message.living_only).map(|route| Event::Route(route, placement(message)))
        }
        libc::RTM_DELROUTE => route(payload, false).map(Event::RouteGone),
        _ => None,
    }
}

const RTM_NEWNEXTHOP: u16 = 104;
const RTM_DELNEXTHOP: u16 = 105;
/// Asks for nexthop objects.
pub const RTM_GETNEXTHOP: u16 = 106;

fn placement(message: Message<'_>) -> Placement {
    let flags = i32::from(message.flags);
    if message.dumped || flags & libc::NLM_F_APPEND != 0 {
        Placement::Last
    } else if flags & libc::NLM_F_REPLACE != 0 {
        Placement::Replace
    } else {
        Placement::First
    }
}

fn field<const N: usize>(payload: &[u8], at: usize) -> Option<[u8; N]> {
    payload.get(at..)?.first_chunk().copied()
}

fn ip(family: u8, payload: &[u8]) -> Option<IpAddr> {
    match family {
        AF_INET => payload
            .first_chunk::<4>()
            .map(|bytes| Ipv4Addr::from(*bytes).into()),
        AF_INET6 => payload
            .first_chunk::<16>()
            .map(|bytes| Ipv6Addr::from(*bytes).into()),
        _ => None,
    }
}

/// `struct ifinfomsg`: family, pad, type (u16), index (i32), flags (u32), change (u32).
fn link(payload: &[u8]) -> Option<Link> {
    // Bridges announce their ports a second time under their own family; that says nothing here.
    if payload.first() != Some(&0) {
        return None;
    }
    let index = u32::from_ne_bytes(field(payload, 4)?);
    let flags = u32::from_ne_bytes(field(payload, 8)?);
    let mut found = Link {
        index,
        name: String::new(),
        up: flags & libc::IFF_UP as u32 != 0,
        carrier: flags & (libc::IFF_RUNNING as u32 | libc::IFF_LOWER_UP as u32) != 0,
        mac: [0; 6],
        mtu: 0,
        kind: LinkKind::Plain,
        master: None,
    };
    let mut parent = 0;
    let mut info = None;
    for (kind, value) in attributes(payload.get(16..)?) {
        match kind {
            libc::IFLA_ADDRESS => found.mac = value.try_into().unwrap_or_default(),
            libc::IFLA_IFNAME => found.name = text(value),
            libc::IFLA_MTU => found.mtu = number(value),
            libc::IFLA_LINK => parent = number(value),
            libc::IFLA_MASTER => found.master = Some(number(value)).filter(|master| *master != 0),
            libc::IFLA_LINKINFO => info = Some(value),
            _ => {}
        }
    }
    if let Some(info) = info {
        found.kind = link_kind(info, parent);
    }
    Some(found)
}

const IFLA_VRF_TABLE: u16 = 1;
const IFLA_VLAN_ID: u16 = 1;
const IFLA_VLAN_PROTOCOL: u16 = 5;
const ETHERTYPE_VLAN: [u8; 2] = [0x81, 0x00];

fn link_kind(info: &[u8], parent: u32) -> LinkKind {
    let mut name = String::new();
    let mut data: &[u8] = &[];
    for (kind, value) in attributes(info) {
        match kind {
            libc::IFLA_INFO_KIND => name = text(value),
            libc::IFLA_INFO_DATA => data = value,
            _ => {}
        }
    }
    let find = |wanted| {
        attributes(data)
            .find(|(kind, _)| *kind == wanted)
            .map(|(_, value)| value)
    };
    match name.as_str() {
        "vrf" => find(IFLA_VRF_TABLE).map_or(LinkKind::Plain, |value| LinkKind::Vrf {
            table: number(value),
        }),
        "vlan" if find(IFLA_VLAN_PROTOCOL).is_none_or(|protocol| protocol == ETHERTYPE_VLAN) => {
            find(IFLA_VLAN_ID).map_or(LinkKind::Plain, |value| LinkKind::Vlan {
                parent,
                vid: short(value),
            })
        }
        _ => LinkKind::Plain,
    }
}

/// `struct ifaddrmsg`: family, prefix length, flags, scope, index (u32).
fn address(payload: &[u8]) -> Option<LinkAddress> {
    let family = *payload.first()?;
    let link = u32::from_ne_bytes(field(payload, 4)?);
    let mut found = None;
    for (kind, value) in attributes(payload.get(8..)?) {
        // Where both are given, the local one is this machine's and the other the peer's.
        if kind == libc::IFA_LOCAL || (kind == libc::IFA_ADDRESS && found.is_none()) {
            found = ip(family, value);
        }
    }
    Some(LinkAddress {
        link,
        address: found?,
    })
}

const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;

/// `struct ndmsg`: family, pads, index (i32), state (u16), flags, type.
fn neighbour(payload: &[u8]) -> Option<Neighbour> {
    let family = *payload.first()?;
    let link = u32::from_ne_bytes(field(payload, 4)?);
    let state = u16::from_ne_bytes(field(payload, 8)?);
    let mut destination = None;
    let mut mac = None;
    for (kind, value) in attributes(payload.get(12..)?) {
        match kind {
            NDA_DST => destination = ip(family, value),
            NDA_LLADDR => mac = value.try_into().ok(),
            _ => {}
        }
    }
    Some(Neighbour {
        link,
        address: destination?,
        state,
        mac,
    })
}

mod rules {
    pub(super) const FRA_PRIORITY: u16 = 6;
    pub(super) const FRA_TABLE: u16 = 15;
    pub(super) const FRA_L3MDEV: u16 = 19;
    pub(super) const FRA_PROTOCOL: u16 = 21;
    pub(super) const FRA_SUPPRESS_PREFIXLEN: u16 = 14;
    pub(super) const FR_ACT_TO_TBL: u8 = 1;
}

/// `struct fib_rule_hdr`: family, destination length, source length, tos, table, two reserved, action, flags (u32).
fn rule(payload: &[u8]) -> Option<Rule> {
    let header: [u8; 12] = field(payload, 0)?;
    let family = match header[0] {
        AF_INET => 4,
        AF_INET6 => 6,
        _ => return None,
    };
    let mut found = Rule {
        family,
        priority: 0,
        table: u32::from(header[4]),
        l3mdev: false,
        selective: header[1] != 0
            || header[2] != 0
            || header[3] != 0
            || header[7] != rules::FR_ACT_TO_TBL,
    };
    for (kind, value) in attributes(&payload[12..]) {
        match kind {
            rules::FRA_PRIORITY => found.priority = number(value),
            rules::FRA_TABLE => found.table = number(value),
            rules::FRA_L3MDEV => found.l3mdev = value.first() == Some(&1),
            // Suppressors are always sent; all ones means "none".
            rules::FRA_SUPPRESS_PREFIXLEN if number(value) == u32::MAX => {}
            rules::FRA_PROTOCOL => {}
            _ => found.selective = true,
        }
    }
    Some(found)
}

const NHA_ID: u16 = 1;
const NHA_GROUP: u16 = 2;
const NHA_BLACKHOLE: u16 = 4;
const NHA_OIF: u16 = 5;
const NHA_GATEWAY: u16 = 6;
const NHA_ENCAP: u16 = 8;
const NHA_FDB: u16 = 11;

/// `struct nhmsg`: family, scope, protocol, reserved, flags (u32).
fn object(payload: &[u8]) -> Option<NextHopObject> {
    let family = *payload.first()?;
    let mut id = None;
    let mut hop = Hop {
        link: 0,
        gateway: None,
        weight: 1,
    };
    let mut kind = None;
    for (attribute, value) in attributes(payload.get(8..)?) {
        match attribute {
            NHA_ID => id = Some(number(value)),
            NHA_OIF => hop.link = number(value),
            NHA_GATEWAY => hop.gateway = ip(family, value),
            NHA_BLACKHOLE => kind = Some(ObjectKind::Blackhole),
            NHA_ENCAP | NHA_FDB => kind = Some(ObjectKind::Other),
            NHA_GROUP => kind = Some(ObjectKind::Group(members(value))),
            _ => {}
        }
    }
    Some(NextHopObject {
        id: id?,
        kind: kind.unwrap_or(ObjectKind::Hop(hop)),
    })
}

/// `struct nexthop_grp`: id (u32), weight less one (u8), its upper byte (u8), reserved (u16).
fn members(value: &[u8]) -> Vec<(u32, u16)> {
    value
        .chunks_exact(8)
        .map(|member| {
            (
                number(member),
                (u16::from_le_bytes([member[4], member[5]])).saturating_add(1),
            )
        })
        .collect()
}

const RTA_NH_ID: u16 = 30;

/// `struct rtmsg`: family, destination length, source length, tos, table, protocol, scope, type, flags (u32).
fn route(payload: &[u8], living_only: bool) -> Option<Route> {
    let [family, length, source_length, tos, table, _, _, kind] = field(payload, 0)?;
    let flags = u32::from_ne_bytes(field(payload, 8)?);
    // Cached exceptions (a learned path MTU) belong to single flows.
    if flags & libc::RTM_F_CLONED != 0 || !matches!(family, AF_INET | AF_INET6) {
        return None;
    }
    let mut table = u32::from(table);
    let mut destination: &[u8] = &[];
    let mut hop = Hop {
        link: 0,
        gateway: None,
        weight: 1,
    };
    let mut multipath: &[u8] = &[];
    let mut way = Way {
        kind: route_kind(kind),
        metric: 0,
        object: 0,
        hops: Hops::None,
        source: None,
        mtu: 0,
        special: tos != 0 || source_length != 0,
    };
    for (attribute, value) in attributes(&payload[12..]) {
        match attribute {
            libc::RTA_DST => destination = value,
            libc::RTA_TABLE => table = number(value),
            libc::RTA_PRIORITY => way.metric = number(value),
            libc::RTA_OIF => hop.link = number(value),
            libc::RTA_GATEWAY => hop.gateway = ip(family, value),
            RTA_VIA => hop.gateway = via(value),
            libc::RTA_MULTIPATH => multipath = value,
            libc::RTA_PREFSRC => way.source = ip(family, value),
            libc::RTA_METRICS => way.mtu = mtu(value),
            RTA_ENCAP => way.special = true,
            RTA_NH_ID => way.object = number(value),
            _ => {}
        }
    }
    if way.object == 0 {
        if multipath.is_empty() {
            if hop.link != 0 {
                way.hops = Hops::One(hop);
            }
        } else {
            way.special |= !read_multipath(family, multipath, living_only, &mut way.hops);
        }
    }
    Some(Route {
        table,
        destination: prefix(family, destination, length)?,
        way,
    })
}

fn route_kind(kind: u8) -> RouteKind {
    match kind {
        libc::RTN_UNICAST => RouteKind::Unicast,
        libc::RTN_BLACKHOLE => RouteKind::Blackhole,
        libc::RTN_UNREACHABLE => RouteKind::Unreachable,
        libc::RTN_PROHIBIT => RouteKind::Prohibit,
        _ => RouteKind::Kernel,
    }
}

fn prefix(family: u8, destination: &[u8], length: u8) -> Option<IpPrefix> {
    if family == AF_INET {
        let address = destination
            .first_chunk()
            .map_or(0, |bytes| u32::from_be_bytes(*bytes));
        Prefix::new(address, length).ok().map(IpPrefix::V4)
    } else {
        let address = destination
            .first_chunk()
            .map_or(0, |bytes| u128::from_be_bytes(*bytes));
        Prefix::new(address, length).ok().map(IpPrefix::V6)
    }
}

/// `struct rtvia`: family (u16), address.
fn via(value: &[u8]) -> Option<IpAddr> {
    ip(short(value) as u8, value.get(2..)?)
}

const RTAX_MTU: u16 = 2;

fn mtu(metrics: &[u8]) -> u32 {
    attributes(metrics)
        .find(|(kind, _)| *kind == RTAX_MTU)
        .map_or(0, |(_, value)| number(value))
}

const RTNH_F_DEAD: u8 = 1;

/// A run of `struct rtnexthop`: length (u16), flags (u8), weight less one (u8), index (i32), attributes. False when a
/// member is more than a link and a gateway.
fn read_multipath(family: u8, mut rest: &[u8], living_only: bool, hops: &mut Hops) -> bool {
    let mut plain = true;
    while let Some(header) = rest.first_chunk::<8>() {
        let length = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let Some(body) = rest.get(8..length) else {
            return false;
        };
        let link = u32::from_ne_bytes([header[4], header[5], header[6], header[7]]);
        let mut hop = Hop {
            link,
            gateway: None,
            weight: u16::from(header[3]) + 1,
        };
        for (kind, value) in attributes(body) {
            match kind {
                libc::RTA_GATEWAY => hop.gateway = ip(family, value),
                RTA_VIA => hop.gateway = via(value),
                RTA_ENCAP => plain = false,
                _ => {}
            }
        }
        if !living_only || header[2] & RTNH_F_DEAD == 0 {
            hops.push(hop);
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    plain
}
