//! The system profiler of Corelane: it records what the scheduler, the locks and the interrupts of
//! a Linux machine did while a program ran, and says in sentences what stops the second core.
//!
//! - [`record`] asks the kernel, through `perf_event_open` tracepoints in one ring for every core.
//!   Root or `CAP_PERFMON`.
//! - [`format`](mod@format) keeps what it heard in a file, two to five bytes a context switch.
//! - [`event`] and [`trace`] are that file's content as plain values.
//!
//! What it cannot see: a lock taken without waiting makes no event, and a thread that spins in user
//! space looks like a thread that works.

// The kernel's words are taken as they come: the same bits, signed or not.
#![allow(clippy::cast_possible_wrap)]

pub mod analyse;
pub mod diff;
pub mod event;
pub mod export;
pub mod fast_map;
pub mod format;
pub mod record;
pub mod summary;
pub mod threads;
pub mod timeline;
pub mod trace;
mod varint;
pub mod verdict;

pub use trace::Trace;
