//! The machine's clock: `CLOCK_MONOTONIC`, which eBPF programs and other processes of this host
//! read too.

use rustix::time::{ClockId, clock_gettime};

/// A stretch of time, by [`now_ns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its beginning.
    pub from_ns: u64,
    /// And its end.
    pub to_ns: u64,
}

/// Nanoseconds of the monotonic clock.
#[inline]
pub fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}
