//! By which prefix, and to whom: what is said beside a captured frame.

use std::net::IpAddr;

use fib::NextHop;
use fib::next_hop::Kind;

use super::search::{longest, way};
use crate::control_plane::follower::Follower;

/// The longest prefix for a destination in a table now, and the neighbour that a next hop is.
pub(crate) fn prefix_and_neighbour(
    follower: &Follower,
    table: u32,
    to: IpAddr,
    next_hop: u16,
) -> (Option<String>, Option<String>) {
    if !follower.engine().keeps_table() {
        return (None, None);
    }
    let mirror = follower.mirror();
    let prefix = match to {
        IpAddr::V4(to) => longest(follower, mirror.v4(), table, u32::from(to)),
        IpAddr::V6(to) => longest(follower, mirror.v6(), table, u128::from(to)),
    };
    let entry = follower.engine().answers().next_hop(NextHop(next_hop));
    let is_way = next_hop != 0 && entry.kind == Kind::Adjacency;
    let neighbour = is_way
        .then(|| way(follower, &entry, to).neighbour)
        .flatten();
    (prefix.map(|prefix| prefix.prefix), neighbour)
}
