//! The members of the law's family, and what a misfit costs.

use serde::{Deserialize, Serialize};

/// Which members of the family may be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// `sigma = kappa = 0`.
    Linear,
    /// `kappa = 0`.
    Amdahl,
    /// All three coefficients.
    Usl,
}

impl Form {
    /// Number of coefficients.
    pub const fn parameters(self) -> usize {
        match self {
            Self::Linear => 1,
            Self::Amdahl => 2,
            Self::Usl => 3,
        }
    }

    /// The name in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Amdahl => "Amdahl",
            Self::Usl => "universal scalability law",
        }
    }
}

/// What one unit of misfit costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Weighting {
    /// Misfit as a share of the rate (weight `1/X^2`): right for timings, whose scatter is a
    /// percentage.
    Relative,
    /// Misfit in units of the rate: what published examples use.
    Absolute,
}
