//! A result: everything that a sweep says, as plain data (`corelane-scale/1`), and what is made of
//! it.
//!
//! [`judge`] turns recorded runs into a [`ScaleResult`], [`sentence`] puts it in words, [`show`]
//! draws it, [`compare`] sets results of several machines side by side. All four are pure.

pub use crate::cause::blame::Cause;

pub mod compare;
pub mod judge;
pub mod record;
pub mod sentence;
pub mod show;

use figures::Interval;
use host::environment::Environment;
use serde::{Deserialize, Serialize};

use crate::cause::budget::Budget;
use crate::cause::intervention::Intervention;
use crate::harness::beside::Mutual;
use crate::harness::notes::Note;
use crate::harness::plan::{Mode, Placement};
use crate::harness::series::Series;
use crate::laws::choice::Choice;
use crate::laws::forecast::{Band, Score};
use crate::laws::interval::Coefficients;
use crate::laws::peak::Peak;
use crate::laws::segment::{Boundary, Segment};

/// The name of this format.
pub const SCHEMA: &str = "corelane-scale/1";

/// What `corelane scale` measured of a command, and its judgement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScaleResult {
    /// [`SCHEMA`].
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// The machine and the run.
    pub environment: Environment,
    /// The command, `{cores}` not filled in.
    pub command: Vec<String>,
    /// How it uses several cores.
    pub mode: Mode,
    /// What a rate counts: jobs, copies, or what the program itself prints.
    pub unit: String,
    /// Number of rounds.
    pub rounds: usize,
    /// Seconds that the measurement took.
    pub seconds: f64,
    /// One for each core count and placement.
    pub points: Vec<PointResult>,
    /// One core against one core.
    pub control: Option<Control>,
    /// What law holds, and how far.
    pub law: LawResult,
    /// Where the topology changes within the sweep.
    pub boundaries: Vec<Boundary>,
    /// What the lost efficiency is made of, at the largest core count: the exact split, then the
    /// parts of its parts.
    pub cause: Vec<Cause>,
    /// The share of the loss that nothing explains; `None` where no instrument looked for the
    /// cause.
    #[serde(default)]
    pub unexplained: Option<f64>,
    /// Instruments that looked for the cause: name and reading.
    pub instruments: Vec<(String, String)>,
    /// What pressing on one shared resource at a time did.
    pub pressure: Vec<crate::cause::pressure::Sensitivity>,
    /// What changes to the machine or the placement did.
    #[serde(default)]
    pub interventions: Vec<Intervention>,
    /// One run under the profiler, where it may record.
    #[serde(default)]
    pub budget: Option<Budget>,
    /// The forecast made from one core before the others were tried, and its score.
    pub one_core_forecast: Vec<Score>,
    /// What another command costs this one, and the reverse.
    pub beside: Option<BesideResult>,
    /// What was odd.
    pub notes: Vec<Note>,
    /// The result in a sentence.
    pub sentence: String,
    /// The next thing to try.
    pub next_experiment: String,
    /// What could not be measured here, and why.
    pub not_measured: Vec<String>,
    /// Every run, so that the result can be judged again.
    pub series: Vec<Series>,
}

/// One core count under one placement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PointResult {
    /// Core count.
    pub cores: u32,
    /// How the command used them.
    pub mode: Mode,
    /// Who chose them.
    pub placement: Placement,
    /// Median seconds of a run.
    pub seconds: f64,
    /// Median rate in the result's unit a second.
    pub rate: f64,
    /// Rate over the rate on one pinned core of the same round, median.
    pub speedup: f64,
    /// Lower end of the speed-up's interval.
    pub low: f64,
    /// Upper end of the speed-up's interval.
    pub high: f64,
    /// Speed-up over core count.
    pub efficiency: f64,
    /// Serial fraction; `None` on one core.
    pub karp_flatt: Option<f64>,
    /// Cores kept busy.
    pub busy: f64,
    /// Mean user CPU seconds of a run.
    pub user: f64,
    /// Mean system CPU seconds of a run.
    pub system: f64,
    /// Share of the cores' time stolen by the hypervisor.
    pub steal: f64,
}

impl PointResult {
    /// The interval of the speed-up.
    pub const fn interval(&self) -> Interval {
        Interval::new(self.low, self.high)
    }

    /// The speed-up with its interval, in words.
    pub fn range(&self) -> String {
        format!("{:.2} {:#.2}", self.speedup, self.interval())
    }
}

/// The control: the same setting against itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Control {
    /// Median ratio; 1 is right.
    pub ratio: f64,
    /// Its interval: the noise floor of every ratio beside it.
    pub interval: Interval,
}

/// The law and what it permits to be said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LawResult {
    /// The laws tried and the one chosen, over the whole sweep.
    pub choice: Choice,
    /// Intervals of the coefficients of the full law, where it could be fitted.
    pub coefficients: Option<Coefficients>,
    /// Serial fraction at the largest core count, with its interval.
    pub serial_fraction: Option<(f64, Interval)>,
    /// Whether a peak can be told.
    pub peak: Peak,
    /// A law for each stretch that the topology does not break.
    pub segments: Vec<Segment>,
    /// Bands for core counts not tried.
    pub forecast: Vec<Band>,
    /// How misfits were weighted.
    pub weighting: crate::laws::form::Weighting,
}

/// What a command and another one beside it cost each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BesideResult {
    /// The other command.
    pub command: Vec<String>,
    /// Each on a core of its own, where there are two.
    pub pinned: Option<Mutual>,
    /// Both free to move.
    pub free: Option<Mutual>,
}
