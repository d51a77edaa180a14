//! The eBPF programs on frames and on interfaces of this machine.

mod common;
mod forwarder;
mod generator;
mod hand_over;
mod network;
mod reason;
mod send;
mod standard;
mod xsk;
