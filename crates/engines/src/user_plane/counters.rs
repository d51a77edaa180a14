//! What a worker counts: for each of its ports, plain cells that it alone writes and anybody may
//! read.
//!
//! A count is one load, one add and one store, without a locked instruction, in lines that no other
//! core writes. A reader sums the cells of all workers. Between two bursts
//! `received = forwarded + every reason` holds exactly for each port; a reader who looks in the
//! middle of one may see it off by that burst.

use std::sync::atomic::{AtomicU64, Ordering};

use fastpath::forward::{PortCount, Reason, Step};

/// A number that one thread writes and others read.
#[derive(Debug, Default)]
pub(super) struct Cell(AtomicU64);

impl Cell {
    /// Only the owning worker calls this.
    #[inline]
    pub(super) fn add(&self, value: u64) {
        self.0.store(
            self.0.load(Ordering::Relaxed).wrapping_add(value),
            Ordering::Relaxed,
        );
    }

    /// Only the owning worker calls this.
    #[inline]
    pub(super) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    #[inline]
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The cells of one port on one worker. 128 bytes apart from any other's, because processors fetch
/// lines in pairs.
#[derive(Debug)]
#[repr(align(128))]
pub struct PortCounters {
    pub(super) received: Cell,
    pub(super) received_bytes: Cell,
    pub(super) forwarded: Cell,
    pub(super) forwarded_bytes: Cell,
    pub(super) missed: Cell,
    pub(super) bursts: Cell,
    steps: [Cell; Step::ALL.len()],
    reasons: [Cell; Reason::COUNT],
}

impl PortCounters {
    pub(super) fn new() -> Self {
        Self {
            received: Cell::default(),
            received_bytes: Cell::default(),
            forwarded: Cell::default(),
            forwarded_bytes: Cell::default(),
            missed: Cell::default(),
            bursts: Cell::default(),
            steps: [const { Cell(AtomicU64::new(0)) }; Step::ALL.len()],
            reasons: [const { Cell(AtomicU64::new(0)) }; Reason::COUNT],
        }
    }

    #[inline]
    pub(super) fn entered(&self, step: Step, frames: usize) {
        self.steps[step as usize].add(frames as u64);
    }

    #[inline]
    pub(super) fn not_forwarded(&self, reason: Reason, frames: usize) {
        self.reasons[reason as usize].add(frames as u64);
    }

    /// The counts so far. Any thread may ask.
    pub fn read(&self) -> PortCount {
        PortCount {
            received: self.received.get(),
            received_bytes: self.received_bytes.get(),
            forwarded: self.forwarded.get(),
            forwarded_bytes: self.forwarded_bytes.get(),
            refused: 0,
            missed: self.missed.get(),
            bursts: self.bursts.get(),
            steps: std::array::from_fn(|index| self.steps[index].get()),
            reasons: std::array::from_fn(|index| self.reasons[index].get()),
        }
    }
}
