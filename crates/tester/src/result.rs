//! The stored result, schema `corelane-test/1`: every trial, and what the tests made of them.
//!
//! Tables and plots are drawn from this alone ([`crate::render`]), so a stored file shows the same
//! as the run that made it.

use serde::{Deserialize, Serialize};

use crate::by_cores::ByCores;
use crate::honest::Grade;
use crate::latency::Latency;
use crate::profile::Profile;
use crate::sizes::Family;
use crate::trial::{Direction, Trial};

/// Name and version of the schema.
pub const SCHEMA: &str = "corelane-test/1";

/// Which test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// The tester without a device.
    Selftest,
    /// RFC 2544 §26.1.
    Throughput,
    /// RFC 2544 §26.2 as updated by RFC 8219 §7.2, §7.3.
    Latency,
    /// RFC 2544 §26.3.
    Loss,
    /// RFC 9004.
    BackToBack,
    /// RFC 2544 §26.5.
    Recovery,
    /// RFC 6201.
    Reset,
    /// UDP payload against throughput, delay and jitter.
    Sweep,
    /// RFC 2544 §21.
    Bursts,
}

impl Test {
    /// The test's name as on the command line.
    pub fn name(self) -> String {
        report::json::name(&self)
    }
}

/// One row: one test at one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Entry {
    /// Which test.
    pub test: Test,
    /// Frame size, or the mean of a mix, bytes with FCS.
    pub frame_bytes: u32,
    /// How the size is called: `64`, `IMIX`, `payload 512`.
    pub label: String,
    /// The result in frames per second in each direction; for tests that have none of their own,
    /// the rate they were run at. `None` when there is no valid number.
    pub frames_per_second: Option<f64>,
    /// What it is worth.
    pub verdict: Grade,
    /// Why.
    pub because: String,
    /// What ended the test before its time: a signal, a port that vanished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// What the tester reaches at this size without a device.
    pub selftest_frames_per_second: Option<f64>,
    /// Rate of the medium, where it has one.
    pub theoretical_frames_per_second: Option<f64>,
    /// What else the test found.
    pub details: Details,
    /// Every trial, in order.
    pub trials: Vec<Trial>,
}

/// What a test found besides a rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Details {
    /// Nothing could be found.
    None,
    /// The tester's own limits.
    Selftest(Selftest),
    /// Bounds of a search.
    Throughput(Throughput),
    /// Searches of several rounds on some cores.
    ByCores(ByCores),
    /// Delays by load.
    Latency {
        /// From low load to the throughput.
        points: Vec<LatencyPoint>,
    },
    /// Loss by load.
    Loss {
        /// Rate that counts as 100 %, frames/s.
        maximum: f64,
        /// By falling load.
        points: Vec<LossPoint>,
    },
    /// Longest bursts.
    BackToBack(BackToBack),
    /// Recovery from overload.
    Recovery(Recovery),
    /// Reset.
    Reset(Reset),
    /// One payload of a sweep.
    Sweep(SweepPoint),
    /// Bursty traffic.
    Bursts {
        /// By length of the bursts.
        points: Vec<BurstPoint>,
    },
}

/// The tester without a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Selftest {
    /// Largest error of the rate of an accepted trial, as a share.
    pub rate_error: f64,
    /// Latest departure of an accepted trial, ns.
    pub worst_lateness_ns: u64,
    /// Delays at a tenth of the limit: the floor under every result.
    pub floor: Option<Latency>,
    /// Delays at half the limit.
    pub half: Option<Latency>,
    /// Steal over all its trials, largest share.
    pub steal: f64,
    /// Involuntary context switches over all its trials.
    pub involuntary_switches: u64,
}

/// Bounds of a throughput search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Throughput {
    /// What came through in each direction when the most was offered (RFC 2285's forwarding rate
    /// at maximum offered load), frames/s.
    #[serde(default)]
    pub at_most_load: Option<f64>,
    /// For how long frames still came after that, beyond the least delay: what the device's buffers
    /// held, ns.
    #[serde(default)]
    pub drain_ns: Option<u64>,
    /// Largest rate that passed and was confirmed, frames/s.
    pub lower: Option<f64>,
    /// Smallest rate that did not, frames/s.
    pub upper: Option<f64>,
    /// "device", "tester" or "range": what holds the answer down.
    pub limit: String,
    /// How the search ended.
    pub ended: String,
    /// Why no longer trial tells whether the device's buffers bridged the trials of the search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unlooked: Option<String>,
    /// Loss ratio searches, when they were asked for.
    pub goals: Vec<GoalBounds>,
}

/// One goal of a loss ratio search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GoalBounds {
    /// Its name: NDR, PDR.
    pub name: String,
    /// Trials that lose more than this share are bad.
    pub loss_ratio: f64,
    /// Share of the time that may be bad.
    pub exceed_ratio: f64,
    /// Trials at a load last this long together, s.
    pub duration_sum: f64,
    /// Relevant lower bound, frames/s: the result.
    pub lower: Option<f64>,
    /// Relevant upper bound, frames/s.
    pub upper: Option<f64>,
    /// Conditional throughput, frames/s.
    pub conditional: Option<f64>,
    /// "device", "tester" or "range": what failed at the upper bound.
    #[serde(default)]
    pub limit: String,
    /// Both bounds within the goal's width.
    pub regular: bool,
}

/// Delays at one load; of several trials, the median of each figure (RFC 8219 §7.2), but the least
/// and the most of all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyPoint {
    /// Share of the throughput.
    pub share: f64,
    /// Rate, frames/s.
    pub rate: f64,
    /// Valid trials.
    pub repeats: u32,
    /// Least, ns.
    pub min_ns: u64,
    /// Mean, ns.
    pub mean_ns: f64,
    /// Typical: the median, ns.
    pub typical_ns: Option<u64>,
    /// 1st and 99th percentile of the medians of the trials (RFC 8219 §7.2), ns.
    #[serde(default)]
    pub typical_spread_ns: Option<(u64, u64)>,
    /// 99th percentile, ns.
    pub p99_ns: Option<u64>,
    /// Worst case: the 99.9th percentile, ns.
    pub worst_ns: Option<u64>,
    /// 1st and 99th percentile of those of the trials, ns.
    #[serde(default)]
    pub worst_spread_ns: Option<(u64, u64)>,
    /// 99.99th percentile, ns.
    pub p9999_ns: Option<u64>,
    /// Largest, ns.
    pub max_ns: u64,
    /// Packet delay variation, ns.
    pub pdv_ns: Option<u64>,
    /// Inter-packet delay variation: least, median, most, ns.
    pub ipdv_ns: Option<(i64, i64, i64)>,
    /// Mean size of the variation from frame to frame, ns.
    pub variation_ns: Option<f64>,
    /// Mean delay from the intended departure, ns.
    pub response_mean_ns: Option<f64>,
    /// Frames lost in all trials.
    pub lost: u64,
    /// Frames sent in all trials.
    pub sent: u64,
    /// Distribution of the middle trial.
    pub distribution: Vec<(f64, u64)>,
}

/// Loss at one rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LossPoint {
    /// Share of the maximum rate.
    pub share: f64,
    /// Offered rate, frames/s.
    pub rate: f64,
    /// Lost of sent.
    pub loss_ratio: f64,
    /// Runs of lost frames.
    pub runs: u64,
    /// Longest run, frames.
    pub longest: u64,
}

/// Bursts of one length (RFC 2544 §21).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BurstPoint {
    /// Frames in each.
    pub frames: u64,
    /// Smallest interval between the beginnings of two bursts without loss, ns.
    pub interval_ns: Option<u64>,
    /// What that amounts to, frames/s.
    pub frames_per_second: Option<f64>,
}

/// RFC 9004.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackToBack {
    /// Longest burst without loss in each repetition, frames.
    pub bursts: Vec<u64>,
    /// Mean of them: the benchmark, frames.
    pub average: f64,
    /// Standard deviation, frames.
    pub deviation: f64,
    /// Longest burst tried, frames: a result there is no result.
    pub limit: u64,
    /// Rate within the bursts, frames/s: measured, or the medium's.
    pub burst_rate: f64,
    /// Throughput used for the correction, frames/s.
    pub throughput: f64,
    /// Average burst over burst rate, s.
    pub implied_seconds: f64,
    /// Corrected for what was forwarded meanwhile, s.
    pub corrected_seconds: f64,
}

/// RFC 2544 §26.5.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recovery {
    /// Throughput, frames/s.
    pub throughput: f64,
    /// Overload really applied, frames/s.
    pub overload: f64,
    /// From the fall of the rate to the last lost frame, each trial, s; 0 where nothing was lost.
    pub seconds: Vec<f64>,
    /// Mean, s.
    pub average: f64,
}

/// RFC 6201.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reset {
    /// What was done to the device.
    pub action: String,
    /// Frames lost, each trial.
    pub lost: Vec<u64>,
    /// Lost frames over the rate, each trial, ms.
    pub by_loss_ms: Vec<f64>,
    /// Longest silence between two arrivals, each trial, ms.
    pub by_silence_ms: Vec<f64>,
    /// Mean of the first method, ms.
    pub average_ms: f64,
    /// How often the device did not come back while the trial lasted.
    pub never_returned: u32,
}

/// One payload of the sweep of SMP against AMP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepPoint {
    /// UDP payload, bytes.
    pub payload_bytes: u32,
    /// Payload carried at the throughput, bits/s.
    pub goodput: f64,
    /// Delays at half the throughput.
    pub delay: Option<LatencyPoint>,
}

/// What `corelane test` measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// [`SCHEMA`].
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// Where it was run.
    pub environment: host::Environment,
    /// Ports, generator and device in words.
    pub setup: Vec<(String, String)>,
    /// Protocol.
    pub family: Family,
    /// Which port sends to which.
    pub direction: Direction,
    /// Destination addresses.
    pub destinations: u32,
    /// All parameters.
    pub profile: Profile,
    /// Differences to the RFCs.
    pub deviations: Vec<String>,
    /// The rows.
    pub results: Vec<Entry>,
    /// Why the run ended early, if it did; what is here was measured before.
    pub stopped: Option<String>,
}
