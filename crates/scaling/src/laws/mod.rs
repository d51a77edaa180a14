//! The scaling laws: from rates at several core counts to what may be said about the counts that
//! were not tried.
//!
//! Everything here is pure arithmetic on recorded rates. The order of the files is the order of the
//! reasoning: [`speedup`] (what happened), [`usl`] (one family of curves that holds linear, Amdahl
//! and peaked scaling), [`fit`] (its coefficients, by `least_squares`), [`choice`] (the simplest
//! member that the data do not beat), [`segment`] (never through a step of the topology),
//! [`interval`] (resampled rounds), [`peak`] and [`forecast`] (what that permits to be said).

pub mod choice;
pub mod fit;
pub mod forecast;
pub mod form;
pub mod interval;
mod least_squares;
pub mod peak;
pub mod rates;
pub mod segment;
pub mod speedup;
pub mod usl;

use serde::{Deserialize, Serialize};

/// One observation: `cores` cores did `rate` units of work a second. For a single job the unit is
/// the job, so that the rate is one over its wall time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point {
    /// Number of cores, 1 or more.
    pub cores: u32,
    /// Units of work a second, above 0.
    pub rate: f64,
}

impl Point {
    /// `cores` as a real number.
    pub fn n(&self) -> f64 {
        f64::from(self.cores)
    }
}
