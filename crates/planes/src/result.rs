//! What a comparison of the planes holds: `corelane-planes/2`. Tables, plots and sentences are
//! functions of it.

use clap::ValueEnum;
use host::Environment;
use serde::{Deserialize, Serialize};

use crate::channel::Channel;
use crate::deployment::{Deployment, MODES, Variant};
use crate::routes::Origin;

/// Name and version of the JSON form.
pub const SCHEMA: &str = "corelane-planes/2";
/// Largest UDP payload of a standard Ethernet frame.
pub(crate) const LARGEST_STANDARD: u32 = 1_472;

/// Samples that must lie beyond a percentile for it to be told.
const BEYOND: f64 = 10.0;
/// A hundred samples have ten beyond the 90th percentile, whatever 1 - 0.9 is in binary.
const ROUNDING: f64 = 1e-6;

/// Whether `samples` are enough for the percentile of a share of them.
pub(crate) fn is_told(share: f64, samples: f64) -> bool {
    (1.0 - share) * samples + ROUNDING >= BEYOND
}

/// What requests change of the throughput, as a share of that without: the median of pairs of
/// searches, one right after the other, each first by turns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// -0.1: a tenth less.
    pub share: f64,
    /// Lower end of the interval of that median.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Pairs that count.
    pub pairs: usize,
}

/// Whose figures a cell holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Plane {
    /// Packets.
    #[default]
    User,
    /// People's requests.
    Management,
}

/// What the user plane's load consists of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Datagrams by a timetable.
    #[default]
    Udp,
    /// One connection by iperf3, as fast as it goes.
    Tcp,
    /// One flow of datagrams by iperf3, at the rate that our search found: a second opinion.
    UdpIperf,
}

/// One plane in one deployment under one load. What was not measured is absent, never 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// Where the planes were, and how packets were moved.
    #[serde(flatten)]
    pub variant: Variant,
    /// Whose figures these are.
    pub plane: Plane,
    /// The user plane's load.
    pub protocol: Protocol,
    /// UDP payload or TCP segment in bytes; 0 in a management cell without packets.
    pub payload_bytes: u32,
    /// Whether the other plane was loaded at the same time.
    pub other_plane_load: bool,
    /// Highest rate with at most one frame in a thousand lost (UDP), or goodput (TCP): payload
    /// bits a second.
    pub throughput_bps: Option<f64>,
    /// The same as frames a second.
    pub frames_per_second: Option<f64>,
    /// Lower end of the interval of the throughput, which is a median of searches.
    #[serde(default)]
    pub throughput_low_bps: Option<f64>,
    /// Its upper end.
    #[serde(default)]
    pub throughput_high_bps: Option<f64>,
    /// Beside requests: what these change; absent of fewer than five pairs.
    #[serde(default)]
    pub change: Option<Change>,
    /// Share of frames lost at the delay trial's rate, 0 to 1: what came of an earlier trial's is
    /// not counted.
    pub loss: Option<f64>,
    /// Frames a second of that trial, as its timetable was kept.
    #[serde(default)]
    pub delay_frames_per_second: Option<f64>,
    /// Median delay there, ns.
    pub delay_p50_ns: Option<u64>,
    /// Its 99th percentile, ns; absent when fewer than ten frames took longer.
    pub delay_p99_ns: Option<u64>,
    /// Interarrival jitter (RFC 3550 §6.4.1) there, ns.
    pub jitter_ns: Option<f64>,
    /// Median response, ms.
    pub response_p50_ms: Option<f64>,
    /// 90th percentile of the responses, ms; absent when that share lies among the timeouts, or
    /// fewer than ten took longer.
    #[serde(default)]
    pub response_p90_ms: Option<f64>,
    /// 99th percentile of the responses, ms; absent as the 90th.
    pub response_p99_ms: Option<f64>,
    /// Requests that were not answered in time.
    pub timeouts: Option<u64>,
    /// Requests made.
    pub requests: Option<u64>,
    /// What the cores did meanwhile.
    pub cores: Vec<CoreUse>,
    /// What the tester said of its own trials, where it said anything.
    pub remark: Option<String>,
}

impl Cell {
    /// Whether datagrams by a timetable were the user plane's load.
    pub fn is_udp(&self) -> bool {
        self.protocol == Protocol::Udp
    }
}

/// What the kernel counted on a core.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoreUse {
    /// Which.
    pub core: u32,
    /// Share of time busy.
    pub busy: f64,
    /// Share of time in interrupts and softirqs.
    pub interrupt: f64,
    /// Hardware interrupts a second.
    pub interrupts_per_second: f64,
    /// Softirqs a second.
    pub softirqs_per_second: f64,
    /// Share of time that the hypervisor took.
    pub steal: f64,
}

/// By which figure a plane is disturbed. Of each, more is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Share of the user plane's frames that are lost.
    Loss,
    /// 99th percentile of the user plane's delay, ns.
    DelayP99,
    /// Median response of the management plane, ms.
    Response,
}

impl Measure {
    /// Whose figure it is.
    pub fn plane(self) -> Plane {
        match self {
            Self::Loss | Self::DelayP99 => Plane::User,
            Self::Response => Plane::Management,
        }
    }
}

/// What was done with a shared thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Taken away while both planes were loaded: its share is what the victim got back.
    Removed,
    /// Pressed on instead of the other plane's load: its share is what the victim lost.
    Pressed,
}

/// A disturbed plane and what disturbs it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cause {
    /// Where, and how packets were moved.
    #[serde(flatten)]
    pub variant: Variant,
    /// Who is disturbed.
    pub plane: Plane,
    /// By which figure.
    pub measure: Measure,
    /// That figure without the other plane's load, median of the rounds, in the measure's unit.
    pub alone: f64,
    /// And with it.
    pub beside: f64,
    /// Rounds of trials.
    pub rounds: usize,
    /// The interventions tried.
    pub channels: Vec<ChannelShare>,
    /// Sum of the shares that stand clear of their control and do not repeat another's; above 1
    /// where they overlap.
    pub explained: f64,
    /// What is left of the whole.
    pub remainder: f64,
}

/// The share of one shared thing in a disturbance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChannelShare {
    /// The shared thing.
    pub channel: String,
    /// What was done with it.
    pub method: Method,
    /// Whether it adds to what is explained, or repeats a part of another channel.
    pub counts: bool,
    /// Share of the whole disturbance, median of the rounds.
    pub share: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The same of the control: both planes once more, or as much work in registers.
    pub control: f64,
    /// Lower end of the control's interval.
    pub control_low: f64,
    /// Upper end.
    pub control_high: f64,
    /// Whether the interval stands clear of the control's.
    pub clear: bool,
}

/// The channel between the planes of a deployment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChannelOf {
    /// Where.
    pub deployment: Deployment,
    /// Its speed.
    pub channel: Channel,
    /// What it costs the user plane.
    #[serde(default)]
    pub cost: Option<Cost>,
    /// From its start to its first beat, s, where the user plane has a kernel of its own; of
    /// several the slowest.
    pub boot_seconds: Option<f64>,
}

/// What messages cost a user plane that carries packets at half the rate it carries alone, smallest
/// payload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cost {
    /// Messages a second, all empty: nothing is done about them.
    pub messages_per_second: u32,
    /// Time of the user plane's core for each; absent where it has no core of its own. By the
    /// kernel's clock of ticks, so small costs may come out as nothing or less.
    pub core_ns_per_message: Option<f64>,
    /// 99th percentile of the delay without messages, ns.
    pub delay_p99_rest_ns: Option<f64>,
    /// With them.
    pub delay_p99_ns: Option<f64>,
    /// Share of frames lost without messages.
    pub loss_rest: f64,
    /// With them.
    pub loss: f64,
}

/// What became of the control plane's route changes in one deployment and mode, all user planes
/// together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoutesOf {
    /// Where, and how packets were moved.
    #[serde(flatten)]
    pub variant: Variant,
    /// Changes that went onto the link.
    pub sent: u64,
    /// Of them in effect.
    pub applied: u64,
    /// And refused.
    pub refused: u64,
}

/// What `corelane planes` measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// [`SCHEMA`].
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// The machine.
    pub environment: Environment,
    /// Every plane, deployment and load.
    pub cells: Vec<Cell>,
    /// Channels between planes.
    pub channels: Vec<ChannelOf>,
    /// Who disturbs whom through what.
    pub causes: Vec<Cause>,
    /// What could not be measured here, and why.
    pub not_measured: Vec<String>,
    /// Cores of the user plane where it is bound, and all.
    pub user_core: u32,
    /// All cores.
    pub cores: Vec<u32>,
    /// Requests a second to the management plane.
    pub requests_per_second: f64,
    /// Route changes a second from the control plane during every user-plane trial.
    pub route_changes_per_second: u32,
    /// Rate of the trials of delay, jitter and responses beside packets, in every deployment.
    pub delay_frames_per_second: f64,
    /// Where they came from.
    #[serde(default)]
    pub route_origin: Origin,
    /// What became of them.
    #[serde(default)]
    pub routes: Vec<RoutesOf>,
    /// What guests' kernels ran in and why, in a sentence; absent without guests.
    #[serde(default)]
    pub guests: Option<String>,
    /// Whether trials were shortened.
    pub quick: bool,
}

impl Comparison {
    /// The cells of one plane and protocol in one deployment and mode.
    pub fn cells_of(
        &self,
        variant: Variant,
        plane: Plane,
        protocol: Protocol,
    ) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(move |cell| {
            (cell.variant, cell.plane, cell.protocol) == (variant, plane, protocol)
        })
    }

    /// The cell at one payload, with or without the other plane's load.
    pub fn cell(
        &self,
        variant: Variant,
        plane: Plane,
        payload_bytes: u32,
        other_plane_load: bool,
    ) -> Option<&Cell> {
        self.cells_of(variant, plane, Protocol::Udp).find(|cell| {
            cell.payload_bytes == payload_bytes && cell.other_plane_load == other_plane_load
        })
    }

    /// Deployments that have any cell, in the order of the tables.
    pub fn deployments(&self) -> Vec<Deployment> {
        let mut all = Deployment::value_variants().to_vec();
        all.retain(|&deployment| {
            self.cells
                .iter()
                .any(|cell| cell.variant.deployment == deployment)
        });
        all
    }

    /// These in both modes.
    pub fn variants(&self) -> Vec<Variant> {
        Variant::all(&self.deployments(), &MODES).collect()
    }
}
