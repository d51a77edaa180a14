//! The eBPF programs on frames and on interfaces of this machine.

mod common;
mod forwarder;
mod generator;
mod network;
mod standard;
mod xsk;
