//! What is measured: a case, and a sample of it.

use std::fmt;
use std::ops::Range;

use host::counting::Counting;

use crate::kind::Kind;

/// Frame sizes of RFC 2544 §9.1 with the 768 of its appendix B, in bytes with FCS.
pub const FRAME_SIZES: [u32; 8] = [64, 128, 256, 512, 768, 1024, 1280, 1518];

/// The frame size at which the work per frame shows most: speed-ups and costs are stated for it.
pub const SMALLEST: u32 = FRAME_SIZES[0];

/// One thing to measure, several times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// What forwards, and by which table.
    pub kind: Kind,
    /// The core of the first worker: its place among the setting's, counted from 0. The others have
    /// those that follow.
    pub first: usize,
    /// Number of workers, each on a core of its own.
    pub workers: usize,
    /// Frame size with FCS.
    pub frame_bytes: u32,
    /// Route changes a second meanwhile.
    pub changes: u64,
}

impl Case {
    /// The places of the workers' cores among the setting's.
    pub fn cores(&self) -> Range<usize> {
        self.first..self.first + self.workers
    }

    /// Whether `other` is the same but for the route changes.
    pub fn differs_in_changes_only(&self, other: &Self) -> bool {
        let changes = other.changes;
        Self {
            changes,
            ..self.clone()
        } == *other
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            first,
            workers,
            frame_bytes,
            changes,
        } = self;
        let (engine, table) = (kind.engine(), kind.table());
        let plural = if *workers == 1 { "" } else { "s" };
        write!(
            f,
            "{engine}, {table} table, {workers} worker{plural}, {frame_bytes} bytes"
        )?;
        if *first > 0 {
            write!(f, ", after the first {first} cores")?;
        }
        if *changes > 0 {
            write!(f, ", {changes} route changes/s")?;
        }
        Ok(())
    }
}

/// What one measurement of a case gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Frames forwarded a second, over all workers; 0 when none came through.
    pub frames_per_second: f64,
    /// Route changes a second that were really made.
    pub changes_per_second: f64,
    /// The frames as they were counted; nothing where none came through.
    pub counted: Counting,
}

#[cfg(test)]
#[path = "../tests/unit/case.rs"]
mod tests;
