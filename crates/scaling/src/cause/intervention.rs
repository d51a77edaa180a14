//! What one change to the machine or the placement did to a program: the time with the change over
//! the time without.

use figures::{Estimate, Interval};
use serde::{Deserialize, Serialize};

/// One intervention with its effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Intervention {
    /// What was changed.
    pub what: String,
    /// Seconds with the change over seconds without, within rounds, median: above 1 the change
    /// costs.
    pub ratio: f64,
    /// Its interval.
    pub interval: Interval,
    /// Whether the effect clears the control. Of five rounds each it does so by chance in less than
    /// one case of a hundred, and there are two interventions.
    pub felt: bool,
}

impl Intervention {
    /// From the seconds with the change over those without, and the `control`: a second run
    /// without it over the first.
    pub fn new(what: String, ratio: &Estimate, control: &Estimate) -> Self {
        Self {
            what,
            ratio: ratio.value,
            interval: ratio.interval,
            felt: ratio.is_above(control, 1.0) || ratio.is_below(control, 1.0),
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/intervention.rs"]
mod tests;
