//! The universal scalability law: `X(N) = gamma N / (1 + sigma (N - 1) + kappa N (N - 1))`
//! (Gunther, "Guerrilla Capacity Planning", 2007). `kappa = 0` is Amdahl's law, `sigma = kappa = 0`
//! is linear scaling.

use serde::{Deserialize, Serialize};

/// One member of the family.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usl {
    /// Rate of one core, in the unit of the points.
    pub gamma: f64,
    /// Contention: the share of the work that waits for its turn. Without unit.
    pub sigma: f64,
    /// Coherency: the price of agreement for each pair of cores. Without unit.
    pub kappa: f64,
}

impl Usl {
    /// `1 + sigma (N - 1) + kappa N (N - 1)`, the number by which `cores` times one core's rate is
    /// divided.
    pub fn divisor(&self, cores: f64) -> f64 {
        1.0 + self.sigma * (cores - 1.0) + self.kappa * cores * (cores - 1.0)
    }

    /// Rate on `cores` cores.
    pub fn rate(&self, cores: f64) -> f64 {
        self.gamma * cores / self.divisor(cores)
    }

    /// Speed-up on `cores` cores.
    pub fn speedup(&self, cores: f64) -> f64 {
        cores / self.divisor(cores)
    }

    /// The serial fraction at `cores` cores: the straight line `sigma + kappa N`.
    pub fn serial_fraction(&self, cores: f64) -> f64 {
        self.sigma + self.kappa * cores
    }

    /// The core count, not rounded, where the curve is highest: `sqrt((1 - sigma) / kappa)`. `None`
    /// when it never falls.
    pub fn peak(&self) -> Option<f64> {
        (self.kappa > 0.0 && self.sigma < 1.0).then(|| ((1.0 - self.sigma) / self.kappa).sqrt())
    }
}

#[cfg(test)]
#[path = "../../tests/unit/usl.rs"]
mod tests;
