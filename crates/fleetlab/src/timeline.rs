//! What came of the frames, in steps of time: plain values, no clock, no I/O.

use serde::{Deserialize, Serialize};

use crate::count::Frame;

/// Steps at most, so that a page can draw them and a document with many runs stays small.
const MOST_STEPS: u64 = 120;
/// A step is so long at least, ns: shorter ones have too few frames to see a share of them.
const LEAST_STEP: u64 = 20_000_000;

/// Frames by the time at which they were sent. All lists have one number for each step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timeline {
    /// When the first step begins, from the event's beginning: below 0.
    pub begins_ms: f64,
    /// How long a step is.
    pub step_ms: f64,
    /// Frames that were sent.
    pub sent: Vec<u32>,
    /// Of these, the ones that came.
    pub came: Vec<u32>,
    /// Of these, the ones that came by the event's node.
    pub by_node: Vec<u32>,
}

impl Timeline {
    /// How long it is.
    pub fn seconds(&self) -> f64 {
        self.sent.len() as f64 * self.step_ms / 1000.0
    }
}

/// The frames sent `from` until `to`, ns, around what happened to `node` at `event`.
pub fn timeline(flows: &[Vec<Frame>], from: u64, to: u64, event: u64, node: u8) -> Timeline {
    let span = to.saturating_sub(from).max(1);
    let step = span.div_ceil(MOST_STEPS).max(LEAST_STEP);
    let steps = span.div_ceil(step) as usize;
    let none = vec![0; steps];
    let (mut sent, mut came, mut by_node) = (none.clone(), none.clone(), none);
    for frame in flows.iter().flatten() {
        let place = (frame.at.saturating_sub(from) / step) as usize;
        let Some(sum) = sent.get_mut(place) else {
            continue;
        };
        *sum += 1;
        came[place] += u32::from(frame.came.is_some());
        by_node[place] += u32::from(frame.by() == Some(node));
    }
    Timeline {
        begins_ms: -(event.saturating_sub(from) as f64 / 1e6),
        step_ms: step as f64 / 1e6,
        sent,
        came,
        by_node,
    }
}

#[cfg(test)]
#[path = "../tests/unit/timeline.rs"]
mod tests;
