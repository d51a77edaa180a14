//! Routes and nexthop objects.

use std::net::IpAddr;

use fib::{IpPrefix, Prefix};
use host::netlink::{attributes, number, short};

use super::{AF_INET, AF_INET6, field, ip};
use crate::control_plane::model::{Hop, Hops, NextHopObject, ObjectKind, Route, RouteKind, Way};

/// `linux/rtnetlink.h`; not every C library's headers have them.
pub(crate) const RTA_VIA: u16 = 18;
/// As above.
const RTA_ENCAP: u16 = 22;

const NHA_ID: u16 = 1;
const NHA_GROUP: u16 = 2;
const NHA_BLACKHOLE: u16 = 4;
const NHA_OIF: u16 = 5;
const NHA_GATEWAY: u16 = 6;
const NHA_ENCAP: u16 = 8;
const NHA_FDB: u16 = 11;
/// `struct nhmsg`: family, scope, protocol, reserved, flags (u32).
pub(super) fn object(payload: &[u8]) -> Option<NextHopObject> {
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

/// `struct rtmsg`: family, destination length, source length, tos, table, protocol, scope, type,
/// flags (u32).
pub(super) fn route(payload: &[u8], living_only: bool) -> Option<Route> {
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
            // When it does, the kernel says so half a minute later.
            libc::RTA_CACHEINFO => way.special |= expires(value),
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

/// `struct rta_cacheinfo`: references, last use, then in how many ticks the route expires; 0:
/// never.
fn expires(value: &[u8]) -> bool {
    field::<4>(value, 8).is_some_and(|ticks| ticks != [0; 4])
}

fn route_kind(kind: u8) -> RouteKind {
    match kind {
        libc::RTN_UNICAST => RouteKind::Unicast,
        libc::RTN_BLACKHOLE => RouteKind::Blackhole,
        libc::RTN_UNREACHABLE => RouteKind::Unreachable,
        libc::RTN_PROHIBIT => RouteKind::Prohibit,
        libc::RTN_LOCAL | libc::RTN_BROADCAST | libc::RTN_ANYCAST => RouteKind::Local,
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

/// A run of `struct rtnexthop`: length (u16), flags (u8), weight less one (u8), index (i32),
/// attributes. False when a member is more than a link and a gateway.
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
