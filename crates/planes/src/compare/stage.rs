//! One deployment in one mode: each plane alone and beside the other.

use std::{path::Path, time::Duration};

use super::{PATIENCE, Plan, REQUESTS_PER_SECOND, bench::Bench, watch::watched};
use crate::{
    channel,
    control::Changes,
    deployment::{Cores, Deployment, DeploymentError, Running},
    iperf,
    load::{Load, LoadError, Observed},
    management::{self, Handler, Load as Asking, ManagementError, Responses, Server},
    protocol::UserPlaneMode,
    result::{Cell, ChannelOf, Comparison, CoreUse, Plane, Protocol},
    site::Site,
};

/// Largest UDP payload of a standard Ethernet frame.
const LARGEST_STANDARD: u32 = 1_472;
/// Bytes of a TCP segment in a standard frame, and in the largest frame of the site's cables.
const SEGMENTS: [u32; 2] = [1_448, 3_446];

#[derive(Debug, thiserror::Error)]
pub(crate) enum StageError {
    #[error(transparent)]
    Deployment(#[from] DeploymentError),
    #[error(transparent)]
    Control(#[from] crate::control::ControlError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Management(#[from] ManagementError),
    #[error(transparent)]
    Namespace(#[from] host::namespace::Error),
}

/// One deployment in one mode.
pub(super) struct Stage<'a> {
    pub(super) plan: &'a Plan,
    pub(super) deployment: Deployment,
    pub(super) mode: UserPlaneMode,
    pub(super) cores: &'a Cores,
    pub(super) site: &'a Site,
}

impl Stage<'_> {
    pub(super) fn run(
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
            let (delays, uses) =
                watched(&self.cores.all, || bench.at(half, self.plan.trial() * 3))?;
            comparison
                .cells
                .push(self.packets(payload, false, alone, &delays, uses));

            // The same beside requests: people go on asking until the packets are done.
            let (beside, delays, uses, responses) = std::thread::scope(|scope| {
                let asking = scope.spawn(|| self.ask());
                let beside = bench.throughput();
                let watched = watched(&self.cores.all, || bench.at(half, self.plan.trial() * 3));
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
        self.second_opinion(comparison)?;
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
                handler: Handler::Sieve,
            },
        )
    }

    /// iperf3, alone and beside requests: one TCP connection with standard and with jumbo segments, and as a second opinion
    /// datagrams at the rate that our own search found for the largest standard payload.
    fn second_opinion(&self, comparison: &mut Comparison) -> Result<(), StageError> {
        let (sender, receiver) = (&self.site.sender, &self.site.receiver);
        let pair = &self.site.pairs[0];
        let address = pair.receiver().to_string();
        let seconds = Duration::from_secs(if self.plan.quick { 1 } else { 2 });
        let mut loads: Vec<(Protocol, iperf::Load)> = SEGMENTS
            .into_iter()
            .filter(|&segment| segment == SEGMENTS[0] || !self.plan.quick)
            .map(|segment| (Protocol::Tcp, iperf::Load::Connection { segment }))
            .collect();
        let standard = self
            .plan
            .payloads
            .iter()
            .filter(|&&bytes| bytes <= LARGEST_STANDARD);
        if let Some(&payload) = standard.max() {
            let found = |load| {
                let cell =
                    comparison.cell(self.deployment, Plane::User, self.mode, payload, load)?;
                cell.throughput_bps
            };
            // One flow goes to one user plane: where they are several, to its share.
            if let Some(rate) = found(false).or(found(true)) {
                let rate = rate / f64::from(self.deployment.user_planes());
                loads.push((Protocol::UdpIperf, iperf::Load::Datagrams { payload, rate }));
            }
        }
        for (protocol, load) in loads {
            for other in [false, true] {
                let seen = std::thread::scope(|scope| {
                    let asking = other.then(|| scope.spawn(|| self.ask()));
                    let seen = iperf::measure(sender, receiver, &address, load, seconds);
                    if let Some(asking) = asking {
                        asking
                            .join()
                            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
                    }
                    Ok::<_, StageError>(seen)
                })?;
                match seen {
                    Ok(seen) => comparison.cells.push(Cell {
                        throughput_bps: Some(seen.bits_per_second),
                        loss: seen.loss,
                        jitter_ns: seen.jitter_ns,
                        ..self.cell(Plane::User, protocol, load.bytes(), other)
                    }),
                    Err(error) => {
                        comparison.not_measured.push(format!(
                            "iperf3 in {} with packets in {}: {error}",
                            self.deployment.name(),
                            self.mode.name()
                        ));
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    fn cell(&self, plane: Plane, protocol: Protocol, payload_bytes: u32, load: bool) -> Cell {
        Cell::empty(
            self.deployment,
            self.mode,
            plane,
            protocol,
            payload_bytes,
            load,
        )
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
