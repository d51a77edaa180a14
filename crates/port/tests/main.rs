//! Ports as their users see them.

mod memory;
mod pcap;
mod xsk;
