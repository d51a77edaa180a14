//! The kernel's half of Corelane: small eBPF programs, and the Rust side that loads, feeds and
//! reads them.
//!
//! - forward: file: `bpf/forward.bpf.c`; what it does: routes frames between ports; Rust side:
//!   [`forward::Forwarder`]
//! - hear, take: file: `bpf/take.bpf.c`; what it does: lets packet sockets have what can be
//!   forwarded, and drops the kernel's copy of it; Rust side: [`forward::Forwarder`]
//! - generate: file: `bpf/generate.bpf.c`; what it does: writes frames and redirects them into a
//!   device; Rust side: [`generate::Generator`]
//! - sink: file: `bpf/sink.bpf.c`; what it does: counts, checks, drops; Rust side: [`sink::Sink`]
//! - steer: file: `bpf/steer.bpf.c`; what it does: gives frames to `AF_XDP` sockets, the rest to
//!   the kernel; Rust side: [`steer::Steer`]
//!
//! The objects are built by `make bpf` and committed, so users need no clang. They are loaded by a
//! small loader of our own ([`object`], [`sys`]): it reads the few relocations that these programs
//! have, and gives what the general loaders do not: load-time constants without debug information,
//! memory-mapped arrays, live frames.
//!
//! Nothing is pinned. Programs, maps and attachments live as long as the process holds their
//! descriptors, so a process that dies, however it dies, leaves nothing behind, and the interface
//! is the kernel's again.
//!
//! # What it cannot do
//! It runs on Linux 6.0 or later with `CAP_BPF`, `CAP_NET_ADMIN` and `CAP_PERFMON` (or root), on
//! little-endian machines.

pub mod attach;
pub mod error;
pub mod features;
pub mod forward;
pub mod generate;
pub mod map;
pub mod object;
pub mod program;
pub mod sink;
pub mod steer;
pub mod sys;

pub use error::{Error, Result};
