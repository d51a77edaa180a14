//! The coefficients of the universal scalability law that fit recorded rates, and what is refused.
//!
//! Nothing is clamped after the fact: the solution within the bounds (`0 <= sigma <= 1`, `kappa >=
//! 0`) stands beside the free one, because a clearly negative coefficient is a finding (superlinear
//! scaling), not an error.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Point;
use super::form::{Form, Weighting};
use super::least_squares::least_squares;
use super::usl::Usl;

/// A fitted law.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// Its form.
    pub form: Form,
    /// The coefficients within the bounds.
    pub law: Usl,
    /// The coefficients without the bounds.
    pub free: Usl,
    /// Weighted sum of squared residuals of `law`.
    pub residual: f64,
    /// Number of points.
    pub points: usize,
}

/// Why there is no fit.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum FitError {
    /// Too few different core counts.
    #[error("{form} needs {needed} different core counts, there are {given}; try more core counts")]
    TooFewPoints {
        /// The form asked for.
        form: &'static str,
        /// Counts needed.
        needed: usize,
        /// Counts given.
        given: usize,
    },
    /// A rate that is no rate.
    #[error("the rate at {cores} cores is {rate}; a rate is a finite number above 0")]
    BadRate {
        /// Core count of the point.
        cores: u32,
        /// Its rate.
        rate: f64,
    },
}

/// Fits `form` to `points`.
///
/// # Errors
/// When there are fewer different core counts than coefficients, or a rate is not a finite number
/// above 0.
pub fn fit(points: &[Point], form: Form, weighting: Weighting) -> Result<Fit, FitError> {
    if let Some(bad) = points
        .iter()
        .find(|p| !(p.rate.is_finite() && p.rate > 0.0) || p.cores == 0)
    {
        return Err(FitError::BadRate {
            cores: bad.cores,
            rate: bad.rate,
        });
    }
    let given = distinct(points);
    if given < form.parameters() {
        return Err(FitError::TooFewPoints {
            form: form.name(),
            needed: form.parameters(),
            given,
        });
    }
    let (law, free, residual) = least_squares(points, form, weighting);
    Ok(Fit {
        form,
        law,
        free,
        residual,
        points: points.len(),
    })
}

/// The number of different core counts among `points`.
pub fn distinct(points: &[Point]) -> usize {
    let mut counts: Vec<u32> = points.iter().map(|p| p.cores).collect();
    counts.sort_unstable();
    counts.dedup();
    counts.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(law: Usl, counts: &[u32]) -> Vec<Point> {
        counts
            .iter()
            .map(|&cores| Point {
                cores,
                rate: law.rate(f64::from(cores)),
            })
            .collect()
    }

    #[test]
    fn exact_curves_are_recovered_whatever_the_weighting() {
        for (sigma, kappa) in [
            (0.0, 0.0),
            (0.2, 0.0),
            (0.0, 0.01),
            (0.03, 0.001),
            (0.9, 0.3),
            (1.0, 0.0),
        ] {
            let truth = Usl {
                gamma: 1234.5,
                sigma,
                kappa,
            };
            let points = curve(truth, &[1, 2, 3, 4, 8, 16, 32]);
            for weighting in [Weighting::Relative, Weighting::Absolute] {
                let found = fit(&points, Form::Usl, weighting).unwrap().law;
                assert!((found.sigma - sigma).abs() < 1e-6, "{truth:?} {found:?}");
                assert!((found.kappa - kappa).abs() < 1e-7, "{truth:?} {found:?}");
                assert!((found.gamma / truth.gamma - 1.0).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn superlinear_data_are_named_and_not_clamped_in_silence() {
        let points = curve(
            Usl {
                gamma: 1.0,
                sigma: -0.1,
                kappa: 0.0,
            },
            &[1, 2, 3, 4, 5, 6],
        );
        let found = fit(&points, Form::Usl, Weighting::Relative).unwrap();
        assert!(found.free.serial_fraction(6.0) < -0.01, "{found:?}");
        assert!((found.free.sigma + 0.1).abs() < 1e-6);
        assert!(found.law.sigma == 0.0 && found.law.kappa == 0.0);
    }

    #[test]
    fn too_few_points_and_bad_rates_are_refused_by_name() {
        let two = curve(
            Usl {
                gamma: 1.0,
                sigma: 0.1,
                kappa: 0.0,
            },
            &[1, 2],
        );
        let error = fit(&two, Form::Usl, Weighting::Relative).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("needs 3 different core counts, there are 2")
        );
        let bad = [Point {
            cores: 1,
            rate: f64::NAN,
        }];
        assert!(matches!(
            fit(&bad, Form::Linear, Weighting::Relative),
            Err(FitError::BadRate { cores: 1, .. })
        ));
    }
}
