//! Addresses set aside for benchmarks: 198.18.0.0/15 (RFC 2544 C.2.2) and `2001:2::/48` (RFC 5180 §8, erratum 1752).
//!
//! The lower half belongs to the device's input side, the upper half to its output side. Port `p` (from 0) of the device has
//! `.1` on network `p + 1` of its side; the tester's end has `.2` there, and stands for a router with networks behind it. RFC 2544
//! wants 256 networks, but its own plan leaves 190 a side (65 to 254): ours reach from 198.19.64.0/24 as far as needed, beyond
//! 192 networks through addresses within a /24, so that 2^20 destinations are 192 networks of many hosts.

use std::net::{Ipv4Addr, Ipv6Addr};

/// First network behind the tester's end, as the third octet.
const FIRST_NETWORK: u32 = 64;
/// /24 networks behind each end.
pub const NETWORKS: u32 = 192;

/// Which side of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Where frames enter the device.
    Input,
    /// Where they leave it.
    Output,
}

impl Side {
    /// The side of port `port` in a one-way or two-way test: even ports are inputs.
    pub const fn of_port(port: u8) -> Self {
        if port.is_multiple_of(2) {
            Self::Input
        } else {
            Self::Output
        }
    }

    const fn bits(self) -> u32 {
        match self {
            Self::Input => 0,
            Self::Output => 1,
        }
    }
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
    let side = Side::of_port(port).bits() as u8;
    Ipv4Addr::new(198, 18 + side, port / 2 + 1, host)
}

/// The device's own address on port `port`, with prefix length 64.
pub fn device_v6(port: u8) -> Ipv6Addr {
    host_v6(port, 1)
}

/// The tester's address facing port `port`.
pub fn tester_v6(port: u8) -> Ipv6Addr {
    host_v6(port, 2)
}

fn host_v6(port: u8, host: u16) -> Ipv6Addr {
    let side = (Side::of_port(port).bits() as u16) << 15;
    Ipv6Addr::new(
        0x2001,
        2,
        0,
        side | (u16::from(port / 2) + 1),
        0,
        0,
        0,
        host,
    )
}

/// The network that holds every destination behind port `port`: what the device needs a route for. Two-port tests have one pair;
/// with more ports the 192 networks of a side are divided among its ports.
pub fn behind_v4(port: u8, ports: u8) -> Vec<(Ipv4Addr, u8)> {
    let (first, count) = share(port, ports);
    let base = u32::from(Ipv4Addr::new(
        198,
        18 + Side::of_port(port).bits() as u8,
        0,
        0,
    ));
    cover(base + ((FIRST_NETWORK + first) << 8), count << 8)
}

/// As [`behind_v4`]: one /56 for each port.
pub fn behind_v6(port: u8) -> (Ipv6Addr, u8) {
    (destination_v6(port, 0, 1), 56)
}

/// Destination number `index` of `count` behind port `port`: networks by turns first, then hosts from .2 upward within them.
///
/// `count` beyond the addresses there are wraps around.
pub fn destination_v4(port: u8, ports: u8, index: u32, count: u32) -> Ipv4Addr {
    let (first, networks) = share(port, ports);
    let spread = networks.min(count.max(1));
    let network = first + index % spread;
    let host = 2 + (index / spread) % 250;
    let base = u32::from(Ipv4Addr::new(
        198,
        18 + Side::of_port(port).bits() as u8,
        0,
        0,
    ));
    Ipv4Addr::from(base + ((FIRST_NETWORK + network) << 8) + host)
}

/// As [`destination_v4`]: 256 /64 networks, then hosts within them.
pub fn destination_v6(port: u8, index: u32, count: u32) -> Ipv6Addr {
    let spread = 256.min(count.max(1));
    let side = (Side::of_port(port).bits() as u16) << 15;
    let network = side | 0x4000 | (u16::from(port / 2) << 8) | (index % spread) as u16;
    let host = 2 + index / spread;
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

/// The numbers below `count` in a random order that `seed` fixes (RFC 2544 §12 wants destinations at random).
pub fn shuffled(count: u32, seed: u64) -> impl Iterator<Item = u32> {
    let mut indices: Vec<u32> = (0..count).collect();
    let mut state = seed ^ 0x9E37_79B9_7F4A_7C15;
    for last in (1..indices.len()).rev() {
        // xorshift64: an order, not a secret.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        indices.swap(last, (state % (last as u64 + 1)) as usize);
    }
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
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_plan_of_the_rfc() {
        assert_eq!(device_v4(0), Ipv4Addr::new(198, 18, 1, 1));
        assert_eq!(device_v4(1), Ipv4Addr::new(198, 19, 1, 1));
        assert_eq!(tester_v4(1), Ipv4Addr::new(198, 19, 1, 2));
        assert_eq!(tester_v6(0), "2001:2:0:1::2".parse::<Ipv6Addr>().unwrap());
        assert_eq!(
            device_v6(1),
            "2001:2:0:8001::1".parse::<Ipv6Addr>().unwrap()
        );
    }

    #[test]
    fn destinations_lie_in_the_routed_networks_and_differ() {
        for ports in [2, 4] {
            for port in 0..ports {
                let routes = behind_v4(port, ports);
                let mut seen = HashSet::new();
                for index in 0..10_000 {
                    let address = u32::from(destination_v4(port, ports, index, 10_000));
                    assert!(seen.insert(address));
                    assert!(
                        routes.iter().any(|&(network, length)| {
                            (address ^ u32::from(network)) >> (32 - u32::from(length)) == 0
                        }),
                        "{} of port {port} of {ports}",
                        Ipv4Addr::from(address)
                    );
                }
            }
        }
        assert_eq!(
            behind_v4(1, 2),
            [
                (Ipv4Addr::new(198, 19, 64, 0), 18),
                (Ipv4Addr::new(198, 19, 128, 0), 17)
            ]
        );
    }

    #[test]
    fn ipv6_destinations_lie_in_their_prefix() {
        for port in 0..4 {
            let (network, length) = behind_v6(port);
            for index in 0..1000 {
                let difference =
                    u128::from(destination_v6(port, index, 1000)) ^ u128::from(network);
                assert_eq!(difference >> (128 - u32::from(length)), 0);
            }
        }
    }
}
