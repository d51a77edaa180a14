//! What the two threads of a flow count, for whoever measures them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A count that one thread adds to, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// Adds, in the one thread that does.
    pub(crate) fn add(&self, more: u64) {
        let now = self.0.load(Ordering::Relaxed);
        self.0.store(now + more, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Bytes of payload.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Handed to the kernel.
    pub(crate) sent: Count,
    /// Read at the other end.
    pub(crate) arrived: Count,
    /// Nothing more is sent.
    pub(crate) done: AtomicBool,
}
