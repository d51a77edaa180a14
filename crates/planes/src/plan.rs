//! What to compare, under which load, and how long everything takes: every phase's length, and a
//! bound of the whole.
//!
//! A comparison runs unattended, so its length is planned, not found out: each search has a most
//! length, the causes have a total, and [`Plan::longest`] is the sum. The figures of a run are as
//! good as its trials are long; these lengths are what the whole matrix has room for in [`WHOLE`],
//! and `--quick` in [`QUICK`].

use std::time::Duration;

use agent::protocol::UserPlaneMode;
use clap::ValueEnum;

use crate::deployment::{Deployment, MODES, Variant};
use crate::guest::Kind;
use crate::iperf;
use crate::load::{DRAIN, RESIDUAL};
use crate::management::{self, Handler};
use crate::result::{LARGEST_STANDARD, Protocol};
use crate::routes::Origin;

/// Requests a second: a busy operator's page, some tenth of a core.
pub(crate) const REQUESTS_PER_SECOND: f64 = 20.0;
/// After which a request counts as timed out.
const PATIENCE: Duration = Duration::from_secs(2);
/// Route changes a second of the control plane.
pub(crate) const CHANGES_PER_SECOND: u32 = 500;

/// Frames a second at which delay, jitter and responses are taken, in every deployment the same: a
/// guest carries a tenth of what the common kernel does, and at shares of their own rates two
/// deployments would be compared under two loads. It is the least that a search for a throughput
/// tries.
pub(crate) const COMMON_RATE: f64 = 10_000.0;

/// UDP payloads in bytes beside the largest: as many as five pairs of searches leave time for.
const PAYLOADS: [u32; 2] = [64, 564];
/// The largest of the article, for a standard frame.
pub const LARGEST: u32 = 1_464;

/// What to compare.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Deployments.
    pub deployments: Vec<Deployment>,
    /// User plane modes.
    pub modes: Vec<UserPlaneMode>,
    /// UDP payloads in bytes.
    pub payloads: Vec<u32>,
    /// Shorter trials.
    pub quick: bool,
    /// Seed, for the record.
    pub seed: u64,
    /// What guests' kernels run in; KVM where it works and else User Mode Linux when nothing is
    /// said.
    pub guests: Option<Kind>,
    /// Where route changes come from.
    pub routes: Origin,
}

impl Plan {
    /// Everything there is to compare.
    pub fn whole(quick: bool, seed: u64) -> Self {
        Self {
            deployments: Deployment::value_variants().to_vec(),
            modes: MODES.to_vec(),
            payloads: if quick {
                vec![PAYLOADS[0], LARGEST]
            } else {
                PAYLOADS.into_iter().chain([LARGEST]).collect()
            },
            quick,
            seed,
            guests: None,
            routes: Origin::Generated,
        }
    }

    /// What is compared, in this order.
    pub(crate) fn variants(&self) -> impl Iterator<Item = Variant> {
        Variant::all(&self.deployments, &self.modes)
    }

    pub(crate) fn schedule(&self) -> Schedule {
        Schedule::of(self.quick)
    }

    /// The time that the comparison takes at most, when no request times out.
    pub fn longest(&self) -> Duration {
        let schedule = self.schedule();
        let stages = self.variants().map(|of| {
            let first = self.modes.first() == Some(&of.mode);
            schedule.stage(of.deployment, &self.payloads, first)
        });
        let guests = self.deployments.iter().any(|of| of.own_kernel()) && self.guests.is_none();
        let choice = if guests { CHOICE } else { Duration::ZERO };
        stages.sum::<Duration>() + schedule.causes + choice
    }
}

/// The whole matrix ends within this.
pub const WHOLE: Duration = Duration::from_mins(20);
/// And with `--quick` within this.
pub const QUICK: Duration = Duration::from_mins(3);

/// A site, user planes under the common kernel, a web server that answers.
const SETUP: Duration = Duration::from_millis(900);
/// What a guest's boot adds; several boot one after the other.
const BOOT: Duration = Duration::from_millis(900);
/// Of a channel.
const CHANNEL: Duration = Duration::from_millis(400);
/// Beside sending: clearing counters, waiting for the last frames, reading.
const OF_TRIAL: Duration = Duration::from_millis(10);
/// Beside a trial of an intervention: taking the thing away and giving it back, or memory to press
/// with; the last responses.
const OF_INTERVENTION: Duration = Duration::from_millis(400);
/// A guest on trial, to see whether KVM can be used.
const CHOICE: Duration = Duration::from_secs(6);
/// iperf3 beside its sending: two programs' start and end.
const OF_OPINION: Duration = Duration::from_millis(400);
/// Bytes of a TCP segment in a standard frame, and in the largest frame of the site's cables.
const SEGMENTS: [u32; 2] = [1_448, 3_446];

/// Lengths of a comparison's phases.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    /// A trial of a search.
    pub(crate) trial: Duration,
    /// All trials of one search, with the time that they wait after a loss.
    pub(crate) search: Duration,
    /// The same near a rate that was found before.
    pub(crate) near: Duration,
    /// Pairs of searches, alone and beside requests.
    pub(crate) pairs: usize,
    /// Bounds of the throughput closer than this share end a search.
    pub(crate) resolution: f64,
    /// The trial of delay and jitter without requests; beside them it takes as long as they.
    pub(crate) delay_trial: Duration,
    /// Requests before there are packets, and at least beside them.
    pub(crate) asking: Duration,
    /// One measurement by iperf3, whole seconds.
    pub(crate) opinion: Duration,
    /// Segments of TCP that it is asked about.
    pub(crate) segments: &'static [u32],
    /// Whether it is asked about datagrams too.
    pub(crate) datagrams: bool,
    /// Pairs of trials with and without messages, for what the channel costs.
    pub(crate) cost_rounds: usize,
    /// Rounds of interventions for each disturbed plane.
    pub(crate) rounds: usize,
    /// A trial of an intervention.
    pub(crate) intervention: Duration,
    /// All causes.
    pub(crate) causes: Duration,
}

const FULL: Schedule = Schedule {
    trial: Duration::from_millis(100),
    search: Duration::from_secs(3),
    near: Duration::from_millis(1_200),
    pairs: 5,
    resolution: 0.05,
    delay_trial: Duration::from_millis(700),
    asking: Duration::from_millis(5_100),
    opinion: Duration::from_secs(2),
    segments: &SEGMENTS,
    datagrams: true,
    cost_rounds: 3,
    rounds: 5,
    intervention: Duration::from_millis(600),
    causes: Duration::from_secs(165),
};

const SHORT: Schedule = Schedule {
    trial: Duration::from_millis(100),
    search: Duration::from_secs(1),
    near: Duration::from_millis(800),
    pairs: 1,
    resolution: 0.1,
    delay_trial: Duration::from_millis(300),
    asking: Duration::from_secs(1),
    opinion: Duration::from_secs(1),
    segments: &[SEGMENTS[0]],
    datagrams: false,
    cost_rounds: 2,
    rounds: 3,
    intervention: Duration::from_millis(200),
    causes: Duration::from_secs(12),
};

/// People who ask for `duration`.
pub(crate) fn asking(duration: Duration, handler: Handler) -> management::Load {
    management::Load {
        rate: REQUESTS_PER_SECOND,
        duration,
        patience: PATIENCE,
        handler,
    }
}

/// One of the searches for a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Pass {
    /// Nothing is known of it.
    First,
    /// Another has found this rate.
    Near(f64),
}

impl Schedule {
    /// How long a search takes at most.
    pub(crate) fn pass(&self, pass: Pass) -> Duration {
        match pass {
            Pass::First => self.search,
            Pass::Near(_) => self.near,
        }
    }

    pub(crate) fn of(quick: bool) -> Self {
        if quick { SHORT } else { FULL }
    }

    /// All searches of a payload, at most.
    pub(crate) fn searches(&self) -> Duration {
        self.search + self.near * (2 * self.pairs as u32).saturating_sub(1)
    }

    /// A trial of this length with what belongs to it, at most.
    pub(crate) fn whole(length: Duration) -> Duration {
        length + RESIDUAL + DRAIN + OF_TRIAL
    }

    /// Interventions of one kind for each of `turns` in all rounds.
    pub(crate) fn interventions(&self, turns: usize) -> Duration {
        (self.intervention + RESIDUAL * 2 + OF_INTERVENTION) * (turns * self.rounds) as u32
    }

    /// What iperf3 is asked to send, given the datagrams' payload and rate where there is one.
    pub(crate) fn opinions(&self, datagrams: Option<(u32, f64)>) -> Vec<(Protocol, iperf::Load)> {
        let segments = self.segments.iter();
        let mut loads: Vec<(Protocol, iperf::Load)> = segments
            .map(|&segment| (Protocol::Tcp, iperf::Load::Connection { segment }))
            .collect();
        if let Some((payload, rate)) = datagrams.filter(|_| self.datagrams) {
            loads.push((Protocol::UdpIperf, iperf::Load::Datagrams { payload, rate }));
        }
        loads
    }

    /// One deployment in one mode, at most.
    fn stage(&self, deployment: Deployment, payloads: &[u32], first: bool) -> Duration {
        let guests = if deployment.own_kernel() {
            u32::from(deployment.user_planes())
        } else {
            0
        };
        let delays = Self::whole(self.delay_trial);
        let trials = delays + Self::whole(self.asking);
        let standard = payloads.iter().any(|&bytes| bytes <= LARGEST_STANDARD);
        let opinions = self.opinions(standard.then_some((0, 0.0))).len() as u32;
        let opinion = self.opinion + OF_OPINION;
        let channel = if first {
            CHANNEL + delays * 2 * self.cost_rounds as u32
        } else {
            Duration::ZERO
        };
        SETUP
            + BOOT * guests
            + channel
            + self.asking
            + (self.searches() + trials) * payloads.len() as u32
            + (opinion + opinion) * opinions
    }
}
