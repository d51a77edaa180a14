//! One event after another, again and again.

use std::path::PathBuf;
use std::time::Duration;

use figures::Random;
use host::Environment;
use host::cleanup::{self, Interrupted};

use crate::Failure;
use crate::count::figures;
use crate::daemon::Kind;
use crate::event::{Event, Forwarder, State};
use crate::program::{pause, wait};
use crate::result::{FleetLab, Run, SCHEMA};
use crate::site::{Calm, Site};
use crate::timeline::timeline;
use crate::traffic::{STRAGGLERS, now};

/// Most nodes: they are many programs on few cores.
pub const MOST_NODES: u8 = 8;
/// The spreader may take so long to change its route.
const PATIENCE: Duration = Duration::from_secs(30);
/// A sender that is kept from running for so long, ns, says that daemons are, too.
const STILL: u64 = 100_000_000;
/// Source ports begin at random among so many, above those that need rights.
const PORTS: usize = 20_000;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// `corelane` itself.
    pub program: PathBuf,
    /// Nodes, 2 to [`MOST_NODES`].
    pub nodes: u8,
    /// Flows.
    pub flows: u16,
    /// Frames a second, all flows together.
    pub rate: u32,
    /// How often each event is done.
    pub repetitions: u32,
    /// The events, in their order.
    pub events: Vec<Event>,
    /// In which repetitions each event happens once more to nodes without Corelane, whose kernels
    /// forward: in every so many-th.
    pub beside_kernel: Option<u32>,
    /// Whether the spreader has a resilient group of next hops.
    pub resilient: bool,
    /// The daemon of the spreader and of all nodes.
    pub daemon: Kind,
    /// BFD sends a packet in so many ms, and a session is down after three.
    pub bfd_ms: u16,
    /// The engine of all nodes; `corelane run` chooses when there is none.
    pub engine: Option<String>,
    /// How long all may take to be well again after an event; `load` lasts so long.
    pub watch: Duration,
    /// Of the node that is the first, and of the source ports.
    pub seed: u64,
}

/// Does all of it. A signal ends it early, and what was measured before is the result.
///
/// # Errors
/// Without root or a program that is needed, when a program does not do its part, and when a signal
/// came before the first event was measured.
pub fn measure(options: &Options, environment: Environment) -> Result<FleetLab, Failure> {
    let mut random = Random::new(options.seed);
    let port = 1024 + random.below(PORTS) as u16;
    let mut lab = FleetLab {
        schema: SCHEMA.to_owned(),
        environment,
        nodes: options.nodes,
        flows: options.flows,
        frames_per_second: options.rate,
        daemon: options.daemon,
        bfd_ms: options.bfd_ms,
        resilient: options.resilient,
        engine: options.engine.clone(),
        runs: Vec::new(),
    };
    let plans = || (1..=options.repetitions).map(|repetition| plan(options, repetition));
    let mut progress = report::Progress::new(plans().map(|plan| plan.len()).sum());
    let mut site = Site::lay(options, port)?;
    let first = random.below(options.nodes.into());
    for (repetition, plan) in (1..).zip(plans()) {
        let node = (first + repetition as usize) % usize::from(options.nodes);
        for (forwarder, event) in plan {
            progress.step(event.words());
            match one(&mut site, node, forwarder, event, options.watch) {
                Ok(run) => lab.runs.push(Run { repetition, ..run }),
                Err(error) if error.is::<Interrupted>() && !lab.runs.is_empty() => return Ok(lab),
                Err(error) => return Err(error),
            }
        }
        if let Err(error) = site.nodes[node].bring(State::Whole)
            && !cleanup::interrupted()
        {
            return Err(error);
        }
    }
    Ok(lab)
}

/// What a repetition consists of.
fn plan(options: &Options, repetition: u32) -> Vec<(Forwarder, Event)> {
    let events = options.events.iter().copied();
    let corelane = events.clone().map(|event| (Forwarder::Corelane, event));
    let is_beside = options
        .beside_kernel
        .is_some_and(|of| repetition.is_multiple_of(of));
    let others = events.filter(|event| is_beside && !event.is_of_corelane());
    corelane
        .chain(others.map(|event| (Forwarder::Kernel, event)))
        .collect()
}

fn one(
    site: &mut Site,
    node: usize,
    forwarder: Forwarder,
    event: Event,
    watch: Duration,
) -> Result<Run, Failure> {
    site.forward_by(forwarder)?;
    site.nodes[node].bring(event.begins())?;
    let Calm { from, by_kernel } = site.settle()?;
    site.traffic.forget(from);
    let number = site.nodes[node].number;
    site.nodes[node].prepare(event);
    let at = now();
    let flood = (event == Event::Load).then(|| site.flood()).transpose()?;
    let mut note = site.nodes[node].act(event)?;
    let took = now() - at;
    let is_rerouted = || Ok(!event.reroutes() || site.notices.rerouted(at, u64::MAX).is_some());
    if !wait(PATIENCE, is_rerouted)? {
        note.get_or_insert_with(|| format!("no other route within {} s", PATIENCE.as_secs()));
    }
    if event == Event::Load {
        pause(watch)?;
    } else if !site.calm_down(now(), watch)? {
        note.get_or_insert_with(|| format!("frames were lost for {} s", watch.as_secs_f64()));
    }
    let to = match event {
        Event::Load => now(),
        _ => now().saturating_sub(STRAGGLERS),
    };
    let load = flood.map_or(0.0, |flood| flood.sent() as f64 * 1e9 / (to - at) as f64);
    let window = site.traffic.window(from, to);
    let by_kernel = site.forwarded_by_kernel()?.saturating_sub(by_kernel);
    if window.pause > STILL && event != Event::Load {
        let still = window.pause / 1_000_000;
        note.get_or_insert_with(|| {
            format!("the machine was others' for {still} ms, and BFD waits 300 ms: repeat it")
        });
    }
    let found = figures(&window.flows, at, number);
    let milliseconds = |ns: u64| ns as f64 / 1e6;
    let since = |moment: Option<u64>| moment.map(|moment| milliseconds(moment.saturating_sub(at)));
    let logged = since(site.notices.logged(number, at, to));
    let rerouted = since(site.notices.rerouted(at, to));
    let own = (event != Event::Load).then_some(number);
    let both = logged.into_iter().chain(rerouted);
    Ok(Run {
        event,
        forwarder,
        repetition: 0,
        node: number,
        sent: found.sent,
        lost: found.lost,
        duplicates: window.duplicates,
        reordered: found.reordered,
        outage_ms: milliseconds(found.outage),
        moved: found.moved,
        moved_needlessly: found.needlessly,
        noticed_ms: both.reduce(f64::min),
        logged_ms: logged,
        rerouted_ms: rerouted,
        false_downs: site.notices.downs(own, at, to),
        load_per_second: load,
        healed_ms: since(found.healed),
        took_ms: milliseconds(took),
        by_kernel,
        sender_pause_ms: milliseconds(window.pause),
        timeline: timeline(&window.flows, from, to, at, number),
        note,
    })
}
