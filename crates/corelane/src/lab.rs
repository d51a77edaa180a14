//! `corelane lab`: whole networks on this machine, measured while things happen in them.

use std::time::Duration;

use clap::Subcommand;
use fleetlab::daemon::Kind;
use fleetlab::event::Event;
use fleetlab::measure::{MOST_NODES, Options, measure};
use fleetlab::page::document;
use host::cleanup;
use host::environment::Environment;
use router::engine::EngineKind;

use crate::common::{Outcome, ResultOptions};

/// Measure what happens to traffic when something happens to a router
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Fleet(Fleet),
}

/// Measure what each event of a fleet costs: frames lost, outage, flows moved
///
/// Makes a spreader with ECMP and several routers behind it, in network namespaces, with BGP and BFD
/// between them. Numbered frames go through while routers are drained, killed or taken over. Needs
/// root, and BIRD or FRR. All of it is removed at the end.
#[derive(clap::Args)]
struct Fleet {
    /// Routers behind the spreader
    #[arg(long, value_name = "N", default_value_t = 2,
        value_parser = clap::value_parser!(u8).range(2..=i64::from(MOST_NODES)))]
    nodes: u8,
    /// Events, in their order, separated by commas: drain, undrain, take-over, kill, hang, restart,
    /// daemon-kill, dead, link-down, remove, add, flap, churn [default: all]
    #[arg(long = "event", value_name = "NAME,...", value_delimiter = ',')]
    events: Vec<Event>,
    /// How often each event is measured [default: 5; with --quick: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repetitions: Option<u32>,
    /// Flows, each with a UDP port of its own
    #[arg(long, value_name = "N", default_value_t = 64,
        value_parser = clap::value_parser!(u16).range(8..=4096))]
    flows: u16,
    /// Frames a second, all flows together
    #[arg(long, value_name = "N", default_value_t = 6400,
        value_parser = clap::value_parser!(u32).range(100..=50_000))]
    rate: u32,
    /// How long traffic is watched after an event [default: 2; with --quick: 1]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: Option<u64>,
    /// What speaks BGP and BFD: bird, frr
    #[arg(long, value_name = "NAME", default_value_t = Kind::Bird)]
    daemon: Kind,
    /// The spreader has a resilient group of next hops
    #[arg(long)]
    resilient: bool,
    /// What moves the frames in the routers [default: as corelane run chooses]
    #[arg(long, value_name = "ENGINE")]
    engine: Option<EngineKind>,
    #[command(flatten)]
    results: ResultOptions,
}

/// Runs the verb.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let Verb::Fleet(fleet) = &arguments.verb;
    cleanup::on_signal()?;
    let results = &fleet.results;
    let (repetitions, seconds) = if results.quick { (1, 1) } else { (5, 2) };
    let options = Options {
        program: std::env::current_exe()?,
        nodes: fleet.nodes,
        flows: fleet.flows,
        rate: fleet.rate,
        repetitions: fleet.repetitions.unwrap_or(repetitions),
        events: if fleet.events.is_empty() {
            Event::all().collect()
        } else {
            fleet.events.clone()
        },
        daemon: fleet.daemon,
        resilient: fleet.resilient,
        engine: fleet.engine.map(|engine| engine.name().to_owned()),
        watch: Duration::from_secs(fleet.seconds.unwrap_or(seconds)),
        seed: results.seed,
    };
    let environment = Environment::read(env!("CARGO_PKG_VERSION"), results.seed);
    let found = measure(&options, environment)?;
    results.deliver(&document(&found), &found)
}
