//! Robust statistics of few, skewed numbers: median, scatter, percentiles and the interval of a
//! median.

use serde::{Deserialize, Serialize};

use crate::random::Random;

/// A range that holds the true value in about 95 of 100 repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end; infinite where nothing is bounded.
    #[serde(with = "unbounded")]
    pub low: f64,
    /// Upper end; infinite where the data do not bound it, which JSON shows as `null`.
    #[serde(with = "unbounded")]
    pub high: f64,
}

impl Interval {
    /// Whether `value` lies in the range, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// Infinity as `null`, because JSON has no infinity.
pub(crate) mod unbounded {
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes fields by reference"
    )]
    pub(crate) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        if value.is_finite() {
            serializer.serialize_f64(*value)
        } else {
            serializer.serialize_none()
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
    }
}

/// The value at `share` (0 to 1) of the sorted `values`, interpolated between neighbours; `NaN` for
/// none.
pub fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let place = share.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (
        sorted[place.floor() as usize],
        sorted[place.ceil() as usize],
    );
    if below.is_infinite() || above.is_infinite() {
        return if place.fract() > 0.0 { above } else { below }; // infinity has no fractions
    }
    below + (above - below) * place.fract()
}

/// The middle value; `NaN` for none.
pub fn median(values: &[f64]) -> f64 {
    percentile(values, 0.5)
}

/// Relative scatter: 1.4826 times the median absolute deviation, over the median. It equals the
/// coefficient of variation for a normal distribution and ignores a few wild values.
pub fn relative_scatter(values: &[f64]) -> f64 {
    let middle = median(values);
    let deviations: Vec<f64> = values.iter().map(|v| (v - middle).abs()).collect();
    1.4826 * median(&deviations) / middle.abs()
}

/// Below this many values the bootstrap of a median is too narrow; see [`median_interval`].
pub const BOOTSTRAP_MINIMUM: usize = 9;

/// The interval of the median of `values`. From nine values on it is the 2.5 and 97.5 percentile of
/// the medians of `resamples` bootstrap draws. Below nine it is the smallest and the largest value,
/// whose coverage is exactly `1 - 2^(1-n)` whatever the distribution (93.8 % for five, 96.9 % for
/// six), where a bootstrap promises more than it holds.
pub fn median_interval(values: &[f64], resamples: usize, seed: u64) -> Interval {
    if values.len() < BOOTSTRAP_MINIMUM {
        return Interval {
            low: percentile(values, 0.0),
            high: percentile(values, 1.0),
        };
    }
    let mut random = Random::new(seed);
    let medians: Vec<f64> = (0..resamples.max(1))
        .map(|_| {
            let draw: Vec<f64> = values
                .iter()
                .map(|_| values[random.below(values.len())])
                .collect();
            median(&draw)
        })
        .collect();
    Interval {
        low: percentile(&medians, 0.025),
        high: percentile(&medians, 0.975),
    }
}

/// The probability that [`median_interval`] of `count` values holds the true median.
pub fn coverage(count: usize) -> f64 {
    if count >= BOOTSTRAP_MINIMUM {
        0.95
    } else {
        1.0 - 0.5_f64.powf(count as f64 - 1.0)
    }
}

/// The geometric mean, the fair average of ratios; `NaN` for none.
pub fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_even_odd_and_none() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
        assert!(median(&[1.0, f64::INFINITY, f64::INFINITY]).is_infinite());
    }

    #[test]
    fn one_wild_value_does_not_move_the_scatter() {
        let calm = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01];
        let mut wild = calm;
        wild[3] = 50.0;
        assert!((relative_scatter(&calm) - relative_scatter(&wild)).abs() < 0.01);
    }

    #[test]
    fn few_values_give_their_range_with_its_coverage() {
        assert_eq!(
            median_interval(&[2.0, 1.0, 3.0], 100, 1),
            Interval {
                low: 1.0,
                high: 3.0
            }
        );
        assert!((coverage(5) - 0.9375).abs() < 1e-12);
        assert!((coverage(6) - 0.96875).abs() < 1e-12);
    }

    #[test]
    fn the_median_interval_holds_the_truth_about_as_often_as_it_says() {
        let mut random = Random::new(11);
        for count in [5, 6, 9, 15] {
            let mut held = 0;
            for trial in 0..400 {
                // A skewed distribution with median 1: 2^(uniform in -1..1), then cubed above 1.
                let values: Vec<f64> = (0..count)
                    .map(|_| {
                        let u = random.below(1 << 30) as f64 / f64::from(1 << 29) - 1.0;
                        let v = 2_f64.powf(u);
                        if v > 1.0 { v.powi(3) } else { v }
                    })
                    .collect();
                held += i32::from(median_interval(&values, 300, trial).contains(1.0));
            }
            assert!(
                f64::from(held) / 400.0 > coverage(count) - 0.05,
                "{count}: {held}"
            );
        }
    }

    #[test]
    fn geometric_mean_of_a_ratio_and_its_inverse_is_one() {
        assert!((geometric_mean(&[4.0, 0.25]) - 1.0).abs() < 1e-12);
    }
}
