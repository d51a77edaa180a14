//! What one change to the machine or the placement did to a program: the time with the change over
//! the time without.

use figures::{Estimate, Interval};
use serde::{Deserialize, Serialize};

/// One intervention with its effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intervention {
    /// What was changed.
    pub what: String,
    /// Seconds with the change over seconds without, within rounds, median: above 1 the change
    /// costs.
    pub ratio: f64,
    /// Its interval.
    pub interval: Interval,
    /// Whether the effect clears the control.
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
mod tests {
    use super::*;

    #[test]
    fn an_effect_either_way_counts_if_it_clears_the_control() {
        let control = Estimate::of(&[1.02, 0.98, 1.0, 1.01, 0.99], 1);
        let change =
            |with: [f64; 5]| Intervention::new("x".to_owned(), &Estimate::of(&with, 1), &control);
        assert!(change([1.2, 1.21, 1.19, 1.2, 1.22]).felt);
        assert!(change([0.8, 0.81, 0.79, 0.8, 0.82]).felt);
        assert!(!change([1.01, 0.99, 1.0, 1.03, 0.97]).felt);
    }
}
