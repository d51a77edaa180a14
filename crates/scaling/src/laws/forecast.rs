//! What core counts that were not tried may bring: a band, no further than twice the cores tried.

use figures::{Interval, range};
use serde::{Deserialize, Serialize};

use super::interval::Refits;
use super::usl::Usl;

/// Forecasts end at this many times the largest core count tried. On textbook data a fit to half of
/// the counts is 28 to 57 % too low at the end; beyond that a curve is a wish.
pub const REACH: u32 = 2;

/// The band at one core count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Band {
    /// Core count, not tried.
    pub cores: u32,
    /// Speed-up against one core.
    pub speedup: Interval,
}

/// The core counts a forecast is made for: from the first one not tried to [`REACH`] times the
/// largest tried.
pub fn reach(tried: u32) -> impl Iterator<Item = u32> {
    tried + 1..=tried.saturating_mul(REACH)
}

/// The band between the laws that two core counts allow: from a single serial fraction `e` at
/// `tried` cores nobody can tell contention (`e` stays) from coherency (`e` grows with the core
/// count). The upper edge takes all of it as contention, the lower edge all of it as coherency.
pub fn from_serial_fraction(fraction: Interval, tried: u32) -> Vec<Band> {
    let law = |sigma, kappa| Usl {
        gamma: 1.0,
        sigma,
        kappa,
    };
    reach(tried)
        .map(|cores| {
            let n = f64::from(cores);
            // Below 0 the cores tried did more than their number; nobody knows whether that goes on
            // growing, so the efficiency is kept.
            let gain = |e: f64, sigma, kappa| {
                if e < 0.0 {
                    n / (1.0 + e * f64::from(tried - 1))
                } else {
                    law(sigma, kappa).speedup(n)
                }
            };
            let fast = gain(fraction.low, fraction.low.min(1.0), 0.0);
            let slow = gain(fraction.high, 0.0, fraction.high / f64::from(tried));
            let speedup = Interval::new(slow.min(fast), fast.max(slow));
            Band { cores, speedup }
        })
        .collect()
}

/// The band over the refits of every law that the data do not beat: the widest of their 95 %
/// ranges.
pub fn from_refits(refits: &[Refits], tried: u32) -> Vec<Band> {
    reach(tried)
        .map(|cores| {
            let n = f64::from(cores);
            let ranges = refits.iter().map(|r| r.interval(|fit| fit.law.speedup(n)));
            let (low, high) = range(ranges.flat_map(|r| [r.low, r.high]));
            let speedup = Interval { low, high };
            Band { cores, speedup }
        })
        .filter(|band| band.speedup.low.is_finite() && band.speedup.high.is_finite())
        .collect()
}

/// What a run confined to one core shows of the gain that more cores could bring.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OneCore {
    /// Seconds of the run during which exactly this many of its tasks wanted a core: `wanting[k]`
    /// for `k` tasks.
    pub wanting: Vec<f64>,
    /// How many times longer the run takes when all other cores press on the memory as hard as
    /// they can; `None` when that was not tried.
    pub under_pressure: Option<f64>,
    /// Clock of all cores busy over the clock of one core busy, measured by a spin loop; `None`
    /// when not measured.
    pub clock: Option<f64>,
}

impl OneCore {
    /// The band for `cores` cores. The upper edge is the gain if nothing limited it but the order
    /// of the work and the clock that so many busy cores have: the run segments with `k` tasks
    /// wanting a core are shortened to `1/min(k, cores)`, waiting stays as long as it was. The
    /// lower edge also assumes that the other cores press on the memory all the time.
    ///
    /// One core never shows coherency, waiting for locks, false sharing, remote memory or
    /// stragglers: the band is an upper bound on the gain with a hint, not a prediction.
    ///
    /// # Errors
    /// [`NoForecast`] when what was seen of the one core cannot be true of it, or is nothing: an
    /// upper bound below 1 would say that more cores must make a program slower, which no look
    /// at one core can show.
    pub fn band(&self, cores: u32) -> Result<Band, NoForecast> {
        let total: f64 = self.wanting.iter().sum();
        if self.wanting.iter().skip(1).sum::<f64>() <= 0.0 {
            return Err(NoForecast::NothingSeen);
        }
        let full = self.clock.unwrap_or(1.0).min(1.0);
        let others = f64::from(cores.max(2)) - 1.0;
        let shortened: f64 = self
            .wanting
            .iter()
            .enumerate()
            .map(|(tasks, seconds)| {
                let busy = f64::from((tasks as u32).clamp(1, cores.max(1)));
                // Between one busy core and all the clock is taken to fall evenly.
                seconds / (busy * (1.0 - (1.0 - full) * (busy - 1.0) / others))
            })
            .sum();
        let high = total / shortened;
        if !high.is_finite() || high < 1.0 - TOLERANCE {
            return Err(NoForecast::Disturbed { clock: full });
        }
        let high = high.max(1.0);
        let pressed = if cores > 1 {
            self.under_pressure.unwrap_or(1.0).max(1.0)
        } else {
            1.0
        };
        Ok(Band {
            cores,
            speedup: Interval::new(high / pressed, high),
        })
    }
}

/// An upper bound this little below 1 is 1 and a rounding.
const TOLERANCE: f64 = 1e-9;

/// Why one core gives no forecast.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum NoForecast {
    /// No look found a task.
    #[error(
        "the run on one core was too short to be looked at (every 3 ms): give the command more \
         work"
    )]
    NothingSeen,
    /// All cores together would do less than one.
    #[error(
        "with all cores busy a core ran at {clock:.2} of its speed alone, which no clock does: \
         other programs had the cores. Forecast again on a quieter machine"
    )]
    Disturbed {
        /// The ratio measured.
        clock: f64,
    },
}

/// A forecast from one core beside what was measured later.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Score {
    /// What was forecast.
    pub band: Band,
    /// The speed-up measured later.
    pub measured: f64,
    /// Measured over the upper edge, less one: below 0 the machine did less than the bound.
    pub against_bound: f64,
    /// Whether the measured speed-up lay within the band.
    pub held: bool,
}

impl Band {
    /// Scores this band against the speed-up measured later, which itself is known to `tolerance`
    /// (a share).
    pub fn score(self, measured: f64, tolerance: f64) -> Score {
        let held = measured >= self.speedup.low * (1.0 - tolerance)
            && measured <= self.speedup.high * (1.0 + tolerance);
        Score {
            band: self,
            measured,
            against_bound: measured / self.speedup.high - 1.0,
            held,
        }
    }
}
