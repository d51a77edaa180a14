//! Both planes of one deployment, ready for one short trial after the other.

use std::time::Instant;

use agent::handler::{SIEVE, primes_below};
use bpf::attach::Request;
use fastpath::sink::{Checks, Sink};
use host::loops;
use host::pressure::{Aggressor, Caches, Channel, WAKEUPS};
use host::{CoreId, Topology};

use super::intervention::{Removal, Turn};
use super::removed::Removed;
use super::setup::Setup;
use crate::deployment::{Means, Running};
use crate::error::Error;
use crate::load::{Load, Observed};
use crate::management::{Handler, Responses, Server, asked_while};
use crate::plan::{CHANGES_PER_SECOND, REQUESTS_PER_SECOND, asking};
use crate::result::{CoreUse, Plane};
use crate::routes::Changes;
use crate::watch::watched;

/// The planes, and how hard the aggressors press: as much as the other plane works.
pub(super) struct Scene<'a> {
    setup: Setup<'a>,
    running: Running,
    server: Server,
    load: Load,
    changes: Changes,
    caches: Caches,
    /// Steps of the handler that computes in registers.
    steps: u64,
    duty: Duties,
}

/// Shares of time, 0 to 1.
#[derive(Debug, Clone, Copy, Default)]
struct Duties {
    /// That the management plane computes.
    requests: f64,
    /// That the user plane's core works.
    packets: f64,
    /// Timer interrupts that requests add on the user plane's core, as a dose.
    timers_of_requests: f64,
    /// And packets on the others'.
    timers_of_packets: f64,
}

/// A trial's figures; absent where that plane had no load or no answer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    /// Share of frames.
    pub(super) loss: Option<f64>,
    /// 99th percentile, ns.
    pub(super) delay: Option<f64>,
    /// Median, ms.
    pub(super) response: Option<f64>,
}

impl<'a> Scene<'a> {
    pub(super) fn start(setup: Setup<'a>, means: Means<'_>) -> Result<Self, Error> {
        let mut running = Running::start(setup.variant, setup.site, setup.cores, means)?;
        let server = Server::start(&setup.site.device, means.program)?;
        let others = setup.cores.kept_apart(setup.variant.deployment);
        if let Some(others) = &others {
            server.bind(others)?;
        }
        let sending = setup.cores.all[0];
        let load = Load::new(setup.site, &mut running, setup.payload, sending)?;
        let changes = Changes::new(setup.origin, &setup.site.pairs, others.as_deref())?;
        let (seconds, steps) = calibrate();
        let mut scene = Self {
            running,
            server,
            load,
            changes,
            caches: Caches::read(&Topology::read()),
            steps,
            duty: Duties {
                requests: (REQUESTS_PER_SECOND * seconds).min(1.0),
                ..Duties::default()
            },
            setup,
        };
        scene.measure_duties()?;
        Ok(scene)
    }

    /// One trial.
    pub(super) fn run(&mut self, turn: Turn) -> Result<Seen, Error> {
        let _pressing = match turn {
            Turn::Pressed(victim, channel) => Some(self.press(victim, channel)),
            _ => None,
        };
        let _removed = match turn {
            Turn::Removed(victim, removal) => Some(Removed::apply(
                removal,
                victim,
                &self.setup,
                &mut self.running,
                &self.server,
            )?),
            _ => None,
        };
        let _swallowed = match turn {
            Turn::TesterOnly => Some(self.swallow()?),
            _ => None,
        };
        let handler = match turn {
            Turn::Removed(_, Removal::HandlerMemory) => Handler::Registers { steps: self.steps },
            _ => Handler::Sieve,
        };
        let routes = match turn {
            Turn::Removed(_, Removal::Routes) => 0,
            _ => CHANGES_PER_SECOND,
        };
        let (packets, requests) = turn.loads();
        let (observed, responses) = self.both(packets, requests.then_some(handler), routes)?;
        // Frames that were swallowed tell nothing of the user plane.
        let observed = observed.filter(|_| turn != Turn::TesterOnly);
        Ok(Seen {
            loss: observed.as_ref().map(Observed::loss),
            delay: observed
                .and_then(|seen| seen.delay_p99_ns)
                .map(|ns| ns as f64),
            response: responses
                .and_then(|responses| responses.quantile_ns(0.5))
                .map(|ns| ns as f64 / 1e6),
        })
    }

    fn both(
        &mut self,
        packets: bool,
        requests: Option<Handler>,
        routes: u32,
    ) -> Result<(Option<Observed>, Option<Responses>), Error> {
        let Setup {
            site, rate, trial, ..
        } = self.setup;
        let (load, running, changes) = (&mut self.load, &mut self.running, &mut self.changes);
        let asking = requests.map(|handler| asking(trial, handler));
        // Without packets the control plane works all the same.
        let rate = if packets { rate } else { 0.0 };
        let (observed, responses) = asked_while(&site.device, asking, || {
            load.trial(running, changes, routes, rate, trial)
        })?;
        Ok((Some(observed?).filter(|_| packets), responses))
    }

    fn press(&self, victim: Plane, channel: Channel) -> Aggressor {
        let (user, other) = (self.setup.cores.user, self.setup.cores.all[0]);
        let duty = self.duty;
        let (core, duty) = match (victim, channel) {
            (Plane::User, Channel::Interrupts) => (user, duty.timers_of_requests),
            (Plane::User, _) => (other, duty.requests),
            (Plane::Management, Channel::Interrupts) => (other, duty.timers_of_packets),
            (Plane::Management, _) => (user, duty.packets),
        };
        Aggressor::start(channel, core, duty, self.caches)
    }

    /// Has packets end at the device's entrance, before any plane sees them.
    fn swallow(&self) -> Result<Sink, Error> {
        let mut sink = Sink::new(Checks {
            streams: 1,
            ..Checks::ALL
        })?;
        let device = &self.setup.site.device;
        for pair in &self.setup.site.pairs {
            let entrance = pair.input.b.interface.as_str();
            device.enter(|| sink.attach(entrance, Request::Any))??;
        }
        Ok(sink)
    }

    /// How much each plane works, so that the aggressors do not press harder.
    fn measure_duties(&mut self) -> Result<(), Error> {
        let cores = self.setup.cores.clone();
        let mut uses = Vec::new();
        for (packets, requests) in [(true, false), (false, true), (true, true)] {
            let handler = requests.then_some(Handler::Sieve);
            let (_, seen) = watched(&cores.all, || {
                self.both(packets, handler, CHANGES_PER_SECOND)
            })?;
            uses.push(seen);
        }
        let of = |uses: &[CoreUse], core: CoreId| {
            let found = uses.iter().find(|of| of.core == core.0);
            found.map_or((0.0, 0.0), |of| (of.busy, of.interrupts_per_second))
        };
        let more =
            |both: (f64, f64), alone: (f64, f64)| ((both.1 - alone.1) / WAKEUPS).clamp(0.01, 1.0);
        let (user, other) = (cores.user, cores.all[0]);
        self.duty.packets = of(&uses[0], user).0.clamp(0.01, 1.0);
        self.duty.timers_of_requests = more(of(&uses[2], user), of(&uses[0], user));
        self.duty.timers_of_packets = more(of(&uses[2], other), of(&uses[1], other));
        Ok(())
    }
}

/// Seconds that the handler computes, and steps in registers that take as long: the fastest of a
/// few, which nothing interrupted.
fn calibrate() -> (f64, u64) {
    const TRIES: u32 = 5;
    const STEPS: u64 = 1_000_000;
    let fastest = |work: &dyn Fn()| {
        let times = (0..TRIES).map(|_| {
            let begin = Instant::now();
            work();
            begin.elapsed().as_secs_f64()
        });
        times.fold(f64::INFINITY, f64::min)
    };
    let sieve = fastest(&|| {
        std::hint::black_box(primes_below(SIEVE));
    });
    let registers = fastest(&|| {
        loops::spin(STEPS, 1);
    });
    (sieve, (sieve / registers * STEPS as f64) as u64)
}
