//! The kernel's half of Corelane: small eBPF programs, and the Rust side that feeds and reads
//! them.
//!
//! - forward: file: `bpf/forward.bpf.c`; what it does: routes frames between ports; Rust side:
//!   [`forward::Forwarder`]
//!   shown to who captures: `bpf/captured.bpf.c`, `bpf/captured_segment.bpf.c`, Rust side:
//!   [`forward::capture`]
//! - hear, take: file: `bpf/take.bpf.c`; what it does: lets packet sockets have what can be
//!   forwarded, and drops the kernel's copy of it; Rust side: [`forward::Forwarder`]
//! - generate: file: `bpf/generate.bpf.c`; what it does: writes frames and redirects them into a
//!   device; Rust side: [`generate::Generator`]
//! - sink: file: `bpf/sink.bpf.c`; what it does: counts, checks, drops; Rust side: [`sink::Sink`]
//! - steer: file: `bpf/steer.bpf.c`; what it does: gives frames to `AF_XDP` sockets, the rest to
//!   the kernel; Rust side: [`steer::Steer`]
//!
//! The objects are built by `make bpf` and committed, so users need no clang. They are packed
//! when the library is compiled, and unpacked before they are loaded. Crate [`bpf`] loads them; its
//! front page says who owns their memory.
//!
//! # What it cannot do
//! What [`bpf`] cannot: it needs Linux 6.0 or later, `CAP_BPF`, `CAP_NET_ADMIN` and `CAP_PERFMON`
//! (or root), and a little-endian machine.

pub mod error;
pub mod forward;
pub mod generate;
mod packed;
pub mod sink;
pub mod steer;

pub use error::{Error, Result};
