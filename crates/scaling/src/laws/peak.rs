//! Whether a peak may be named.

use figures::{Interval, median};
use serde::{Deserialize, Serialize};

use super::Point;
use super::form::Form;
use super::interval::Coefficients;
use super::rates::Rates;
use crate::statistics::holm::holm;
use crate::statistics::{LEVEL, student};

/// Up to this many cores a fitted peak is no fact: with a scatter of 2 % and a true peak at 31, the
/// fits to 1, 2, 3 and 4 cores put it anywhere from 11 to infinity.
pub const TOO_FEW_CORES: u32 = 4;

/// A rate lower by less than this share is no fall worth a word.
const MATTERS: f64 = 0.01;

/// What may be said of the core count beyond which more cores are slower.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Peak {
    /// Nothing: too few cores were tried.
    TooFewCores {
        /// The largest core count tried.
        tried: u32,
    },
    /// No peak below this many cores.
    NoneBelow {
        /// Lower end of the interval of the peak; infinite when no refit has one.
        #[serde(with = "figures::unbounded")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
        cores: f64,
    },
    /// A peak, with its interval.
    At {
        /// Core count of the fitted peak.
        cores: f64,
        /// Its interval; the upper end may be infinite ("not bounded").
        interval: Interval,
    },
    /// The rate fell within the cores tried, whatever the law says.
    Seen {
        /// Core count with the highest median rate.
        cores: u32,
    },
}

/// Judges the peak of a fitted law. `fell` is the core count of the highest rate when the rate at
/// the largest count is lower beyond chance; see [`fell_after`].
pub fn judge(
    points: &[Point],
    chosen: Option<(Form, f64)>,
    coefficients: Option<&Coefficients>,
    fell: Option<u32>,
) -> Peak {
    if let Some(cores) = fell {
        return Peak::Seen { cores };
    }
    let tried = points.iter().map(|p| p.cores).max().unwrap_or(0);
    let (Some((form, cores)), Some(coefficients)) = (chosen, coefficients) else {
        return Peak::TooFewCores { tried };
    };
    if tried <= TOO_FEW_CORES {
        return Peak::TooFewCores { tried };
    }
    if form == Form::Usl && cores.is_finite() && coefficients.without_peak <= 0.025 {
        return Peak::At {
            cores,
            interval: coefficients.peak,
        };
    }
    Peak::NoneBelow {
        cores: coefficients.peak.low,
    }
}

/// The core count of the highest speed-up among those that the largest count is slower than: in the
/// rounds, by more than [`MATTERS`], and by more than chance over all counts asked about.
pub fn fell_after(rates: &Rates) -> Option<u32> {
    let last = rates.cores.len().checked_sub(1)?;
    let chances: Vec<f64> = (0..last)
        .map(|place| student::below(&rates.ratios(last, place)))
        .collect();
    let slower = holm(&chances)
        .into_iter()
        .enumerate()
        .filter(|&(_, chance)| chance < LEVEL / 2.0)
        .map(|(place, _)| place)
        .filter(|&place| median(rates.ratios(last, place)) < 1.0 - MATTERS);
    let best = slower.max_by(|&a, &b| {
        let speedup = |place| median(rates.ratios(place, 0));
        speedup(a).total_cmp(&speedup(b))
    })?;
    Some(rates.cores[best])
}

impl std::fmt::Display for Peak {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooFewCores { tried } => {
                let s = if *tried == 1 { "" } else { "s" };
                write!(f, "no peak can be told from {tried} core{s}")
            }
            Self::NoneBelow { cores } if cores.is_finite() => {
                write!(f, "no peak below {cores:.0} cores")
            }
            Self::NoneBelow { .. } => write!(f, "no peak in sight"),
            Self::At { cores, interval } => {
                write!(f, "scales to about {cores:.0} cores {interval:#.0}")
            }
            Self::Seen { cores } => {
                let s = if *cores == 1 { "" } else { "s" };
                write!(f, "fastest on {cores} core{s}; slower beyond")
            }
        }
    }
}
