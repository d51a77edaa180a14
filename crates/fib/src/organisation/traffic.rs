//! Frames and bytes by next hop: cells that one worker writes and anybody reads.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::next_hop::{NEXT_HOPS, NextHop};
use crate::storage::{OutOfMemory, Region};

/// What went to a next hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Frames.
    pub frames: u64,
    /// Bytes, as the lengths given to the reader.
    pub bytes: u64,
}

/// The cells of one worker, in pages of their own: 16 bytes for each next hop, touched only where
/// used.
#[derive(Clone, Debug)]
pub struct TrafficCells {
    cells: Region<AtomicU64>,
}

impl TrafficCells {
    pub(super) fn new() -> Result<Self, OutOfMemory> {
        Ok(Self {
            cells: Region::in_memory(NEXT_HOPS * 2)?,
        })
    }

    /// Counts a frame. Only the worker that owns the cells calls this: a plain load and store, no
    /// locked instruction.
    #[inline]
    pub(super) fn count(&self, next_hop: NextHop, length: u16) {
        let cells = self.cells.elements();
        let first = usize::from(next_hop.0) * 2;
        add(&cells[first], 1);
        add(&cells[first + 1], u64::from(length));
    }

    /// What was counted so far.
    pub fn get(&self, next_hop: NextHop) -> Traffic {
        let cells = self.cells.elements();
        let first = usize::from(next_hop.0) * 2;
        Traffic {
            frames: cells[first].load(Ordering::Relaxed),
            bytes: cells[first + 1].load(Ordering::Relaxed),
        }
    }
}

#[inline]
fn add(cell: &AtomicU64, value: u64) {
    cell.store(
        cell.load(Ordering::Relaxed).wrapping_add(value),
        Ordering::Relaxed,
    );
}

impl std::iter::Sum for Traffic {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |sum, part| Self {
            frames: sum.frames + part.frames,
            bytes: sum.bytes + part.bytes,
        })
    }
}
