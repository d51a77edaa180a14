//! From one core's figures to several cores'. Pure arithmetic.
//!
//! With N the cores of the machine and n those that forward:
//!
//! - `computing` κ: how many times longer a core computes when all N do (clock, shared units).
//! - `slowed` f: how many times longer a frame takes beside N − 1 readers. f/κ − 1 is what the
//!   readers add.
//! - `reader` ρ: what a reading core keeps of its rate when the N-th begins to read, too.
//! - `beside` r: what it keeps when a core forwards instead.
//!
//! Time lost is taken to grow with the traffic of the others. Then a forwarding core, alone, takes
//! `v = f ρ (1/r − 1) / (1/ρ − 1)` of a reader's traffic, and readers at full pace would add
//! `(f/κ − 1) / r`. Forwarding cores slow each other, and so their traffic:
//!
//! `s = κ + κ (f/κ − 1) / r × v / s × (n − 1) / (N − 1)`, solved for s (waiting).
//!
//! Memory may also slow nobody until it is full: `s = max(κ, n v / (N ρ))` (filling). Which of the
//! two a machine follows one core does not show. A prediction lies between them:
//!
//! `rate(n) = n × rate(1) / s(n)`

use figures::{Estimate, Interval, range};
use serde::{Deserialize, Serialize};

/// A prediction whose ends are further apart than this is none.
const WIDEST: f64 = 1.25;
/// The core counts of the band.
pub(super) const BANDS: [usize; 5] = [4, 8, 16, 32, 64];

/// What was measured of the machine and of one engine on one of its cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Inputs {
    /// N, at least 2.
    pub(super) cores: usize,
    pub(super) computing: Estimate,
    pub(super) slowed: Estimate,
    pub(super) reader: Estimate,
    pub(super) beside: Estimate,
    /// The pace of one of N − 1 readers against a reader alone.
    pub(super) crowded: f64,
}

/// What more cores than the machine has may bring, times one core's frames.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Band {
    /// How many.
    pub(crate) cores: usize,
    /// If all of them share the bandwidth that this machine's have; `None` where its cores do not
    /// show a limit.
    pub(crate) shared: Option<f64>,
    /// If bandwidth grows with the cores.
    pub(crate) grown: f64,
}

/// One value of each input.
#[derive(Clone, Copy)]
struct Corner {
    all: f64,
    computing: f64,
    slowed: f64,
    reader: f64,
    beside: f64,
    most: f64,
}

impl Corner {
    /// A core's traffic in that of a reader among N − 1, as far as it is known: at most that of a
    /// reader alone.
    fn traffic(self) -> [f64; 2] {
        if self.reader >= 1.0 {
            return [0.0, self.most];
        }
        let ratio = (1.0 / self.beside - 1.0) / (1.0 / self.reader - 1.0);
        let traffic = self.slowed * self.reader * ratio;
        [traffic.clamp(0.0, self.most); 2]
    }

    /// The slowdown of each of `n` cores when all traffic makes waiting longer.
    fn waiting(self, n: f64, traffic: f64) -> f64 {
        let readers_add = (self.slowed - self.computing).max(0.0);
        let others = (n - 1.0) / (self.all - 1.0);
        let add = readers_add * others * traffic / self.beside;
        f64::midpoint(self.computing, self.computing.hypot(2.0 * add.sqrt()))
    }

    /// The same when it makes none longer until memory is full.
    fn filling(self, n: f64, traffic: f64) -> f64 {
        self.computing.max(n * traffic / (self.all * self.reader))
    }
}

impl Inputs {
    /// A forwarding core's traffic in that of a reader among N − 1. `None` where nothing is known
    /// of it.
    pub(super) fn traffic(&self) -> Option<Estimate> {
        let (low, high) = range(self.corners().flat_map(Corner::traffic));
        let [begin, end] = self.middle().traffic();
        let known = high.is_finite() && (low > 0.0 || high < self.most());
        known.then(|| Estimate {
            value: f64::midpoint(begin, end).clamp(low, high),
            interval: Interval::new(low, high),
        })
    }

    /// Times one core's frames on all N cores; `None` where the evidence is weak.
    pub(super) fn speed_up(&self) -> Option<Estimate> {
        let n = self.cores as f64;
        let (fast, slow) = range(self.corners().flat_map(|corner| corner.slowdowns(n)));
        let (low, high) = range(self.middle().slowdowns(n));
        let speed_up = Estimate {
            value: n / f64::midpoint(low, high),
            interval: Interval::new(n / slow, n / fast),
        };
        let ends = speed_up.interval;
        (ends.low > 0.0 && ends.high / ends.low <= WIDEST).then_some(speed_up)
    }

    /// The bands beyond N; none where nothing is predicted for N.
    pub(super) fn bands(&self) -> Vec<Band> {
        let Some(known) = self.speed_up() else {
            return Vec::new();
        };
        let traffic = self.traffic();
        let band = |cores: usize| {
            let n = cores as f64;
            let (_, slow) = range(self.corners().flat_map(|corner| corner.slowdowns(n)));
            Band {
                cores,
                shared: traffic.map(|_| n / slow),
                grown: n * known.interval.high / self.cores as f64,
            }
        };
        let beyond = BANDS.into_iter().filter(|&cores| cores > self.cores);
        beyond.map(band).collect()
    }

    /// The most traffic of a core: a reader's alone.
    fn most(&self) -> f64 {
        1.0 / self.crowded
    }

    fn corner(&self, of: impl Fn(usize, &Estimate) -> f64) -> Corner {
        Corner {
            all: self.cores as f64,
            computing: of(0, &self.computing),
            slowed: of(1, &self.slowed),
            reader: of(2, &self.reader),
            beside: of(3, &self.beside),
            most: self.most(),
        }
    }

    fn middle(&self) -> Corner {
        self.corner(|_, estimate| estimate.value)
    }

    /// All combinations of the ends of the inputs' intervals.
    fn corners(&self) -> impl Iterator<Item = Corner> {
        (0..16).map(|choice: u32| {
            self.corner(|place, estimate| match choice >> place & 1 {
                0 => estimate.interval.low,
                _ => estimate.interval.high,
            })
        })
    }
}

impl Corner {
    /// The slowdowns of `n` cores by either law, for either end of the traffic.
    fn slowdowns(self, n: f64) -> Vec<f64> {
        let laws = |traffic| [self.waiting(n, traffic), self.filling(n, traffic)];
        self.traffic().into_iter().flat_map(laws).collect()
    }
}

#[cfg(test)]
#[path = "../../tests/unit/model/formula.rs"]
mod tests;
