//! What one change to the machine or the placement did to a program: the time with the change over
//! the time without.

use serde::{Deserialize, Serialize};

use crate::statistics::{Interval, median, median_interval};

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

/// Judges recorded seconds: `with[round]` the change, `without[round]`, and `control[round]`, a
/// second run without it.
pub fn judge(
    what: String,
    with: &[f64],
    without: &[f64],
    control: &[f64],
    seed: u64,
) -> Intervention {
    const RESAMPLES: usize = 1000;
    let over =
        |seconds: &[f64]| -> Vec<f64> { seconds.iter().zip(without).map(|(a, b)| a / b).collect() };
    let ratios = over(with);
    let interval = median_interval(&ratios, RESAMPLES, seed);
    let floor = median_interval(&over(control), RESAMPLES, seed);
    Intervention {
        what,
        ratio: median(&ratios),
        interval,
        felt: interval.low > floor.high.max(1.0) || interval.high < floor.low.min(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_either_way_counts_if_it_clears_the_control() {
        let without = [1.0; 5];
        let control = [1.02, 0.98, 1.0, 1.01, 0.99];
        let change = |with: [f64; 5]| judge("x".to_owned(), &with, &without, &control, 1);
        assert!(change([1.2, 1.21, 1.19, 1.2, 1.22]).felt);
        assert!(change([0.8, 0.81, 0.79, 0.8, 0.82]).felt);
        assert!(!change([1.01, 0.99, 1.0, 1.03, 0.97]).felt);
    }
}
