//! What a worker counts: for each of its ports, plain cells that it alone writes and anybody may
//! read.
//!
//! A count is one load, one add and one store, without a locked instruction, in lines that no other
//! core writes. A reader sums the cells of all workers. Between two bursts
//! `received = forwarded + every reason` holds exactly for each port; a reader who looks in the
//! middle of one may see it off by that burst.

use std::sync::atomic::{AtomicU64, Ordering};

use fastpath::forward::{Reason, Step};

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

/// The counts of one port on one worker, or a sum of such.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortCount {
    /// Frames that came from the port.
    pub received: u64,
    /// Their bytes, without frame check sequence.
    pub received_bytes: u64,
    /// Frames that came from the port and were accepted by an egress port.
    pub forwarded: u64,
    /// Their bytes as they left, without frame check sequence.
    pub forwarded_bytes: u64,
    /// Frames that the port lost before the worker could take them; not among the received.
    pub missed: u64,
    /// Bursts that held at least one frame.
    pub bursts: u64,
    /// Frames that entered each step, in the order of [`Step::ALL`].
    pub steps: [u64; Step::ALL.len()],
    /// Frames not forwarded, in the order of [`Reason::ALL`].
    pub reasons: [u64; Reason::COUNT],
}

impl Default for PortCount {
    fn default() -> Self {
        Self {
            received: 0,
            received_bytes: 0,
            forwarded: 0,
            forwarded_bytes: 0,
            missed: 0,
            bursts: 0,
            steps: [0; Step::ALL.len()],
            reasons: [0; Reason::COUNT],
        }
    }
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
            missed: self.missed.get(),
            bursts: self.bursts.get(),
            steps: std::array::from_fn(|index| self.steps[index].get()),
            reasons: std::array::from_fn(|index| self.reasons[index].get()),
        }
    }
}

impl PortCount {
    /// Frames not forwarded for this reason.
    pub fn of(&self, reason: Reason) -> u64 {
        self.reasons[reason as usize]
    }

    /// Frames that entered this step.
    pub fn entered(&self, step: Step) -> u64 {
        self.steps[step as usize]
    }

    /// Frames that were not forwarded.
    pub fn not_forwarded(&self) -> u64 {
        self.reasons.iter().sum()
    }

    /// Whether every received frame was forwarded or has its one reason. False is a defect of this
    /// program, or a reading in the middle of a burst.
    pub fn closes(&self) -> bool {
        self.received == self.forwarded + self.not_forwarded()
    }

    /// What was counted after `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            received: self.received.wrapping_sub(earlier.received),
            received_bytes: self.received_bytes.wrapping_sub(earlier.received_bytes),
            forwarded: self.forwarded.wrapping_sub(earlier.forwarded),
            forwarded_bytes: self.forwarded_bytes.wrapping_sub(earlier.forwarded_bytes),
            missed: self.missed.wrapping_sub(earlier.missed),
            bursts: self.bursts.wrapping_sub(earlier.bursts),
            steps: std::array::from_fn(|index| {
                self.steps[index].wrapping_sub(earlier.steps[index])
            }),
            reasons: std::array::from_fn(|index| {
                self.reasons[index].wrapping_sub(earlier.reasons[index])
            }),
        }
    }
}

impl std::ops::AddAssign<&Self> for PortCount {
    fn add_assign(&mut self, other: &Self) {
        self.received += other.received;
        self.received_bytes += other.received_bytes;
        self.forwarded += other.forwarded;
        self.forwarded_bytes += other.forwarded_bytes;
        self.missed += other.missed;
        self.bursts += other.bursts;
        for (sum, part) in self.steps.iter_mut().zip(other.steps) {
            *sum += part;
        }
        for (sum, part) in self.reasons.iter_mut().zip(other.reasons) {
            *sum += part;
        }
    }
}
