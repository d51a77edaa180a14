//! The comparison itself: every deployment, each plane alone and beside the other.

use std::{path::Path, time::Duration};

use host::{CoreId, Environment};
use scaling::harness::observe::{Interrupts, Times};
use tester::search::{Bisection, TrialOutcome};

use crate::{
    channel,
    control::Changes,
    deployment::{Cores, Deployment, DeploymentError, Running},
    load::{Load, LoadError, Observed},
    management::{self, Load as Asking, ManagementError, Responses, Server},
    protocol::UserPlaneMode,
    result::{Cell, ChannelOf, Comparison, CoreUse, Plane, Protocol, SCHEMA},
    site::Site,
    tcp,
};

/// Requests a second: a busy operator's page, some tenth of a core.
const REQUESTS_PER_SECOND: f64 = 20.0;
/// After which a request counts as timed out.
const PATIENCE: Duration = Duration::from_secs(2);
/// Route changes a second of the control plane.
const CHANGES_PER_SECOND: u32 = 500;
/// Bounds of the throughput closer than this share end the search.
const RESOLUTION: f64 = 0.05;
/// Share of frames that may be lost: on two cores that everything shares, no rate is without any loss.
pub const LOSS: f64 = 0.001;
/// Flooding finds what arrives at most; the search for the rate without loss begins above it.
const HEADROOM: f64 = 1.1;
/// Largest payload of a standard Ethernet frame, which is what a worker's buffer holds.
const LARGEST_IN_USER_SPACE: u32 = 1_472;
/// A rate that no device on veth reaches: the flood.
const FLOOD: f64 = 4e6;

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
}

impl Plan {
    fn trial(&self) -> Duration {
        Duration::from_millis(if self.quick { 120 } else { 300 })
    }

    fn asking(&self) -> Duration {
        Duration::from_millis(if self.quick { 1_500 } else { 4_000 })
    }
}

/// Why a comparison could not be made at all.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// Fewer than two cores.
    #[error("planes need two cores, this process may use {0}: allow more (taskset, cgroup)")]
    Cores(usize),
    /// Not root.
    #[error("namespaces, guests and partitions need root; run the command with sudo")]
    NotRoot,
    /// The namespaces.
    #[error(transparent)]
    Namespace(#[from] host::namespace::Error),
    /// The web server.
    #[error(transparent)]
    Management(#[from] ManagementError),
    /// Ctrl-C.
    #[error("interrupted; everything that was made is removed")]
    Interrupted,
}

/// Compares the deployments of `plan`; `say` hears what is being done. A deployment that this
/// machine cannot have is named in the result, and the others go on.
///
/// # Errors
/// [`CompareError`].
pub fn compare(
    plan: &Plan,
    program: &Path,
    environment: Environment,
    mut say: impl FnMut(&str),
) -> Result<Comparison, CompareError> {
    if !host::process::is_root() {
        return Err(CompareError::NotRoot);
    }
    let all = host::allowed_cores().unwrap_or_default();
    let count = all.len();
    let cores = Cores::divide(all).ok_or(CompareError::Cores(count))?;
    crate::guest::sweep_leftovers();
    let mut comparison = Comparison {
        schema: SCHEMA.to_owned(),
        environment,
        cells: Vec::new(),
        channels: Vec::new(),
        causes: Vec::new(),
        not_measured: vec![
            "hardware counters and cache partitions, which would tell shared cache from memory bandwidth".to_owned(),
        ],
        user_core: cores.user.0,
        cores: cores.all.iter().map(|core| core.0).collect(),
        requests_per_second: REQUESTS_PER_SECOND,
        route_changes_per_second: CHANGES_PER_SECOND,
        quick: plan.quick,
    };
    for &deployment in &plan.deployments {
        for &mode in &plan.modes {
            let planes = if deployment == Deployment::AmpSpread {
                2
            } else {
                1
            };
            let site = Site::new(planes)?;
            let stage = Stage {
                plan,
                deployment,
                mode,
                cores: &cores,
                site: &site,
            };
            say(&format!("{}, packets in {mode:?}", deployment.name()));
            match stage.run(program, &mut comparison, &mut say) {
                Ok(()) => {}
                Err(StageError::Load(LoadError::Interrupted)) => {
                    return Err(CompareError::Interrupted);
                }
                Err(error) => comparison.not_measured.push(format!(
                    "{} with packets in {mode:?}: {error}",
                    deployment.name()
                )),
            }
            if host::interrupted() {
                return Err(CompareError::Interrupted);
            }
        }
    }
    Ok(comparison)
}

#[derive(Debug, thiserror::Error)]
enum StageError {
    #[error(transparent)]
    Deployment(#[from] DeploymentError),
    #[error(transparent)]
    Control(#[from] crate::control::ControlError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Management(#[from] ManagementError),
}

/// One deployment in one mode.
struct Stage<'a> {
    plan: &'a Plan,
    deployment: Deployment,
    mode: UserPlaneMode,
    cores: &'a Cores,
    site: &'a Site,
}

impl Stage<'_> {
    fn run(
        &self,
        program: &Path,
        comparison: &mut Comparison,
        say: &mut impl FnMut(&str),
    ) -> Result<(), StageError> {
        let mut running =
            Running::start(self.deployment, self.mode, self.site, self.cores, program)?;
        if comparison
            .channels
            .iter()
            .all(|of| of.deployment != self.deployment)
        {
            let plane = &mut running.planes()[0];
            let boot_seconds = plane.boot_time().map(|time| time.as_secs_f64());
            comparison.channels.push(ChannelOf {
                deployment: self.deployment,
                channel: channel::measure(plane.link())?,
                boot_seconds,
            });
        }
        let server = Server::start(&self.site.device, program)?;
        if self.deployment != Deployment::SmpFree {
            server.bind(&self.cores.others())?;
        }
        comparison.cells.push(self.requests(0, false, &self.ask()?));
        let pair = &self.site.pairs[0];
        let mut changes = Changes::new([pair.sender(), pair.receiver()]);
        let sending = self.cores.all[0];
        for &payload in &self.plan.payloads {
            if self.mode == UserPlaneMode::UserSpace && payload > LARGEST_IN_USER_SPACE {
                comparison.not_measured.push(format!(
                    "{} with packets in user space, {payload} bytes: our worker's buffers hold standard frames",
                    self.deployment.name()
                ));
                continue;
            }
            say(&format!("{}, {payload} bytes", self.deployment.name()));
            let mut load = Load::new(self.site, &mut running, payload, sending)?;
            let mut bench = Bench {
                load: &mut load,
                running: &mut running,
                changes: &mut changes,
                trial: self.plan.trial(),
            };
            let alone = bench.throughput()?;
            let half = alone.map_or(0.0, |rate| rate / 2.0);
            let (delays, uses) = self.watched(|| bench.at(half, self.plan.trial() * 3))?;
            comparison
                .cells
                .push(self.packets(payload, false, alone, &delays, uses));

            // The same beside requests: people go on asking until the packets are done.
            let (beside, delays, uses, responses) = std::thread::scope(|scope| {
                let asking = scope.spawn(|| self.ask());
                let beside = bench.throughput();
                let watched = self.watched(|| bench.at(half, self.plan.trial() * 3));
                let responses = asking
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                let (delays, uses) = watched?;
                Ok::<_, StageError>((beside?, delays, uses, responses?))
            })?;
            comparison
                .cells
                .push(self.packets(payload, true, beside, &delays, uses));
            comparison
                .cells
                .push(self.requests(payload, true, &responses));
        }
        self.connection(comparison)?;
        drop(server);
        Ok(())
    }

    fn ask(&self) -> Result<Responses, ManagementError> {
        management::ask(
            &self.site.device,
            Asking {
                rate: REQUESTS_PER_SECOND,
                duration: self.plan.asking(),
                patience: PATIENCE,
            },
        )
    }

    /// TCP by iperf3, alone and beside requests.
    fn connection(&self, comparison: &mut Comparison) -> Result<(), StageError> {
        let pair = &self.site.pairs[0];
        let seconds = Duration::from_secs(if self.plan.quick { 1 } else { 3 });
        let measure = || {
            let (sender, receiver) = (&self.site.sender, &self.site.receiver);
            tcp::goodput(sender, receiver, &pair.receiver().to_string(), seconds)
        };
        for load in [false, true] {
            let goodput = std::thread::scope(|scope| {
                let asking = load.then(|| scope.spawn(|| self.ask()));
                let goodput = measure();
                if let Some(asking) = asking {
                    asking
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
                }
                Ok::<_, StageError>(goodput)
            })?;
            match goodput {
                Ok(rate) => comparison.cells.push(Cell {
                    throughput_bps: Some(rate),
                    ..self.cell(Plane::User, Protocol::Tcp, 0, load)
                }),
                Err(error) => {
                    comparison.not_measured.push(format!(
                        "TCP in {} with packets in {:?}: {error}",
                        self.deployment.name(),
                        self.mode
                    ));
                    break;
                }
            }
        }
        Ok(())
    }

    /// Runs `work` and reads what every core did meanwhile.
    fn watched<T>(
        &self,
        work: impl FnOnce() -> Result<T, LoadError>,
    ) -> Result<(T, Vec<CoreUse>), LoadError> {
        let read = |core: &CoreId| (Times::now(&[*core]), Interrupts::now(&[*core]));
        let before: Vec<_> = self.cores.all.iter().map(read).collect();
        let begin = std::time::Instant::now();
        let done = work()?;
        let seconds = begin.elapsed().as_secs_f64();
        let uses = self
            .cores
            .all
            .iter()
            .zip(before)
            .map(|(core, (times, interrupts))| {
                let (later, later_interrupts) = read(core);
                let passed = times.until(&later);
                let total = (passed.busy + passed.idle + passed.steal).max(f64::MIN_POSITIVE);
                let grown = interrupts.until(&later_interrupts);
                let of = |kind: &str| {
                    let of_kind = grown.iter().filter(|(name, _)| name.starts_with(kind));
                    of_kind.map(|(_, count)| *count as f64).sum::<f64>() / seconds
                };
                CoreUse {
                    core: core.0,
                    busy: passed.busy / total,
                    interrupt: passed.interrupt / total,
                    interrupts_per_second: of("interrupt"),
                    softirqs_per_second: of("softirq"),
                    steal: passed.steal / total,
                }
            })
            .collect();
        Ok((done, uses))
    }

    fn cell(&self, plane: Plane, protocol: Protocol, payload_bytes: u32, load: bool) -> Cell {
        Cell {
            deployment: self.deployment,
            plane,
            user_plane_mode: self.mode,
            protocol,
            payload_bytes,
            other_plane_load: load,
            throughput_bps: None,
            frames_per_second: None,
            loss: None,
            delay_p50_ns: None,
            delay_p99_ns: None,
            jitter_ns: None,
            response_p50_ms: None,
            response_p99_ms: None,
            timeouts: None,
            requests: None,
            cores: Vec::new(),
            remark: None,
        }
    }

    fn packets(
        &self,
        payload: u32,
        load: bool,
        throughput: Option<f64>,
        delays: &Observed,
        cores: Vec<CoreUse>,
    ) -> Cell {
        let full = delays.offered_in_full();
        Cell {
            throughput_bps: throughput.map(|rate| rate * f64::from(payload) * 8.0),
            frames_per_second: throughput,
            loss: Some(delays.loss()),
            delay_p50_ns: delays.delay_p50_ns,
            delay_p99_ns: delays.delay_p99_ns,
            jitter_ns: delays.jitter_ns,
            cores,
            remark: (!full || throughput.is_none()).then(|| {
                if throughput.is_none() {
                    return "at every rate tried more than one frame in a thousand was lost: the machine was busy, or the device is"
                        .to_owned();
                }
                format!(
                    "the sender was held up: {} of {} frames sent in the delay trial",
                    delays.sent, delays.intended
                )
            }),
            ..self.cell(Plane::User, Protocol::Udp, payload, load)
        }
    }

    fn requests(&self, payload: u32, load: bool, responses: &Responses) -> Cell {
        let milliseconds = |share| responses.quantile_ns(share).map(|ns| ns as f64 / 1e6);
        Cell {
            response_p50_ms: milliseconds(0.5),
            response_p99_ms: milliseconds(0.99),
            timeouts: Some(responses.timeouts),
            requests: Some(responses.times_ns.len() as u64 + responses.timeouts),
            ..self.cell(Plane::Management, Protocol::Udp, payload, load)
        }
    }
}

/// A load on running user planes.
struct Bench<'a> {
    load: &'a mut Load,
    running: &'a mut Running,
    changes: &'a mut Changes,
    trial: Duration,
}

impl Bench<'_> {
    fn at(&mut self, rate: f64, duration: Duration) -> Result<Observed, LoadError> {
        self.load.trial(
            self.running,
            self.changes,
            CHANGES_PER_SECOND,
            rate,
            duration,
        )
    }

    /// The highest rate at which no more than [`LOSS`] is lost, frames a second; `None` when no rate passes.
    fn throughput(&mut self) -> Result<Option<f64>, LoadError> {
        let flood = self.at(FLOOD, self.trial)?;
        let search = Bisection {
            repeats: 2,
            confirmations: 0,
            // Below a hundredth of what arrives in a flood the search has failed.
            step: flood.rate() / 100.0,
            ..Bisection::new((flood.rate() * HEADROOM).max(1_000.0), RESOLUTION)
        };
        let mut failed = None;
        let found = search.run(|probe| match self.at(probe.amount, self.trial) {
            Err(error) => {
                failed = Some(error);
                TrialOutcome::Stop
            }
            Ok(seen) if seen.loss() > LOSS => TrialOutcome::Fail { carried: None },
            Ok(seen) if seen.offered_in_full() => TrialOutcome::Pass,
            Ok(_) => TrialOutcome::Invalid { offered: None },
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(found.lower),
        }
    }
}
