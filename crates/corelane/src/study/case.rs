//! What is measured: a case, a sample of it, and the row that a case becomes.

use std::fmt;

use report::units::{BitsPerSecond, FramesPerSecond};
use serde::{Deserialize, Serialize};

/// Frame sizes of RFC 2544 §9.1 with the 768 of its appendix B, in bytes with FCS.
pub(crate) const FRAME_SIZES: [u32; 8] = [64, 128, 256, 512, 768, 1024, 1280, 1518];

/// The frame size at which the work per frame shows most: speed-ups and costs are stated for it.
pub(crate) const SMALLEST: u32 = FRAME_SIZES[0];

/// How the workers share the forwarding table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Table {
    /// One table behind one mutex, counters under it.
    Locked,
    /// One table that all read and none writes for a frame.
    Shared,
    /// A copy for every worker.
    PerCore,
    /// The kernel's own.
    Kernel,
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Locked => "locked",
            Self::Shared => "shared",
            Self::PerCore => "per-core",
            Self::Kernel => "kernel",
        })
    }
}

/// One thing to measure, several times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    /// Name of the engine.
    pub(crate) engine: &'static str,
    /// How its workers share the table.
    pub(crate) table: Table,
    /// Number of workers, each on a core of its own.
    pub(crate) workers: usize,
    /// Frame size with FCS.
    pub(crate) frame_bytes: u32,
    /// Route changes a second meanwhile.
    pub(crate) changes: u64,
}

impl Case {
    /// Whether `other` is the same but for the route changes.
    pub(crate) fn differs_in_changes_only(&self, other: &Self) -> bool {
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
            engine,
            table,
            workers,
            frame_bytes,
            changes,
        } = self;
        let plural = if *workers == 1 { "" } else { "s" };
        write!(
            f,
            "{engine}, {table} table, {workers} worker{plural}, {frame_bytes} bytes"
        )?;
        if *changes > 0 {
            write!(f, ", {changes} route changes/s")
        } else {
            Ok(())
        }
    }
}

/// What one measurement of a case gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// Frames forwarded a second, over all workers; 0 when none came through.
    pub(crate) frames_per_second: f64,
    /// Route changes a second that were really made.
    pub(crate) changes_per_second: f64,
}

/// A case with its result: the median of the rounds, and the lowest and highest of them. In JSON
/// the rates are plain numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) engine: String,
    pub(crate) table: Table,
    pub(crate) workers: usize,
    pub(crate) frame_bytes: u32,
    /// Prefixes in the forwarding table.
    pub(crate) routes: usize,
    /// Distinct destinations that the frames went to.
    pub(crate) destinations: usize,
    /// Route changes asked for.
    pub(crate) route_changes_per_second: u64,
    /// Median of the rounds.
    pub(crate) frames_per_second: FramesPerSecond,
    /// The same at layer 2: frames × bytes with FCS × 8.
    pub(crate) bits_per_second: BitsPerSecond,
    /// Lowest round, frames a second.
    pub(crate) low: FramesPerSecond,
    /// Highest round, frames a second.
    pub(crate) high: FramesPerSecond,
    /// The highest rate at which a search found nothing lost; `None` where none was found, or
    /// nobody searched.
    #[serde(default)]
    pub(crate) no_loss_frames_per_second: Option<FramesPerSecond>,
}

impl Row {
    /// The row of `case` from its rounds.
    pub(crate) fn new(case: &Case, rounds: &[Sample], routes: usize, destinations: usize) -> Self {
        let rates: Vec<f64> = rounds
            .iter()
            .map(|sample| sample.frames_per_second)
            .collect();
        let frames_per_second = FramesPerSecond(scaling::statistics::median(&rates));
        Self {
            engine: case.engine.to_owned(),
            table: case.table,
            workers: case.workers,
            frame_bytes: case.frame_bytes,
            routes,
            destinations,
            route_changes_per_second: case.changes,
            frames_per_second,
            bits_per_second: frames_per_second.at(case.frame_bytes),
            low: FramesPerSecond(rates.iter().copied().fold(f64::INFINITY, f64::min)),
            high: FramesPerSecond(rates.iter().copied().fold(0.0, f64::max)),
            no_loss_frames_per_second: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_median_low_and_high_of_its_rounds() {
        let case = Case {
            engine: "memory",
            table: Table::PerCore,
            workers: 2,
            frame_bytes: 64,
            changes: 0,
        };
        let rounds = [3.0, 1.0, 2.0].map(|rate| Sample {
            frames_per_second: rate,
            changes_per_second: 0.0,
        });
        let row = Row::new(&case, &rounds, 5, 6);
        assert_eq!(
            (row.frames_per_second.0, row.low.0, row.high.0),
            (2.0, 1.0, 3.0)
        );
        let json = serde_json::to_value(&row).unwrap();
        let expected = serde_json::json!({
            "engine": "memory", "table": "per-core", "workers": 2, "frame_bytes": 64, "routes": 5,
            "destinations": 6,
            "route_changes_per_second": 0, "frames_per_second": 2.0, "bits_per_second": 1024.0,
            "low": 1.0, "high": 3.0,
            "no_loss_frames_per_second": null
        });
        assert_eq!(json, expected);
    }

    #[test]
    fn cases_read_as_words() {
        let case = Case {
            engine: "memory",
            table: Table::PerCore,
            workers: 1,
            frame_bytes: 64,
            changes: 1000,
        };
        assert_eq!(
            case.to_string(),
            "memory, per-core table, 1 worker, 64 bytes, 1000 route changes/s"
        );
    }
}
