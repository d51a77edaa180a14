//! Inter-core communication between planes that may or may not share a kernel.
//!
//! A control plane hands routes to a user plane; a user plane hands counters to a management
//! plane. Under one kernel that is a queue between threads; between two processes it is a mapped
//! file; between two kernels on the same memory it is a device that both map. This crate makes the
//! three one thing: a [`Link`] over any [`Memory`] of 64-bit words, with the three kinds of
//! communication that the Multicore Association's MCAPI 2.0 names:
//!
//! - messages ([`Message`]): connection: none: addressed to a port, with a [`Priority`]; keeps
//!   order: within one priority; used here for: commands and events
//! - packet channel: connection: one, one direction each way; keeps order: yes; used here for:
//!   routes down, counters up
//! - scalar channel: connection: one, one direction each way; keeps order: yes; used here for: 8 to
//!   64-bit values: sequence numbers, doorbells
//!
//! ```text
//!  memory (words of 64 bit)
//!  +--------+---------+---------+----------------------------+----------------------------+
//!  | header | side A  | side B  | A -> B: 4 message rings,   | B -> A: the same           |
//!  | magic  | state   | state   | packet ring, scalar ring   |                            |
//!  | size   | beat    | beat    | (each: head, tail, words)  |                            |
//!  +--------+---------+---------+----------------------------+----------------------------+
//! ```
//!
//! Who owns what: the creator of the memory formats it once ([`Link::create`]); from then on every
//! word has exactly one writer, its side. Nobody waits for anybody: a full ring is an error the
//! sender sees, an empty one is `None`.
//!
//! What it does not do: it never sleeps and rings no bell (two kernels share no futex), so a
//! receiver polls; it does not trust the other side (every position and length read from shared
//! memory is checked, a peer that breaks the rules is [`LinkError::Corrupt`]); and it cannot tell a
//! slow peer from a dead one, only how long it has been silent ([`PeerWatch`]).

pub mod conformance;
mod link;
mod memory;
mod peer;
mod ring;
#[cfg(test)]
#[path = "../tests/unit/ring.rs"]
mod ring_tests;
mod sync;

pub use link::{Link, LinkError, Message, Port, Priority, Side};
pub use memory::{Heap, Mapping, Memory};
pub use peer::{Peer, PeerWatch};
