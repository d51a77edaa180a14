//! Tells the profiler what it cannot see: the names of locks, how often and how long they are held,
//! and how far the work is.
//!
//! A marked program keeps a page of shared memory, `/dev/shm/corelane-marker-PID`, which it makes
//! with its first mark and removes when it ends. Naming a lock writes there once and costs nothing
//! afterwards. A [`Progress`] point is one store to a cache line of its own. A [`CountedLock`]
//! costs two clock readings for each hold, and its counters are written only by the thread that has
//! the lock. Without a profiler nothing else happens; when the memory cannot be had, marks do
//! nothing.
//!
//! ```
//! let table = std::sync::Mutex::new(0_u64);
//! let address = &raw const table as usize;
//! let name = marker::name_lock(address, size_of_val(&table), "forwarding table");
//! let frames = marker::Progress::new("frames");
//! *table.lock().unwrap() += 1;
//! frames.add(1);
//! let marks = marker::read(std::process::id()).unwrap();
//! assert!(marks.iter().any(|mark| mark.name == "forwarding table"));
//! # drop(name);
//! ```
//! C and C++ programs use `include/corelane_marker.h`, which writes the same memory.

mod page;

use std::sync::atomic::{AtomicU64, Ordering};

use page::Entry;
pub use page::{Kind, Mark, Reader, processes, read};
use rustix::time::{ClockId, clock_gettime};

/// A lock's name; its time is over when this is dropped. Another lock may come to lie in the same
/// place.
#[derive(Debug)]
pub struct Named(Option<&'static Entry>);

/// Gives the lock in the `length` bytes from `address` a name.
#[must_use = "the time of the name is over when this is dropped"]
pub fn name_lock(address: usize, length: usize, name: &str) -> Named {
    Named(page::take(Kind::Lock, address, length, name))
}

impl Drop for Named {
    fn drop(&mut self) {
        if let Some(entry) = self.0 {
            page::give_back(entry);
        }
    }
}

/// A counter of work done, for one thread. Points with one name count together; what was counted
/// stays when it is dropped, because the reader compares totals.
#[derive(Debug)]
pub struct Progress(Option<&'static Entry>);

impl Progress {
    /// A point called `name` that has counted nothing yet.
    pub fn new(name: &str) -> Self {
        Self(page::take(Kind::Progress, 0, 0, name))
    }

    /// `events` more are done. Only one thread may call it at a time; a racing call loses counts
    /// and nothing else.
    pub fn add(&self, events: u64) {
        if let Some(entry) = self.0 {
            grow(&entry.count, events);
        }
    }
}

/// A named lock that counts its own holds, which makes the profiler's prediction exact.
#[derive(Debug)]
pub struct CountedLock(Named);

impl CountedLock {
    /// Names the lock in the `length` bytes from `address`.
    pub fn new(address: usize, length: usize, name: &str) -> Self {
        Self(name_lock(address, length, name))
    }

    /// Call with the lock just taken; keep the answer for [`CountedLock::release`].
    pub fn acquired(&self) -> u64 {
        now()
    }

    /// Call just before the lock is let go, with what [`CountedLock::acquired`] said.
    pub fn release(&self, acquired: u64) {
        if let Some(entry) = self.0.0 {
            let held = now().saturating_sub(acquired);
            grow(&entry.count, 1);
            grow(&entry.held, held);
        }
    }
}

/// Adds to a counter that one thread alone writes at a time.
fn grow(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Ordering::Relaxed) + by, Ordering::Relaxed);
}

fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}
