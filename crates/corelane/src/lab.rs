//! `corelane lab`: whole networks on this machine, measured while things happen in them.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;
use fleetlab::answer;
use fleetlab::daemon::Kind;
use fleetlab::event::Event;
use fleetlab::forecast::{Group, Question};
use fleetlab::measure::{MOST_NODES, Options, measure};
use fleetlab::page::document;
use fleetlab::result::{FleetLab, SCHEMA};
use fleetlab::spread::Spreader;
use host::cleanup;
use host::environment::Environment;
use router::engine::EngineKind;

use crate::common::{self, Json, Outcome, ResultOptions, Written};
use crate::values::{frames_per_second, time};

/// How long an event is watched at most.
const WATCH: Duration = Duration::from_secs(5);

/// Measure what happens to traffic when something happens to a router
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Fleet(Fleet),
    Forecast(Forecast),
    /// Show results made earlier again; several of one fleet as one
    Report(Report),
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
    /// daemon-kill, dead, link-down, remove, add, flap, churn; and load, more frames than the routers
    /// can take [default: all but load]
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
    #[arg(long, value_name = "RATE", default_value = "6400", value_parser = rate)]
    rate: u32,
    /// How long traffic may take to be well again after an event, which ends it; load lasts so long
    /// [default: 5]
    #[arg(long, value_name = "SECONDS", value_parser = time(1.0, 3600.0))]
    seconds: Option<Duration>,
    /// What speaks BGP and BFD: bird, frr
    #[arg(long, value_name = "NAME", default_value_t = Kind::Bird)]
    daemon: Kind,
    /// BFD sends a packet in so many milliseconds, and a session is down after three
    #[arg(long, value_name = "N", default_value_t = 100,
        value_parser = clap::value_parser!(u16).range(10..=1000))]
    bfd_ms: u16,
    /// Each event happens again to routers without Corelane, whose kernels forward alone; with =N in
    /// every N-th repetition
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1",
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    beside_kernel: Option<u32>,
    /// The spreader has a resilient group of next hops
    #[arg(long)]
    resilient: bool,
    /// What moves the frames in the routers [default: as corelane run chooses]
    #[arg(long, value_name = "ENGINE")]
    engine: Option<EngineKind>,
    #[command(flatten)]
    results: ResultOptions,
}

/// Results of earlier that are shown again.
#[derive(clap::Args)]
struct Report {
    /// What --json wrote
    #[arg(value_name = "FILE", required = true)]
    stored: Vec<PathBuf>,
    #[command(flatten)]
    written: Written,
}

/// Forecast what a fleet carries, from what one router forwards
///
/// Flows fall on the nodes by chance, a thousand times for each number of nodes. As root, the
/// kernel's own hash is asked too, in a network namespace. Exit code 3: it spreads flows otherwise,
/// or the load is more than these fleets carry.
#[derive(clap::Args)]
struct Forecast {
    /// Frames a second that one router forwards without loss, as corelane test throughput measures
    /// it: 5.72M
    #[arg(long, value_name = "RATE", value_parser = frames_per_second)]
    rate: f64,
    /// Frames a second that the fleet must carry
    #[arg(long, value_name = "RATE", value_parser = frames_per_second)]
    load: Option<f64>,
    /// Most routers
    #[arg(long, value_name = "N", default_value_t = 8,
        value_parser = clap::value_parser!(u32).range(2..=128))]
    nodes: u32,
    /// Routers that may fail
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(0..=100))]
    failed: u32,
    /// Flows, all of one rate
    #[arg(long, value_name = "N", default_value_t = 1000,
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    flows: u32,
    /// The spreader has no resilient group, but a plain one
    #[arg(long)]
    plain: bool,
    /// Do not ask the kernel
    #[arg(long)]
    without_kernel: bool,
    /// Seed of what falls by chance
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    json: Json,
}

fn rate(text: &str) -> Result<u32, String> {
    let rate = frames_per_second(text)?;
    if (100.0..=50_000.0).contains(&rate) {
        Ok(rate as u32)
    } else {
        Err("allowed are 100 to 50000 frames a second".to_owned())
    }
}

/// Runs the verb.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.verb {
        Verb::Fleet(arguments) => fleet(arguments),
        Verb::Forecast(arguments) => forecast(arguments),
        Verb::Report(of) => {
            let found = joined(&of.stored)?;
            of.written.deliver(&document(&found), &found)
        }
    }
}

/// All runs of these results.
fn joined(files: &[PathBuf]) -> Result<FleetLab, Box<dyn Error + Send + Sync>> {
    let mut all: Option<FleetLab> = None;
    for file in files {
        let found: FleetLab = report::json::read(file, SCHEMA)?;
        match &mut all {
            Some(all) => all
                .join(found)
                .map_err(|error| format!("{}: {error}", file.display()))?,
            None => all = Some(found),
        }
    }
    all.ok_or_else(|| "no file is named: give what --json wrote".into())
}

fn forecast(arguments: &Forecast) -> Outcome {
    let (nodes, failed) = (arguments.nodes, arguments.failed);
    if failed >= nodes {
        return Err(
            format!("--failed {failed} of --nodes {nodes}: none would live; give more").into(),
        );
    }
    cleanup::on_signal()?;
    let group = if arguments.plain {
        Group::Plain
    } else {
        Group::Resilient
    };
    let question = Question {
        rate: arguments.rate,
        nodes,
        flows: arguments.flows,
        failed,
        group,
        load: arguments.load,
        seed: arguments.seed,
    };
    let asks = !arguments.without_kernel && rustix::process::geteuid().is_root();
    let spreader = asks.then(|| Spreader::lay(group, nodes, question.flows, question.seed));
    let mut spreader = spreader.transpose()?;
    let environment = Environment::read(env!("CARGO_PKG_VERSION"), question.seed);
    let ask = spreader
        .as_mut()
        .map(|spreader| |nodes| spreader.imbalances(nodes));
    let found = fleetlab::forecast::forecast(&question, environment, ask)?;
    let text = report::terminal::render(&answer::document(&found));
    arguments.json.deliver(&text, &found)?;
    let carries = found.load_per_second.is_none() || found.needs_nodes.is_some();
    Ok(common::answer(
        carries && found.kernel_is_like_chance != Some(false),
    ))
}

fn fleet(fleet: &Fleet) -> Outcome {
    cleanup::on_signal()?;
    let results = &fleet.results;
    let repetitions = if results.quick { 1 } else { 5 };
    let options = Options {
        program: std::env::current_exe()?,
        nodes: fleet.nodes,
        flows: fleet.flows,
        rate: fleet.rate,
        repetitions: fleet.repetitions.unwrap_or(repetitions),
        events: if fleet.events.is_empty() {
            Event::of_a_node().collect()
        } else {
            fleet.events.clone()
        },
        daemon: fleet.daemon,
        bfd_ms: fleet.bfd_ms,
        beside_kernel: fleet.beside_kernel,
        resilient: fleet.resilient,
        engine: fleet.engine.map(|engine| engine.name().to_owned()),
        watch: fleet.seconds.unwrap_or(WATCH),
        seed: results.seed,
    };
    let environment = Environment::read(env!("CARGO_PKG_VERSION"), results.seed);
    let found = measure(&options, environment)?;
    results.written.deliver(&document(&found), &found)
}
