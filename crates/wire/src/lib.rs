//! Headers as a router reads and rewrites them.
//!
//! Every view borrows the frame it looks at: nothing is copied, nothing is allocated, nothing is
//! read from outside. A view is made by a function that checks that the bytes are there and returns
//! `None` or a [`Fault`](ipv4::Fault) when they are not; after that its accessors cannot fail,
//! because they index an array of known size.
//!
//! - [`ethernet`], [`vlan`]: the link header with at most one 802.1Q tag in front of the packet.
//! - [`ipv4`], [`ipv6`]: header checks numbered by the RFC's own clauses, martian addresses, the
//!   hop.
//! - [`udp`]: enough to build test traffic.
//! - [`checksum`]: the Internet checksum, and its incremental update after RFC 1624.
//! - [`partial`]: checksums that a sender left to its network card.
//!
//! What it cannot do: follow extension headers beyond the first, parse TCP, reassemble fragments.
//! Lengths are in bytes and without the frame check sequence, as everywhere inside Corelane.

#![forbid(unsafe_code)]

pub mod checksum;
pub mod ethernet;
pub mod ipv4;
pub mod ipv6;
pub mod partial;
pub mod udp;
pub mod vlan;

/// The first `N` bytes of a frame or a packet, as a header.
#[derive(Clone, Copy, Debug)]
pub struct Header<'a, const N: usize>(&'a [u8; N]);

impl<'a, const N: usize> Header<'a, N> {
    /// The header and what follows its first `N` bytes; `None` when there are fewer. Checks nothing
    /// else.
    #[inline]
    pub fn split(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (header, rest) = bytes.split_first_chunk()?;
        Some((Self(header), rest))
    }

    #[inline]
    fn half(self, at: usize) -> u16 {
        u16::from_be_bytes([self.0[at], self.0[at + 1]])
    }

    #[inline]
    fn word(self, at: usize) -> u32 {
        u32::from_be_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]])
    }

    /// The `M` bytes at `at`, which the caller knows to be inside.
    #[inline]
    fn field<const M: usize>(self, at: usize) -> [u8; M] {
        let mut bytes = [0; M];
        bytes.copy_from_slice(&self.0[at..at + M]);
        bytes
    }
}
