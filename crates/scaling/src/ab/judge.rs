//! From blocks to a verdict.

use figures::{Estimate, Interval, median};
use serde::{Deserialize, Serialize};

use super::{Block, Sample};
use crate::statistics::LEVEL;
use crate::statistics::holm::holm;
use crate::statistics::signed_rank::centre;
use crate::statistics::student;

/// What can be told of B against A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// B is faster: the whole interval lies below 1.
    Faster,
    /// B is slower: the whole interval lies above 1.
    Slower,
    /// No difference was found, and a slow-down that matters is ruled out.
    NotSlower,
    /// No difference was found, and a slow-down that matters is not ruled out.
    CannotTell,
}

impl Verdict {
    /// The verdict of an `interval` of B's time over A's, where a slow-down by the share `worth`
    /// matters.
    pub fn of(interval: Interval, worth: f64) -> Self {
        if interval.high < 1.0 {
            Self::Faster
        } else if interval.low > 1.0 {
            Self::Slower
        } else if interval.high < 1.0 + worth {
            Self::NotSlower
        } else {
            Self::CannotTell
        }
    }

    /// Whether A and B are said to differ.
    pub const fn differs(self) -> bool {
        matches!(self, Self::Faster | Self::Slower)
    }
}

/// Something else that the kernel counted of each run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figure {
    /// What, with its unit.
    pub name: String,
    /// Median of A's runs.
    pub a: f64,
    /// Median of B's runs.
    pub b: f64,
    /// Whether the two differ by more than chance, all figures considered together.
    pub differs: bool,
}

/// Logarithm of B's figure over A's in a block: the mean of two and two, in which a steady drift
/// cancels out.
fn logarithm(block: &Block, figure: impl Fn(&Sample) -> f64) -> f64 {
    let sum = |runs: &[Sample; 2]| runs.iter().map(|run| figure(run).ln()).sum::<f64>();
    (sum(&block.b) - sum(&block.a)) / 2.0
}

/// Time of B over time of A with its interval; `None` for too few blocks.
pub fn ratio(blocks: &[Block]) -> Option<Estimate> {
    let differences: Vec<f64> = blocks
        .iter()
        .map(|b| logarithm(b, |run| run.cost))
        .collect();
    let Estimate { value, interval } = centre(&differences)?;
    Some(Estimate {
        value: value.exp(),
        interval: Interval::new(interval.low.exp(), interval.high.exp()),
    })
}

/// One of the figures.
struct Reading {
    name: &'static str,
    of: fn(&Sample) -> f64,
    /// The least that the kernel tells from nothing: less is taken as that.
    grain: f64,
}

/// Processor times come in microseconds.
const MICROSECOND: f64 = 1e-6;
const READINGS: [Reading; 5] = [
    Reading {
        name: "user time, s",
        of: |run| run.user,
        grain: MICROSECOND,
    },
    Reading {
        name: "system time, s",
        of: |run| run.system,
        grain: MICROSECOND,
    },
    Reading {
        name: "time without a core, s",
        of: |run| run.wall - run.user - run.system,
        grain: MICROSECOND,
    },
    Reading {
        name: "page faults",
        of: |run| run.faults as f64,
        grain: 1.0,
    },
    Reading {
        name: "switches for waiting",
        of: |run| run.voluntary_switches as f64,
        grain: 1.0,
    },
];

/// What else differs between A and B.
pub fn figures(blocks: &[Block]) -> Vec<Figure> {
    let chance = |reading: &Reading| {
        let read = |run: &Sample| (reading.of)(run).max(reading.grain);
        let ratios: Vec<f64> = blocks.iter().map(|b| logarithm(b, read).exp()).collect();
        student::paired(&ratios)
    };
    let chances: Vec<f64> = READINGS.iter().map(chance).collect();
    READINGS
        .iter()
        .zip(holm(&chances))
        .map(|(reading, chance)| {
            let read = |run: &Sample| (reading.of)(run).max(0.0);
            Figure {
                name: reading.name.to_owned(),
                a: median(blocks.iter().flat_map(|block| block.a.iter().map(read))),
                b: median(blocks.iter().flat_map(|block| block.b.iter().map(read))),
                differs: chance < LEVEL,
            }
        })
        .collect()
}
