//! Intervals of a law's coefficients by resampling whole rounds: a round keeps its pairing, so what
//! slowed all its runs down together does not count as scatter.

use figures::{Interval, Random};
use serde::{Deserialize, Serialize};

use super::fit::{Fit, fit};
use super::form::{Form, Weighting};
use super::rates::Rates;

/// The refits of one bootstrap.
#[derive(Debug, Clone, PartialEq)]
pub struct Refits {
    /// One fit for each resample that could be fitted.
    pub fits: Vec<Fit>,
}

/// What the refits say of the coefficients.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Coefficients {
    /// Contention.
    pub sigma: Interval,
    /// Coherency.
    pub kappa: Interval,
    /// Core count of the peak; the upper end is infinite when more than 2.5 % of the refits have
    /// none.
    pub peak: Interval,
    /// Share of refits with `kappa = 0`, which have no peak.
    pub without_peak: f64,
}

/// Below this a coherency coefficient is no coherency: its peak would lie beyond a thousand cores.
const NO_COHERENCY: f64 = 1e-6;

/// Refits `form` to the medians of `resamples` resamples of the rounds.
pub fn over_rounds(
    rounds: &Rates,
    form: Form,
    weighting: Weighting,
    resamples: usize,
    seed: u64,
) -> Refits {
    let mut random = Random::new(seed);
    let count = rounds.rates.len();
    let fits = (0..resamples)
        .filter_map(|_| {
            let draw: Vec<usize> = (0..count).map(|_| random.below(count)).collect();
            fit(&rounds.draw(&draw), form, weighting).ok()
        })
        .collect();
    Refits { fits }
}

impl Refits {
    /// The interval of anything that can be computed from a fit.
    pub fn interval(&self, value: impl Fn(&Fit) -> f64) -> Interval {
        let values: Vec<f64> = self.fits.iter().map(value).collect();
        Interval::of_draws(&values)
    }

    /// The intervals of the coefficients and of the peak.
    pub fn coefficients(&self) -> Coefficients {
        let flat = self
            .fits
            .iter()
            .filter(|f| f.law.kappa < NO_COHERENCY)
            .count();
        Coefficients {
            sigma: self.interval(|f| f.law.sigma),
            kappa: self.interval(|f| f.law.kappa),
            peak: self.interval(peak_of),
            without_peak: flat as f64 / self.fits.len().max(1) as f64,
        }
    }
}

fn peak_of(fit: &Fit) -> f64 {
    if fit.law.kappa < NO_COHERENCY {
        f64::INFINITY
    } else {
        fit.law.peak().unwrap_or(f64::INFINITY)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/interval.rs"]
mod tests;
