//! A digest of routes, by which two routers see whether their tables are alike.
//!
//! It is of what routes say to any box: prefix, kind, gateways and weights ([`said`]). What each box
//! has of its own is left out: addresses, connected networks, neighbours, names and numbers of
//! links, metrics.
//!
//! Each prefix has a hash, and the digest is made of sums of these, so the order in which routes came
//! does not matter. A table keeps the sum of each way ([`Sums`]), which costs a change of a route an
//! addition. What a way says joins the sum only when somebody asks, so a nexthop object that changes
//! costs nothing.
//!
//! It finds tables that differ by accident. It is no proof against somebody who makes routes for it
//! to miss.

use std::net::IpAddr;

use fib::{Address, Prefix};

use super::model::{Hop, RouteKind, Way};
use super::routes::WayId;
use super::slots::{PARTS, part_of};

/// A table is compared in so many ranges: its parts, and in each the hashes by their first bits.
pub const RANGES: usize = PARTS << RANGE_BITS;
/// See above.
const RANGE_BITS: u32 = 6;

/// The digest of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Digest {
    /// Routes that are in it.
    pub routes: u64,
    /// Of their prefixes alone.
    pub prefixes: u128,
    /// Of their prefixes and where they go.
    pub ways: u128,
}

impl Digest {
    /// More routes, which all say the same; their prefixes' hashes have this sum.
    pub(super) fn add(&mut self, sum: Sum, said: u128) {
        self.routes += u64::from(sum.count);
        self.prefixes = self.prefixes.wrapping_add(sum.hashes);
        self.ways = self.ways.wrapping_add(joined(sum.hashes, said));
    }
}

/// Hashes added up, and how many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) hashes: u128,
    pub(super) count: u32,
}

impl std::ops::AddAssign for Sum {
    fn add_assign(&mut self, other: Self) {
        self.hashes = self.hashes.wrapping_add(other.hashes);
        self.count += other.count;
    }
}

/// The prefixes of a table by their best way.
#[derive(Debug, Default)]
pub(super) struct Sums(Vec<Sum>);

impl Sums {
    /// The best way of a prefix is another one.
    pub(super) fn change<A: Address>(
        &mut self,
        prefix: Prefix<A>,
        before: Option<WayId>,
        after: Option<WayId>,
    ) {
        if before == after {
            return;
        }
        let hash = of_prefix(prefix);
        if let Some(sum) = before.and_then(|way| self.0.get_mut(way as usize)) {
            sum.hashes = sum.hashes.wrapping_sub(hash);
            sum.count -= 1;
        }
        if let Some(way) = after {
            let least = way as usize + 1;
            if self.0.len() < least {
                self.0.resize(least, Sum::default());
            }
            self.0[way as usize] += Sum {
                hashes: hash,
                count: 1,
            };
        }
    }

    /// Ways that prefixes go.
    pub(super) fn iter(&self) -> impl Iterator<Item = (WayId, Sum)> {
        let all = (0..).zip(self.0.iter().copied());
        all.filter(|(_, sum)| sum.count > 0)
    }
}

/// What a route by this way says to any box; nothing for a route that is a box's own. `hops` are
/// its ways out, or those of its nexthop object. A link-local gateway is one on every link.
pub fn said(way: &Way, hops: &[Hop]) -> Option<String> {
    let text = match way.kind {
        RouteKind::Local | RouteKind::Kernel => return None,
        RouteKind::Blackhole => "blackhole".to_owned(),
        RouteKind::Unreachable => "unreachable".to_owned(),
        RouteKind::Prohibit => "prohibit".to_owned(),
        RouteKind::Unicast => via(hops)?,
    };
    Some(if way.special {
        format!("{text} for some packets")
    } else {
        text
    })
}

/// What a plain route by these ways out says; nothing when they lead to a box's own links.
pub(super) fn via(hops: &[Hop]) -> Option<String> {
    if hops.is_empty() {
        return Some("by a nexthop object".to_owned());
    }
    if hops.iter().all(|hop| hop.gateway.is_none()) {
        return None;
    }
    let mut hops: Vec<String> = hops.iter().map(hop).collect();
    hops.sort_unstable();
    Some(format!("via {}", hops.join(", ")))
}

fn hop(hop: &Hop) -> String {
    let gateway = match hop.gateway {
        Some(IpAddr::V6(gateway)) if gateway.is_unicast_link_local() => "link-local".to_owned(),
        Some(gateway) => gateway.to_string(),
        None => "its link".to_owned(),
    };
    if hop.weight == 1 {
        gateway
    } else {
        format!("{gateway} weight {}", hop.weight)
    }
}

/// The range of a prefix.
pub fn range_of<A: Address>(prefix: Prefix<A>) -> usize {
    range_by(prefix, of_prefix(prefix))
}

/// The same, when the hash of the prefix is known.
pub(crate) fn range_by<A: Address>(prefix: Prefix<A>, hash: u128) -> usize {
    part_of(prefix) << RANGE_BITS | (hash >> (u128::BITS - RANGE_BITS)) as usize
}

/// The part of a table in which a range is.
pub(crate) fn part_of_range(range: usize) -> usize {
    range >> RANGE_BITS
}

/// The hash of a prefix.
pub fn of_prefix<A: Address>(prefix: Prefix<A>) -> u128 {
    let bits = prefix.address().left_aligned();
    let half = |seed: u64| {
        let length = mix(seed ^ u64::from(prefix.length()));
        mix(mix(length ^ bits as u64) ^ (bits >> 64) as u64)
    };
    u128::from(half(1)) << 64 | u128::from(half(2))
}

/// The hash of a text.
pub fn of_text(text: &str) -> u128 {
    let half = |seed: u64| {
        let chunks = text.as_bytes().chunks(8).map(|chunk| {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(bytes)
        });
        chunks.fold(mix(seed ^ text.len() as u64), |hash, word| mix(hash ^ word))
    };
    u128::from(half(3)) << 64 | u128::from(half(4))
}

/// The hash of the sum of prefixes that all say the same.
pub fn joined(prefixes: u128, said: u128) -> u128 {
    let half = |seed: u64, shift: u32| {
        let (prefixes, said) = ((prefixes >> shift) as u64, (said >> shift) as u64);
        mix(mix(prefixes ^ seed).wrapping_add(said))
    };
    u128::from(half(5, 64)) << 64 | u128::from(half(6, 0))
}

/// Each bit of the outcome depends on each bit of the word (`SplitMix64`: Steele, Lea, Flood, 2014).
fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ word >> 31
}
