//! One deployment in one mode: each plane alone and beside the other.

use std::time::{Duration, Instant};

use super::pairs::Pairs;
use super::under_load::UnderLoad;
use crate::deployment::{Cores, Means, Running, UserPlane, Variant};
use crate::error::Error;
use crate::load::{Load, Observed};
use crate::management::{self, Handler, Responses, Server, asked_while};
use crate::plan::{COMMON_RATE, Pass, Plan, asking};
use crate::result::{
    Cell, ChannelOf, Comparison, CoreUse, LARGEST_STANDARD, Plane, Protocol, RoutesOf,
};
use crate::routes::Changes;
use crate::site::Site;
use crate::watch::watched;
use crate::{channel, iperf};

/// One deployment in one mode.
pub(super) struct Stage<'a> {
    pub(super) plan: &'a Plan,
    pub(super) variant: Variant,
    pub(super) cores: &'a Cores,
    pub(super) site: &'a Site,
}

impl Stage<'_> {
    pub(super) fn run(
        &self,
        means: Means<'_>,
        comparison: &mut Comparison,
        say: &mut impl FnMut(&str),
    ) -> Result<(), Error> {
        let mut running = Running::start(self.variant, self.site, self.cores, means)?;
        let first = comparison
            .channels
            .iter()
            .all(|of| of.deployment != self.variant.deployment);
        if first {
            comparison.channels.push(self.channel(&mut running)?);
        }
        let server = Server::start(&self.site.device, means.program)?;
        let others = self.cores.kept_apart(self.variant.deployment);
        if let Some(others) = &others {
            server.bind(others)?;
        }
        let responses = management::ask(&self.site.device, self.asking())?;
        comparison.cells.push(self.requests(0, false, &responses));
        let mut changes = Changes::new(self.plan.routes, &self.site.pairs, others.as_deref())?;
        let sending = self.cores.all[0];
        let schedule = self.plan.schedule();
        for (number, &payload) in self.plan.payloads.iter().enumerate() {
            say(&format!("{}, {payload} bytes", self.variant));
            let mut load = Load::new(self.site, &mut running, payload, sending)?;
            let mut under_load = UnderLoad {
                load: &mut load,
                running: &mut running,
                changes: &mut changes,
                schedule,
            };
            let pairs = self.pairs(&mut under_load)?;
            let (delays, uses) = watched(&self.cores.all, || {
                under_load.at(COMMON_RATE, schedule.delay_trial)
            })?;
            comparison
                .cells
                .push(self.packets(payload, false, &pairs, &delays, uses));
            if first && number == 0 {
                let half = pairs.rate(false).map_or(0.0, |rate| rate.value / 2.0);
                let cost = self.cost(&mut under_load, half)?;
                if let Some(of) = comparison.channels.last_mut() {
                    of.cost = Some(cost);
                }
            }

            // The same beside requests: people go on asking until the packets are done.
            let asking = Some(self.asking());
            let (trial, responses) = asked_while(&self.site.device, asking, || {
                let delays = || under_load.at(COMMON_RATE, schedule.asking);
                watched(&self.cores.all, delays)
            })?;
            let (delays, uses) = trial?;
            comparison
                .cells
                .push(self.packets(payload, true, &pairs, &delays, uses));
            let responses = responses.iter();
            comparison
                .cells
                .extend(responses.map(|seen| self.requests(payload, true, seen)));
        }
        comparison.routes.push(self.routes(&mut running, &changes)?);
        self.second_opinion(comparison)?;
        drop(server);
        Ok(())
    }

    fn channel(&self, running: &mut Running) -> Result<ChannelOf, Error> {
        let boots = running.planes().iter().filter_map(UserPlane::boot_time);
        let boot_seconds = boots.max().map(|time| time.as_secs_f64());
        let plane = &mut running.planes()[0];
        let shared_ticks = plane.shares_ticks();
        Ok(ChannelOf {
            deployment: self.variant.deployment,
            channel: channel::measure(plane.link(), shared_ticks)?,
            cost: None,
            boot_seconds,
        })
    }

    /// What became of the changes of this stage.
    fn routes(&self, running: &mut Running, changes: &Changes) -> Result<RoutesOf, Error> {
        /// A user plane whose kernel is slow has some to take up yet.
        const SETTLING: Duration = Duration::from_secs(2);
        let own: u64 = self
            .site
            .pairs
            .iter()
            .map(|of| of.routes().len() as u64)
            .sum();
        let since = Instant::now();
        loop {
            let (mut applied, mut refused) = (0, 0);
            for plane in running.planes() {
                let counters = plane.read_counters()?;
                applied += counters.routes_applied;
                refused += counters.routes_refused;
            }
            // The load's own routes are no changes.
            let applied = applied.saturating_sub(own);
            if applied + refused >= changes.sent() || since.elapsed() > SETTLING {
                return Ok(RoutesOf {
                    variant: self.variant,
                    sent: changes.sent(),
                    applied,
                    refused,
                });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// People who ask during a search. They meet every rate that it tries, so their responses say
    /// nothing.
    pub(super) fn asking_during(&self, pass: Pass) -> management::Load {
        asking(self.plan.schedule().pass(pass) / 4, Handler::Sieve)
    }

    fn asking(&self) -> management::Load {
        asking(self.plan.schedule().asking, Handler::Sieve)
    }

    /// iperf3, alone and beside requests: one TCP connection with standard and with jumbo segments,
    /// and as a second opinion datagrams at the rate that our own search found for the largest
    /// standard payload.
    fn second_opinion(&self, comparison: &mut Comparison) -> Result<(), Error> {
        let (sender, receiver) = (&self.site.sender, &self.site.receiver);
        let pair = &self.site.pairs[0];
        let address = pair.receiver().to_string();
        let schedule = self.plan.schedule();
        let standard = self
            .plan
            .payloads
            .iter()
            .filter(|&&bytes| bytes <= LARGEST_STANDARD);
        let datagrams = standard.max().and_then(|&payload| {
            let found = |load| {
                let cell = comparison.cell(self.variant, Plane::User, payload, load)?;
                cell.throughput_bps
            };
            // One flow goes to one user plane: where they are several, to its share.
            let rate = found(false).or(found(true))?;
            Some((
                payload,
                rate / f64::from(self.variant.deployment.user_planes()),
            ))
        });
        let loads = schedule.opinions(datagrams);
        for (protocol, load) in loads {
            for other in [false, true] {
                let asking = other.then(|| asking(schedule.opinion, Handler::Sieve));
                let (seen, _) = asked_while(&self.site.device, asking, || {
                    iperf::measure(sender, receiver, &address, load, schedule.opinion)
                })?;
                match seen {
                    Ok(seen) => comparison.cells.push(Cell {
                        throughput_bps: Some(seen.bits_per_second),
                        loss: seen.loss,
                        jitter_ns: seen.jitter_ns,
                        ..self.cell(Plane::User, protocol, load.bytes(), other)
                    }),
                    Err(error) => {
                        let missing = format!("iperf3 in {}: {error}", self.variant);
                        comparison.not_measured.push(missing);
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// A cell without figures.
    fn cell(&self, plane: Plane, protocol: Protocol, payload_bytes: u32, load: bool) -> Cell {
        Cell {
            variant: self.variant,
            plane,
            protocol,
            payload_bytes,
            other_plane_load: load,
            ..Cell::default()
        }
    }

    fn packets(
        &self,
        payload: u32,
        load: bool,
        pairs: &Pairs,
        delays: &Observed,
        cores: Vec<CoreUse>,
    ) -> Cell {
        let mut remarks = Vec::new();
        let found = pairs.rate(load);
        let throughput = found.map(|found| found.value);
        let bits = |rate: f64| rate * f64::from(payload) * 8.0;
        if throughput.is_none() {
            remarks.push(
                "no pair of searches counts: at every rate more than one frame in a thousand was \
                 lost, or the hypervisor took the cores"
                    .to_owned(),
            );
        } else if !delays.offered_in_full() {
            remarks.push(format!(
                "the sender was held up: {} of {} frames sent in the delay trial",
                delays.sent, delays.intended
            ));
        }
        if delays.before > 0 {
            remarks.push(format!(
                "{} frames of an earlier trial came during the delay trial and are not counted: \
                 the device had held them",
                delays.before
            ));
        }
        Cell {
            throughput_bps: throughput.map(bits),
            throughput_low_bps: found.map(|found| bits(found.interval.low)),
            throughput_high_bps: found.map(|found| bits(found.interval.high)),
            change: pairs.change().filter(|_| load),
            frames_per_second: throughput,
            loss: Some(delays.loss()),
            delay_frames_per_second: Some(delays.sent as f64 / delays.seconds),
            delay_p50_ns: delays.delay_p50_ns,
            delay_p99_ns: delays.delay_p99_ns,
            jitter_ns: delays.jitter_ns,
            cores,
            remark: (!remarks.is_empty()).then(|| remarks.join("; ")),
            ..self.cell(Plane::User, Protocol::Udp, payload, load)
        }
    }

    fn requests(&self, payload: u32, load: bool, responses: &Responses) -> Cell {
        let milliseconds = |share| responses.percentile_ns(share).map(|ns| ns as f64 / 1e6);
        Cell {
            response_p50_ms: milliseconds(0.5),
            response_p90_ms: milliseconds(0.9),
            response_p99_ms: milliseconds(0.99),
            timeouts: Some(responses.timeouts),
            requests: Some(responses.times_ns.len() as u64 + responses.timeouts),
            ..self.cell(Plane::Management, Protocol::Udp, payload, load)
        }
    }
}
