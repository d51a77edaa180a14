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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
