//! Two commands side by side: is the second slower than the first?
//!
//! Runs come in blocks of four, ABBA or BAAB at random, so that a machine which grows steadily
//! slower slows both alike. [`judge`] makes one number of each block and a verdict of all; it is
//! pure, and tested on synthetic noise. [`measure`] runs the commands, [`show`] draws the result.

pub mod judge;
pub mod measure;
pub mod show;

use std::time::Duration;

use figures::Interval;
use host::environment::Environment;
use serde::{Deserialize, Serialize};

use crate::harness::profile::Profile;
use judge::{Figure, Verdict};

/// The name of this format.
pub const SCHEMA: &str = "corelane-scale-ab/1";

/// What is asked.
#[derive(Debug, Clone)]
pub struct Request {
    /// A and B: programs with their arguments.
    pub commands: [Vec<String>; 2],
    /// The smallest slow-down that matters, as a share: 0.03 is 3 %.
    pub worth: f64,
    /// How long to measure at most; the fewest blocks are made whatever they take.
    pub budget: Duration,
    /// Most blocks.
    pub blocks: usize,
    /// Record a run of each with the profiler.
    pub cause: bool,
    /// Run before each timed run.
    pub prepare: Option<Vec<String>>,
    /// Text before the programs' own rate.
    pub progress: Option<String>,
    /// Time limit of a run.
    pub timeout: Duration,
    /// Seed of the orders.
    pub seed: u64,
    /// Asked while waiting; yes ends the measurement.
    pub interrupted: fn() -> bool,
}

/// One timed run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sample {
    /// What is compared: seconds of wall time, or seconds a unit of the program's own work.
    pub cost: f64,
    /// Seconds of wall time.
    pub wall: f64,
    /// Seconds of user CPU time of the process tree.
    pub user: f64,
    /// Seconds of system CPU time of the process tree.
    pub system: f64,
    /// Page faults, with and without reading a file.
    pub faults: u64,
    /// Context switches for waiting.
    pub voluntary_switches: u64,
}

/// Four runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Block {
    /// A's first and second run.
    pub a: [Sample; 2],
    /// B's first and second run.
    pub b: [Sample; 2],
    /// Whether A went first and last (ABBA), else B did (BAAB).
    pub a_outside: bool,
}

impl Block {
    /// Makes the four runs: `run` makes one of A (0) or of B (1).
    ///
    /// # Errors
    /// The first of `run`.
    pub fn run<E>(
        a_outside: bool,
        mut run: impl FnMut(usize) -> Result<Sample, E>,
    ) -> Result<Self, E> {
        let (outer, inner) = if a_outside { (0, 1) } else { (1, 0) };
        let [first, second, third, last] = [run(outer)?, run(inner)?, run(inner)?, run(outer)?];
        let (outside, inside) = ([first, last], [second, third]);
        let (a, b) = if a_outside {
            (outside, inside)
        } else {
            (inside, outside)
        };
        Ok(Self { a, b, a_outside })
    }
}

/// What `corelane scale ab` measured of two commands, and its judgement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AbResult {
    /// [`SCHEMA`].
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// The machine and the run.
    pub environment: Environment,
    /// A and B.
    pub commands: [Vec<String>; 2],
    /// What can be told.
    pub verdict: Verdict,
    /// Time of B over time of A: above 1, B is slower.
    pub ratio: f64,
    /// Its interval, which holds the truth in 995 of 1000 comparisons.
    pub interval: Interval,
    /// The smallest slow-down that matters.
    pub worth: f64,
    /// Seconds that the comparison took.
    pub seconds: f64,
    /// What else differs between the runs.
    pub figures: Vec<Figure>,
    /// A run of each under the profiler, where asked for and allowed.
    pub profiles: Option<[Profile; 2]>,
    /// What could not be done, and the remedy.
    pub notes: Vec<String>,
    /// Every run.
    pub blocks: Vec<Block>,
}
