//! A fit for every stretch of the sweep that the topology does not break.
//!
//! The sweep takes cores in an order: first those that share one last-level cache, then further
//! caches, then the second threads of cores already in use. Each change moves the curve by a step
//! or a bend that no scaling law has, and a curve fitted through it is a wrong curve.

use serde::{Deserialize, Serialize};

use super::Point;
use super::choice::{Choice, choose_levelled};
use super::form::Weighting;

/// Where a new kind of core begins in the sweep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Boundary {
    /// The smallest core count that uses the new kind.
    pub cores: u32,
    /// What begins there, for example "second thread of a core".
    pub what: String,
}

/// One stretch with its own law.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Segment {
    /// What these cores are.
    pub what: String,
    /// First core count.
    pub first: u32,
    /// Last core count.
    pub last: u32,
    /// The law of this stretch, if it has points enough.
    pub choice: Choice,
}

/// Splits `points` at `boundaries` and fits every stretch by itself. A later stretch starts from
/// the last core count of the stretch before it, so that its first step is part of it. `points` are
/// of so many levelled `rounds`.
pub fn fit_segments(
    points: &[Point],
    rounds: usize,
    boundaries: &[Boundary],
    weighting: Weighting,
) -> Vec<Segment> {
    let Some(largest) = points.iter().map(|p| p.cores).max() else {
        return Vec::new();
    };
    let mut starts = vec![Boundary {
        cores: 1,
        what: "cores of one last-level cache".to_owned(),
    }];
    starts.extend(
        boundaries
            .iter()
            .filter(|b| b.cores > 1 && b.cores <= largest)
            .cloned(),
    );
    starts.sort_by_key(|b| b.cores);
    let mut segments = Vec::new();
    for (place, start) in starts.iter().enumerate() {
        let last = starts.get(place + 1).map_or(largest, |next| next.cores - 1);
        let from = points
            .iter()
            .map(|p| p.cores)
            .filter(|&n| n < start.cores)
            .max()
            .unwrap_or(start.cores);
        let own: Vec<Point> = points
            .iter()
            .copied()
            .filter(|p| p.cores >= from && p.cores <= last)
            .collect();
        segments.push(Segment {
            what: start.what.clone(),
            first: start.cores,
            last,
            choice: choose_levelled(&own, rounds, weighting),
        });
    }
    segments
}
