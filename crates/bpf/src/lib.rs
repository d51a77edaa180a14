//! Programs for the kernel's eBPF machine: from an object file, or assembled here, to a running
//! program.
//!
//! - [`object`] reads an object file, [`program`] sets its constants, sizes its maps and loads it.
//!   `specialise` makes the program for these constants first, `joined` puts pieces behind it.
//! - [`map`] reads and writes elements, and maps whole arrays into this process.
//! - [`attach`] puts a program on an interface, [`features`] says what that interface can do,
//!   [`classifier`] does it where older kernels have no links.
//! - [`btf`] finds types of the running kernel, [`assemble`] writes small programs that use them.
//! - [`classic`] reads filters as `tcpdump` compiles them, [`ring`] what programs hand over.
//! - [`sys`] is bpf(2) itself: one function a command.
//!
//! # Who owns which memory
//! The kernel owns maps and programs; a [`map::Map`], a [`program::Program`] and an
//! [`attach::Attachment`] are descriptors of them. Nothing is pinned: what a process has loaded
//! goes with its last descriptor, however the process ends, and the interface is the kernel's
//! again; [`classifier`] has the one exception. A [`map::MappedArray`] is the kernel's memory in this process. Programs change it at any
//! time, so it is read and written by pointer or by copy, and never borrowed as a slice.
//!
//! # What it cannot do
//! It runs on Linux 6.0 or later with `CAP_BPF`, `CAP_NET_ADMIN` and `CAP_PERFMON` (or root), on
//! little-endian machines. It loads programs for XDP, tc, socket filters and tracepoints.
//! It reads no subprograms that are not inlined, and no variables but in sections `.data.NAME`.

pub mod assemble;
pub mod attach;
mod bound;
pub mod btf;
pub mod classic;
pub mod classifier;
pub mod error;
pub mod features;
mod joined;
pub mod map;
pub mod object;
pub mod program;
pub mod ring;
mod specialise;
pub mod sys;

pub use error::{Error, Result};
