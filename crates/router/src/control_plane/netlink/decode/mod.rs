//! Messages of rtnetlink as the mirror's events.
//!
//! Written by hand against `linux/rtnetlink.h`, `linux/if_link.h`, `linux/neighbour.h`,
//! `linux/nexthop.h` and `linux/fib_rules.h`, because a full table is a million messages: a route
//! with one way out is decoded without allocating. Whatever is not understood makes a route
//! *special*, which leaves it to the kernel.

pub(crate) mod routes;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use host::netlink::{Message, attributes, number, short, text};

use crate::control_plane::model::{
    Event, Link, LinkAddress, LinkKind, Neighbour, Placement, Rule, is_tunnel, unfit,
};

const AF_INET: u8 = libc::AF_INET as u8;
const AF_INET6: u8 = libc::AF_INET6 as u8;

/// The event in a message; `None` when it says nothing about forwarding, or is damaged.
/// `living_only` leaves out members of multipath routes that the kernel says are dead.
pub fn decode(message: Message<'_>, living_only: bool) -> Option<Event> {
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
        RTM_NEWNEXTHOP => routes::object(payload).map(Event::Object),
        RTM_DELNEXTHOP => routes::object(payload).map(|object| Event::ObjectGone(object.id)),
        libc::RTM_NEWROUTE => {
            routes::route(payload, living_only).map(|route| Event::Route(route, placement(message)))
        }
        libc::RTM_DELROUTE => routes::route(payload, false).map(Event::RouteGone),
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
    let hardware = u16::from_ne_bytes(field(payload, 2)?);
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
        takes_from: None,
        unfit: unfit(hardware),
        is_tunnel: false,
    };
    let mut parent = 0;
    let mut is_elsewhere = false;
    let mut info = None;
    for (kind, value) in attributes(payload.get(16..)?) {
        match kind {
            libc::IFLA_ADDRESS => found.mac = value.try_into().unwrap_or_default(),
            libc::IFLA_IFNAME => found.name = text(value),
            libc::IFLA_MTU => found.mtu = number(value),
            libc::IFLA_LINK => parent = number(value),
            libc::IFLA_LINK_NETNSID => is_elsewhere = true,
            libc::IFLA_MASTER => found.master = Some(number(value)).filter(|master| *master != 0),
            libc::IFLA_LINKINFO => info = Some(value),
            _ => {}
        }
    }
    if let Some(info) = info {
        // The number of a link of another namespace is no link's of ours.
        let parent = if is_elsewhere { 0 } else { parent };
        let (name, data) = kind_and_data(info);
        found.kind = link_kind(&name, data, parent);
        found.takes_from = takes_frames(&name, data).then_some(parent);
        found.is_tunnel = is_tunnel(&name);
    }
    Some(found)
}

const IFLA_VRF_TABLE: u16 = 1;
const IFLA_VLAN_ID: u16 = 1;
const IFLA_VLAN_EGRESS_QOS: u16 = 3;
const IFLA_VLAN_PROTOCOL: u16 = 5;
const ETHERTYPE_VLAN: [u8; 2] = [0x81, 0x00];
const IFLA_MACVLAN_MODE: u16 = 1;
const MACVLAN_MODE_PASSTHRU: u32 = 8;
const MACVLAN_MODE_SOURCE: u32 = 16;

/// Do links of this kind take frames of the link below, though these have its own Ethernet address
/// (`ipvlan_handle_frame`, `macvlan_handle_frame`)?
fn takes_frames(name: &str, data: &[u8]) -> bool {
    let modes = [MACVLAN_MODE_PASSTHRU, MACVLAN_MODE_SOURCE];
    let is_mode =
        |(kind, value): (u16, &[u8])| kind == IFLA_MACVLAN_MODE && modes.contains(&number(value));
    match name {
        "ipvlan" | "ipvtap" => true,
        "macvlan" | "macvtap" => attributes(data).any(is_mode),
        _ => false,
    }
}

fn kind_and_data(info: &[u8]) -> (String, &[u8]) {
    let mut name = String::new();
    let mut data: &[u8] = &[];
    for (kind, value) in attributes(info) {
        match kind {
            libc::IFLA_INFO_KIND => name = text(value),
            libc::IFLA_INFO_DATA => data = value,
            _ => {}
        }
    }
    (name, data)
}

fn link_kind(name: &str, data: &[u8], parent: u32) -> LinkKind {
    let find = |wanted| {
        attributes(data)
            .find(|(kind, _)| *kind == wanted)
            .map(|(_, value)| value)
    };
    match name {
        "vrf" => find(IFLA_VRF_TABLE).map_or(LinkKind::Plain, |value| LinkKind::Vrf {
            table: number(value),
        }),
        "vlan" if find(IFLA_VLAN_PROTOCOL).is_none_or(|protocol| protocol == ETHERTYPE_VLAN) => {
            find(IFLA_VLAN_ID).map_or(LinkKind::Plain, |value| LinkKind::Vlan {
                parent,
                vid: short(value),
                has_priorities: find(IFLA_VLAN_EGRESS_QOS).is_some_and(|map| !map.is_empty()),
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

/// `struct fib_rule_hdr`: family, destination length, source length, tos, table, two reserved,
/// action, flags (u32).
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
