//! From what a route says to the next hop that packets get.

use fib::NextHop;

use super::model::{Hop, Hops, RouteKind, Way};
use super::routed::Routed;
use super::shared::Shared;
use super::surroundings::HopKey;
use super::ways::{WayId, Ways};
use crate::engine::{Change, fixed};

/// The next hop of a way, with one use held, and the link on which its destinations are, if they
/// are on one.
pub(super) fn resolve<A: Routed>(
    way: &Way,
    before: NextHop,
    shared: &mut Shared,
    out: &mut Vec<Change>,
) -> (NextHop, Option<u32>) {
    if way.special {
        return (fixed::PUNT, None);
    }
    match way.kind {
        RouteKind::Kernel => return (fixed::PUNT, None),
        RouteKind::Blackhole => return (fixed::BLACKHOLE, None),
        RouteKind::Unreachable => return (fixed::UNREACHABLE, None),
        RouteKind::Prohibit => return (fixed::PROHIBIT, None),
        RouteKind::Unicast => {}
    }
    if way.object != 0 {
        return (
            shared
                .objects
                .hold(way.object, &mut shared.next_hops, &shared.around, out),
            None,
        );
    }
    let key = |hop: &Hop| {
        hop.gateway.map(|gateway| HopKey {
            link: hop.link,
            gateway,
            mtu: way.mtu,
        })
    };
    match way.hops.as_slice() {
        [] => (fixed::PUNT, None),
        [hop] => match key(hop) {
            Some(key) => (shared.next_hops.hop(key, &shared.around, out), None),
            // A route with its own MTU to a connected network is rare enough for the kernel to
            // serve.
            None => (fixed::PUNT, (way.mtu == 0).then_some(hop.link)),
        },
        hops if hops.iter().any(|hop| hop.gateway.is_none()) => (fixed::PUNT, None),
        hops => {
            let mut members = Vec::with_capacity(hops.len());
            for hop in hops {
                if let Some(key) = key(hop) {
                    members.push((shared.next_hops.hop(key, &shared.around, out), hop.weight));
                }
            }
            (
                shared
                    .next_hops
                    .group(members, before, &shared.around, A::V6, out),
                None,
            )
        }
    }
}

/// Is the way `new` the multipath route `old` with members added?
pub(super) fn joined(ways: &Ways, old: WayId, new: WayId) -> bool {
    let (Some(old), Some(new)) = (ways.get(old), ways.get(new)) else {
        return false;
    };
    let (old, new) = (&old.way, &new.way);
    let gateways = |way: &Way| way.hops.as_slice().iter().all(|hop| hop.gateway.is_some());
    let within = |small: &Way, large: &Way| {
        small.hops.as_slice().iter().all(|hop| {
            large
                .hops
                .as_slice()
                .iter()
                .any(|other| (other.link, other.gateway) == (hop.link, hop.gateway))
        })
    };
    old.metric == new.metric
        && old.kind == RouteKind::Unicast
        && new.kind == RouteKind::Unicast
        && old.object == 0
        && !old.hops.as_slice().is_empty()
        && gateways(old)
        && gateways(new)
        && (within(old, new) || within(new, old))
}

/// The multipath way `way` without the members of `gone`, if that is a proper part of it.
pub(super) fn without(way: &Way, gone: &Way) -> Option<Way> {
    let leaving = gone.hops.as_slice();
    let members = way.hops.as_slice();
    if way.metric != gone.metric || leaving.is_empty() || leaving.len() >= members.len() {
        return None;
    }
    let left: Vec<_> = members
        .iter()
        .filter(|hop| {
            !leaving
                .iter()
                .any(|other| (other.link, other.gateway) == (hop.link, hop.gateway))
        })
        .copied()
        .collect();
    if left.len() + leaving.len() != members.len() {
        return None;
    }
    let mut smaller = Way {
        hops: Hops::None,
        ..way.clone()
    };
    for hop in left {
        smaller.hops.push(hop);
    }
    Some(smaller)
}
