//! Addresses set aside for benchmarks: 198.18.0.0/15 (RFC 2544 C.2.2) and `2001:2::/48` (RFC 5180
//! §8, erratum 1752).
//!
//! The lower half belongs to the device's input side, the upper half to its output side. Port `p`
//! (from 0) of the device has `.1` on network `p + 1` of its side; the tester's end has `.2` there,
//! and stands for a router with networks behind it. RFC 2544 wants 256 networks and has no room for
//! them: its own plan leaves 190 a side (65 to 254). Up to 192 destinations are one in each /24
//! from 198.18.64.0 and 198.19.64.0 on; more, up to 2^20, are in 256 networks below 10.0.0.0/9
//! (input side) and 10.128.0.0/9 (output side), one in each network first.

use std::net::{Ipv4Addr, Ipv6Addr};

use figures::Random;

/// First network behind the tester's end, as the third octet.
const FIRST_NETWORK: u32 = 64;
/// /24 networks behind each end: so many destinations have addresses for benchmarks.
pub const NETWORKS: u32 = 192;
/// Networks behind each end when there are more destinations (RFC 2544 §12).
pub const WIDE_NETWORKS: u32 = 256;
/// Bits of the addresses that a side has then.
const WIDE_BITS: u32 = 23;

/// The side of the device that a port is on: 0, where frames enter it, for even ports; 1, where
/// they leave it, for odd ones.
const fn side(port: u8) -> u8 {
    port % 2
}

/// First address of the side's 198.18/16 or 198.19/16.
fn base_v4(port: u8) -> u32 {
    u32::from(Ipv4Addr::new(198, 18 + side(port), 0, 0))
}

/// An address below `2001:2::/48`, in a network of the port's side.
fn address_v6(port: u8, network: u16, host: u32) -> Ipv6Addr {
    let network = u16::from(side(port)) << 15 | network;
    Ipv6Addr::new(
        0x2001,
        2,
        0,
        network,
        0,
        0,
        (host >> 16) as u16,
        host as u16,
    )
}

/// The device's own address on port `port` (below 64).
pub fn device_v4(port: u8) -> Ipv4Addr {
    host_v4(port, 1)
}

/// The tester's address facing port `port`.
pub fn tester_v4(port: u8) -> Ipv4Addr {
    host_v4(port, 2)
}

fn host_v4(port: u8, host: u8) -> Ipv4Addr {
    Ipv4Addr::new(198, 18 + side(port), port / 2 + 1, host)
}

/// The device's own address on port `port`, with prefix length 64.
pub fn device_v6(port: u8) -> Ipv6Addr {
    address_v6(port, u16::from(port / 2) + 1, 1)
}

/// The tester's address facing port `port`.
pub fn tester_v6(port: u8) -> Ipv6Addr {
    address_v6(port, u16::from(port / 2) + 1, 2)
}

/// The network that holds every destination behind port `port`: what the device needs a route for.
/// Two-port tests have one pair; with more ports the 192 networks of a side are divided among its
/// ports.
pub fn behind_v4(port: u8, ports: u8) -> Vec<(Ipv4Addr, u8)> {
    let (first, count) = share(port, ports);
    cover(base_v4(port) + ((FIRST_NETWORK + first) << 8), count << 8)
}

/// As [`behind_v4`]: one /56 for each port.
pub fn behind_v6(port: u8) -> (Ipv6Addr, u8) {
    (destination_v6(port, 0, 1), 56)
}

/// The 256 networks behind port `port` that hold more than [`NETWORKS`] destinations: what the
/// device needs routes for then.
pub fn wide_networks_v4(port: u8, ports: u8) -> impl Iterator<Item = (Ipv4Addr, u8)> {
    let (base, bits) = wide(port, ports);
    (0..WIDE_NETWORKS)
        .map(move |network| (Ipv4Addr::from(base + (network << bits)), 32 - bits as u8))
}

/// First address of a port's wide networks, and bits of the hosts in each.
fn wide(port: u8, ports: u8) -> (u32, u32) {
    let of_side = u32::from(ports.max(2)).div_ceil(2).next_power_of_two();
    let bits = WIDE_BITS - of_side.ilog2();
    let base = u32::from(Ipv4Addr::new(10, 0, 0, 0))
        + (u32::from(side(port)) << WIDE_BITS)
        + (u32::from(port / 2) << bits);
    (base, bits - WIDE_NETWORKS.ilog2())
}

/// Destination number `index` of `count` behind port `port`: networks by turns first, then hosts
/// from .2 upward within them.
///
/// `count` beyond the addresses there are (2^20 with up to eight ports) wraps around.
pub fn destination_v4(port: u8, ports: u8, index: u32, count: u32) -> Ipv4Addr {
    if count > NETWORKS {
        let (base, bits) = wide(port, ports);
        let host = 2 + (index / WIDE_NETWORKS) % ((1 << bits) - 3);
        return Ipv4Addr::from(base + ((index % WIDE_NETWORKS) << bits) + host);
    }
    let (first, networks) = share(port, ports);
    let spread = networks.min(count.max(1));
    let network = first + index % spread;
    let host = 2 + (index / spread) % 250;
    Ipv4Addr::from(base_v4(port) + ((FIRST_NETWORK + network) << 8) + host)
}

/// As [`destination_v4`]: 256 /64 networks, then hosts within them.
pub fn destination_v6(port: u8, index: u32, count: u32) -> Ipv6Addr {
    let spread = 256.min(count.max(1));
    let network = 0x4000 | u16::from(port / 2) << 8 | (index % spread) as u16;
    address_v6(port, network, 2 + index / spread)
}

/// The numbers below `count` in a random order that `seed` fixes (RFC 2544 §12 wants destinations
/// at random).
pub fn shuffled(count: u32, seed: u64) -> impl Iterator<Item = u32> {
    let mut indices: Vec<u32> = (0..count).collect();
    Random::new(seed).shuffle(&mut indices);
    indices.into_iter()
}

/// First network and number of networks of a port among those of its side.
fn share(port: u8, ports: u8) -> (u32, u32) {
    let of_side = u32::from(ports.max(2)).div_ceil(2);
    let each = NETWORKS / of_side;
    (u32::from(port / 2) * each, each)
}

/// The fewest prefixes that cover `count` addresses from `first`.
fn cover(mut first: u32, mut count: u32) -> Vec<(Ipv4Addr, u8)> {
    let mut prefixes = Vec::new();
    while count > 0 {
        let bits = first.trailing_zeros().min(count.ilog2());
        prefixes.push((Ipv4Addr::from(first), 32 - bits as u8));
        first += 1 << bits;
        count -= 1 << bits;
    }
    prefixes
}

#[cfg(test)]
#[path = "../tests/unit/addresses.rs"]
mod tests;
