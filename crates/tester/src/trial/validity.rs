//! Whether a trial counts.

use serde::{Deserialize, Serialize};

use super::Counts;
use crate::disturbance::Disturbance;
use crate::schedule::{RATE_TOLERANCE, TOLERANCE};

/// Whether a trial says anything about the device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "is", content = "because")]
pub enum Validity {
    /// It does.
    Valid,
    /// It was run as intended, on a machine that was disturbed: the result stands with a mark.
    Noisy(String),
    /// It does not: the tester did not offer what it should, or cannot vouch for what it saw.
    Invalid(String),
}

impl Validity {
    /// Whether the trial may count.
    pub fn counts(&self) -> bool {
        !matches!(self, Self::Invalid(_))
    }
}

/// Judges how the tester conducted a trial; `rate_error` is `None` for a burst, which has no rate
/// to keep.
pub fn judge(counts: &Counts, rate_error: Option<f64>, disturbance: &Disturbance) -> Validity {
    if !counts.closes() {
        return Validity::Invalid(format!("the counts do not close: {counts:?}"));
    }
    if counts.tester_dropped > 0 {
        return Validity::Invalid(format!(
            "the tester's own receiver lost {} frames; use larger rings, fewer frames per second \
             or another generator",
            counts.tester_dropped
        ));
    }
    if counts.unsent as f64 > TOLERANCE * counts.intended as f64 {
        return Validity::Invalid(format!(
            "the tester sent {} of {} intended frames; the rate is beyond what it can offer",
            counts.sent, counts.intended
        ));
    }
    if let Some(error) = rate_error
        && error.abs() > RATE_TOLERANCE
    {
        return Validity::Invalid(format!(
            "the rate missed the intended one by {:+.3} %",
            error * 100.0
        ));
    }
    let noise = disturbance.noise();
    let noise = noise.or_else(|| disturbance.explains(counts.lost, counts.sent));
    noise.map_or(Validity::Valid, Validity::Noisy)
}
