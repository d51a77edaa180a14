//! What a comparison of the planes holds: `corelane-planes/1`. Tables, plots and sentences are
//! functions of it.

use host::Environment;
use serde::{Deserialize, Serialize};

use crate::{channel::Channel, deployment::Deployment, protocol::UserPlaneMode};

/// Name and version of the JSON form.
pub const SCHEMA: &str = "corelane-planes/1";

/// Whose figures a cell holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Plane {
    /// Packets.
    User,
    /// People's requests.
    Management,
}

/// What the user plane's load consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Datagrams by a timetable.
    Udp,
    /// One connection, as fast as it goes.
    Tcp,
}

/// One plane in one deployment under one load. What was not measured is absent, never 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Where the planes were.
    pub deployment: Deployment,
    /// Whose figures these are.
    pub plane: Plane,
    /// How packets were moved.
    pub user_plane_mode: UserPlaneMode,
    /// The user plane's load.
    pub protocol: Protocol,
    /// UDP payload or TCP segment in bytes; 0 in a management cell without packets.
    pub payload_bytes: u32,
    /// Whether the other plane was loaded at the same time.
    pub other_plane_load: bool,
    /// Highest rate with at most one frame in a thousand lost (UDP), or goodput (TCP): payload bits a second.
    pub throughput_bps: Option<f64>,
    /// The same as frames a second.
    pub frames_per_second: Option<f64>,
    /// Share of frames lost at the delay trial's rate.
    pub loss: Option<f64>,
    /// Median delay at half the unloaded throughput, ns.
    pub delay_p50_ns: Option<u64>,
    /// Its 99th percentile, ns.
    pub delay_p99_ns: Option<u64>,
    /// Interarrival jitter (RFC 3550 §6.4.1) there, ns.
    pub jitter_ns: Option<f64>,
    /// Median response, ms.
    pub response_p50_ms: Option<f64>,
    /// 99th percentile of the responses, ms; absent when that share lies among the timeouts.
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

/// What the kernel counted on a core.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// A shared thing taken away or pressed on, and what that did to a disturbed plane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// Where.
    pub deployment: Deployment,
    /// Who is disturbed.
    pub plane: Plane,
    /// Through what.
    pub channel: String,
    /// Share of the whole disturbance that this channel alone makes, median of the rounds.
    pub share: f64,
    /// Lowest round.
    pub low: f64,
    /// Highest round.
    pub high: f64,
    /// The same with the aggressor idle: what the noise alone makes.
    pub control: f64,
}

/// The channel between the planes of a deployment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChannelOf {
    /// Where.
    pub deployment: Deployment,
    /// Its cost.
    pub channel: Channel,
    /// From its start to its first beat, s, where the user plane has a kernel of its own.
    pub boot_seconds: Option<f64>,
}

/// A whole comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// [`SCHEMA`].
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
    /// Whether trials were shortened.
    pub quick: bool,
}

impl Comparison {
    /// The cells of one plane, mode and protocol in one deployment.
    pub fn cells_of(
        &self,
        deployment: Deployment,
        plane: Plane,
        mode: UserPlaneMode,
        protocol: Protocol,
    ) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(move |cell| {
            (
                cell.deployment,
                cell.plane,
                cell.user_plane_mode,
                cell.protocol,
            ) == (deployment, plane, mode, protocol)
        })
    }

    /// The cell at one payload, with or without the other plane's load.
    pub fn cell(
        &self,
        deployment: Deployment,
        plane: Plane,
        mode: UserPlaneMode,
        payload_bytes: u32,
        other_plane_load: bool,
    ) -> Option<&Cell> {
        self.cells_of(deployment, plane, mode, Protocol::Udp)
            .find(|cell| {
                cell.payload_bytes == payload_bytes && cell.other_plane_load == other_plane_load
            })
    }

    /// Deployments that have any cell, in the order of the tables.
    pub fn deployments(&self) -> Vec<Deployment> {
        Deployment::ALL
            .into_iter()
            .filter(|&deployment| self.cells.iter().any(|cell| cell.deployment == deployment))
            .collect()
    }
}
