//! `corelane scale`: what more cores buy any program, how far, and what stops it.

mod ab;
mod calibrate;
mod forecasts;
mod forward;
mod stored;
mod suite;
mod workload;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use host::environment::Environment;
use scaling::harness::notes::Note;
use scaling::harness::plan::{Mode, Placement};
use scaling::measure::{Request, measure};
use scaling::result::ScaleResult;
use scaling::result::compare::Comparison;
use scaling::result::show::document;

use crate::common::{Json, Outcome, ResultOptions, Stored, Written};
use crate::values::time;

/// Measure what more cores buy a program, how far, and what stops it
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    sweep: SweepArguments,
    #[command(flatten)]
    results: ResultOptions,
    /// The command, after `--`; `{cores}` in it becomes the number of cores
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

const EXAMPLES: &str = "Examples:
  corelane scale -- zstd -T{cores} -19 -f file -o /dev/null
  corelane scale --prepare 'make clean' -- make
  corelane scale --mode copies --cause -- ./simulation
  corelane scale --beside './backup' -- ./query
  corelane scale ab -- ./before/sort file -- ./after/sort file
  corelane scale list
  corelane scale workload memory cache
  corelane scale calibrate
  corelane scale forecasts
  corelane scale compare here.json there.json
  corelane scale report here.json --html here.html";

#[derive(Debug, Subcommand)]
enum Action {
    /// Compare two commands: is the second slower than the first?
    Ab(ab::Arguments),
    /// List the workloads that are built in
    List {
        #[command(flatten)]
        json: Json,
    },
    /// Run built-in workloads by name, or all of them (`all`)
    Workload(suite::Arguments),
    /// Set results of several machines side by side
    Compare {
        /// Results written with `--json`
        #[arg(required = true, num_args = 2.., value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        written: Written,
    },
    /// Show the forecasts kept by `--forecast`, and how they came out
    Forecasts {
        #[command(flatten)]
        written: Written,
    },
    /// Show a result made earlier again: of a sweep, of `ab`, `workload`, `compare` or `calibrate`
    Report(Stored),
    /// Measure loads whose scaling is known: the instrument's own test
    Calibrate(calibrate::Arguments),
    /// Runs the loop of a workload in this process: what a sweep of a workload starts
    #[command(hide = true)]
    Work(workload::Arguments),
}

/// How to sweep.
#[derive(Debug, Clone, Args)]
struct SweepArguments {
    /// How the command uses cores: guessed from its name when left out
    #[arg(long)]
    mode: Option<Mode>,
    /// Most cores to try
    #[arg(long, value_name = "N")]
    cores: Option<u32>,
    /// Who chooses the cores
    #[arg(long, default_value = "both")]
    placement: PlacementName,
    /// Number of rounds; as many as half a minute allows when left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: Option<u16>,
    /// Press on one shared resource at a time to find what makes the work dearer
    #[arg(long)]
    cause: bool,
    /// Forecast from one core before the sweep, score it, and keep all forecasts for later
    /// measurements
    #[arg(long)]
    forecast: bool,
    /// Measure what this command and another one cost each other
    #[arg(long, value_name = "COMMAND")]
    beside: Option<String>,
    /// Run this before each timed run (by `sh -c`)
    #[arg(long, value_name = "COMMAND")]
    prepare: Option<String>,
    /// Text that the command prints before its own measure of work a second
    #[arg(long, value_name = "TEXT")]
    progress: Option<String>,
    /// End a run after this many seconds
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "600",
        value_parser = time(1.0, 1e6)
    )]
    timeout: Duration,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PlacementName {
    /// The first cores by topology
    Pinned,
    /// All cores, as the scheduler likes
    Free,
    /// Both, side by side
    Both,
}

impl PlacementName {
    fn placements(self) -> Vec<Placement> {
        match self {
            Self::Pinned => vec![Placement::Pinned],
            Self::Free => vec![Placement::Free],
            Self::Both => vec![Placement::Pinned, Placement::Free],
        }
    }
}

/// The command that has a shell run `text`.
fn shell(text: &str) -> Vec<String> {
    ["sh", "-c", text].map(str::to_owned).to_vec()
}

impl SweepArguments {
    fn request(&self, command: Vec<String>, results: &ResultOptions) -> Request {
        Request {
            mode: self.mode,
            cores: self.cores,
            placements: self.placement.placements(),
            rounds: self.rounds.map(usize::from),
            cause: self.cause,
            forecast: self.forecast,
            beside: self.beside.as_deref().map(shell),
            prepare: self.prepare.as_deref().map(shell),
            progress: self.progress.clone(),
            timeout: self.timeout,
            ..Request::pinned(command, results.quick, results.seed)
        }
    }
}

/// Runs the verb.
pub(crate) fn run(arguments: Arguments) -> Outcome {
    host::cleanup::on_signal()?;
    match arguments.action {
        Some(Action::List { json }) => {
            let list = suite::list()?;
            json.deliver(&list.table().to_text(), &list)?;
            Ok(ExitCode::SUCCESS)
        }
        Some(Action::Ab(arguments)) => ab::run(&arguments),
        Some(Action::Workload(arguments)) => suite::run(&arguments),
        Some(Action::Compare { files, written }) => compare_files(&files, &written),
        Some(Action::Forecasts { written }) => forecasts::show(&written),
        Some(Action::Report(of)) => stored::show(&of),
        Some(Action::Calibrate(arguments)) => calibrate::run(&arguments),
        Some(Action::Work(arguments)) => workload::run(&arguments),
        None if arguments.command.is_empty() => Err("no command; put it after `--`, as in \
                                                     `corelane scale -- make`, or see `corelane \
                                                     scale --help`"
            .into()),
        None => {
            let environment = Environment::read(env!("CARGO_PKG_VERSION"), arguments.results.seed);
            let request = arguments
                .sweep
                .request(arguments.command, &arguments.results);
            let mut result = measure(&request, environment)?;
            // What was measured is worth more than the record: a failure is a note.
            if let Err(error) = forecasts::update(&mut result, request.forecast) {
                let text = format!("The record of forecasts was not written: {error}.");
                result.notes.push(Note::Other { text });
            }
            arguments
                .results
                .written
                .deliver(&document(&result), &result)
        }
    }
}

fn compare_files(files: &[PathBuf], written: &Written) -> Outcome {
    let read = |file: &PathBuf| report::json::read(file, scaling::result::SCHEMA);
    let results: Vec<ScaleResult> = files.iter().map(read).collect::<Result<_, _>>()?;
    let found = Comparison::of(results);
    written.deliver(&found.document(), &found)
}
