//! Student's paired test on the logarithms of ratios.
//!
//! Within a round all settings are run in random order, so where nothing differs a ratio is as
//! likely above 1 as below it by the same factor. A run that was held up widens the scatter and
//! makes the test say less, not more.

use std::f64::consts::PI;

use super::LEAST;

/// How likely so large a difference from 1, either way, is by chance. 1 for fewer than
/// [`LEAST`] ratios, and where one is not above 0.
pub fn paired(ratios: &[f64]) -> f64 {
    let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    if ratios.len() < LEAST || logarithms.iter().any(|log| !log.is_finite()) {
        return 1.0;
    }
    let count = ratios.len() as f64;
    let mean = logarithms.iter().sum::<f64>() / count;
    let squares: f64 = logarithms.iter().map(|log| (log - mean).powi(2)).sum();
    let error = (squares / (count - 1.0) / count).sqrt();
    if mean == 0.0 {
        return 1.0;
    }
    two_sided(mean / error, ratios.len() - 1)
}

/// The same one way: how likely a ratio so far below 1 is by chance.
pub fn below(ratios: &[f64]) -> f64 {
    one_way(ratios, -1.0)
}

/// The same above 1.
pub fn above(ratios: &[f64]) -> f64 {
    one_way(ratios, 1.0)
}

fn one_way(ratios: &[f64], sign: f64) -> f64 {
    let p = paired(ratios);
    let sum: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    if sum * sign > 0.0 {
        p / 2.0
    } else {
        1.0 - p / 2.0
    }
}

/// The probability that Student's `t` with this many degrees of `freedom`, 1 or more, lies further
/// from 0 than `t` (Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.7.3 and
/// 26.7.4).
pub fn two_sided(t: f64, freedom: usize) -> f64 {
    let angle = (t.abs() / (freedom as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    // Both sums are of terms each of which is the one before it times (k - 1) / k cos².
    let sum = |first: f64, from: usize| -> f64 {
        let mut term = first;
        let mut sum = 0.0;
        for k in (from..=freedom).step_by(2) {
            sum += term;
            term *= (k - 1) as f64 / k as f64 * cosine * cosine;
        }
        sum
    };
    let inside = if freedom % 2 == 1 {
        2.0 / PI * (angle + sine * sum(cosine, 3))
    } else {
        sine * sum(1.0, 2)
    };
    (1.0 - inside).clamp(0.0, 1.0)
}

#[cfg(test)]
#[path = "../../tests/unit/student.rs"]
mod tests;
