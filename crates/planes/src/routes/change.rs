//! One route change after the other.

use std::net::Ipv4Addr;

/// Networks under 100.64.0.0/10 that come and come again by turns of two next hops. None of them
/// carries the tester's traffic.
pub(super) const NETWORKS: u32 = 4_096;
const LENGTH: u8 = 24;

/// A change: a network, and by which side of the user plane it is reached now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) network: Ipv4Addr,
    pub(super) length: u8,
    /// 0: towards the sender, 1: towards the receiver.
    pub(super) side: usize,
}

impl Change {
    fn number(number: u32) -> Self {
        let base = u32::from(Ipv4Addr::new(100, 64, 0, 0));
        Self {
            network: Ipv4Addr::from(base + (number % NETWORKS) * 256),
            length: LENGTH,
            side: (number / NETWORKS % 2) as usize,
        }
    }

    /// The changes from `next` on.
    pub(super) fn following(next: u32, count: usize) -> Vec<Self> {
        (0..count as u32)
            .map(|ahead| Self::number(next.wrapping_add(ahead)))
            .collect()
    }
}

#[cfg(test)]
#[path = "../../tests/unit/change.rs"]
mod tests;
