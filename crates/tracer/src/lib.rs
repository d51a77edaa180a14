//! The system profiler of Corelane: it records what the scheduler, the locks and the interrupts of
//! a Linux machine did while a program ran, and says in sentences what stops the second core.
//!
//! The way of an event, room by room:
//!
//! - [`record`] asks the kernel: through two eBPF programs for switches and wake-ups, through
//!   `perf_event_open` tracepoints for the rest. It needs root or `CAP_PERFMON`; without `CAP_BPF`
//!   perf tells of the switches too.
//! - [`format`](mod@format) keeps what it heard in a file, two to five bytes a context switch.
//! - [`event`] and [`trace`] are that file's content as plain values.
//! - [`threads`] says whose the threads are: the program's, others', the kernel's, the recorder's.
//! - [`timeline`] says what each core and each thread did, without a gap.
//! - [`analyse`] asks the timeline: the budget of core time, locks, waits, the path to the end,
//!   moves, interrupts, noise.
//! - [`verdict`] makes sentences of the answers, [`summary`] JSON, and [`diff`] compares two runs.
//! - [`export`] writes the page with pictures, Perfetto's format, and lines of text.
//! - [`fast_map`] is the map that all of them count in.
//!
//! Who owns which memory: the kernel owns what lies between tail and head of a ring until the
//! recorder's thread has moved the tail. That thread alone reads the rings, and keeps at most 32
//! MiB of encoded events back. A [`Trace`] owns everything it was read from. The analyses borrow it
//! and own what they return.
//!
//! What it cannot do: a lock taken without waiting makes no event (looks at its word tell how long
//! it is held), and a thread that spins in user space looks like a thread that works (samples at
//! the timer's tick tell some of it). A lock on a heap or stack has a name only if the program
//! gives it one (`marker`). What a full ring drops is counted and told, and its time is unknown.
//! Names and words of a process that ended before it was looked at are lost.

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
