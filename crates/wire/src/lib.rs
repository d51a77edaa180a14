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
//! - [`udp`], [`icmp`]: enough to build test traffic and error messages.
//! - [`checksum`]: the Internet checksum, and its incremental update after RFC 1624.
//! - [`partial`]: checksums that a sender left to its network card.
//!
//! What it cannot do: follow extension headers beyond the first, parse TCP, reassemble fragments.
//! Lengths are in bytes and without the frame check sequence, as everywhere inside Corelane.

#![forbid(unsafe_code)]

pub mod checksum;
pub mod ethernet;
pub mod icmp;
pub mod ipv4;
pub mod ipv6;
pub mod partial;
pub mod udp;
pub mod vlan;
