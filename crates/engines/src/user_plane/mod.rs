//! Packets: frames in, frames out, on one core, to completion.
//!
//! A [`Worker`] takes a burst from each of its ports in turn and carries every frame of it the
//! whole way, or to the one [`Reason`] why not. Each step of the way is a file of this directory
//! and a row of the statistics, in this order:
//!
//! ```text
//! receive          a burst comes from a port
//! ethernet_input   for us? tagged? which protocol?
//! ipv4_input       header checks, RFC 1812 §5.2.2        | ipv6_input   RFC 8200
//! lookup           the whole burst at once: next hops
//! next_hop         group members, exceptions, MTU, egress
//! ipv4_forward     one hop less, checksum                | ipv6_forward
//! ethernet_output  the new link header, the tag
//! transmit         a burst for each egress port
//! ```
//!
//! In none of them is there an allocation, a lock, a system call of our own (a port's excepted), or
//! a line of log. Nothing a worker writes for a packet is written by another core: the tables are
//! read through a [`fib::organisation::Reader`], the counters are cells of its own ([`counters`]).
//!
//! - [`memory_engine`]: workers on frames replayed from memory: what the forwarding itself costs.
//! - [`test_traffic`]: the frames it replays.

pub mod counters;
pub mod memory_engine;
pub mod test_traffic;
pub mod worker;

mod ethernet_input;
mod ethernet_output;
pub mod flow_hash;
mod ipv4_forward;
mod ipv4_input;
mod ipv6_forward;
mod ipv6_input;
mod lane;
mod lookup;
mod next_hop;
mod receive;
mod transmit;

pub use counters::PortCounters;
pub use fastpath::forward::{Reason, Step};
pub use worker::{HandedWorker, Worker};
