//! `corelane study`: how many packets this machine forwards on 1..N cores, by engine and table
//! organisation.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use dut::error::Error;
use study::answer::answer;
use study::bounds;
use study::choice::{self, Choice, Wishes};
use study::line;
use study::measure;
use study::page;
use study::plan::Effort;
use study::plots;
use study::readme;
use study::result::Study;

use crate::common::{self, Outcome, ResultOptions};

/// How many packets this machine forwards on 1..N cores, by engine and table organisation
///
/// Prints the answer, and writes report.html and study.json (or the files named by --html and
/// --json). What it measured is also one more line of study-results.jsonl beside study.json.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Engines to measure, separated by commas [default: all that can run here]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    engine: Vec<String>,
    /// Use at most N cores [default: all that this process may use]
    #[arg(long, value_name = "N")]
    cores: Option<usize>,
    /// Routing table: a prefix a line, .gz too [default: one generated with the Internet's size
    /// and shape]
    #[arg(long, value_name = "FILE")]
    routes: Option<PathBuf>,
    /// Time to spend measuring; 0.6 of it again go to rates without loss between interfaces, and
    /// half of it to transfers between hosts [default: 66; with --quick: 15]
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Interleaved rounds, of all frame sizes alike [default: 9, of them 3 with all sizes; --quick:
    /// 5, 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: Option<u16>,
    /// Write each plot as an SVG file into DIRECTORY
    #[arg(long, value_name = "DIRECTORY")]
    plots: Option<PathBuf>,
    /// Write the tables as Markdown to FILE
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Add a line with this machine's environment and figures to FILE [default, unless --from:
    /// study-results.jsonl beside study.json]
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// Measure nothing: show what FILE, a study.json, holds
    #[arg(long, value_name = "FILE", conflicts_with_all = ["engine", "cores", "routes", "seconds"])]
    from: Option<PathBuf>,
    /// Print all tables, not only the answer
    #[arg(long)]
    full: bool,
    /// Hold what the forwarding must reach against what it does: each figure beside its bound, exit
    /// code 3 when one is missed
    #[arg(long, conflicts_with_all = ["from", "plots", "markdown", "results"])]
    bounds: bool,
    #[command(flatten)]
    output: ResultOptions,
}

/// Where lines are added that nobody has named a file for.
const RESULTS: &str = "study-results.jsonl";

/// Measures, or reads what was measured, and shows it.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if arguments.bounds {
        return hold(arguments);
    }
    let study = match &arguments.from {
        Some(file) => Study::read(file)?,
        None => take(arguments)?,
    };
    let shown = if arguments.full {
        page::summary(&study)
    } else {
        answer(&study)
    };
    if !arguments.output.json.is_alone() {
        common::print(&report::terminal::render(&shown))?;
    }

    // What was read is not written again unless asked for.
    let json = arguments.output.json.file();
    let measured = arguments.from.is_none();
    let json = json.or(measured.then_some(Path::new("study.json")));
    let beside = json
        .filter(|json| measured && *json != Path::new("-"))
        .map(|json| json.with_file_name(RESULTS));
    let results = arguments.results.clone().or(beside);
    let html = arguments.output.html.as_deref();
    let html = html.unwrap_or(Path::new("report.html"));
    if let Some(json) = json {
        report::json::write(json, &study)?;
    }
    report::html::write(html, &page::page(&study))?;
    if let Some(directory) = &arguments.plots {
        std::fs::create_dir_all(directory).map_err(|error| {
            format!(
                "cannot make the directory {} for the plots: {error}; name one that may be written",
                directory.display()
            )
        })?;
        for (number, plot) in plots::all(&study).iter().enumerate() {
            let name = format!("plot-{}.svg", number + 1);
            report::json::write_file(&directory.join(name), plot.to_svg_file().as_bytes())?;
        }
    }
    if let Some(markdown) = &arguments.markdown {
        report::json::write_file(markdown, readme::fragment(&study).as_bytes())?;
    }
    if let Some(results) = &results {
        line::append(results, &study)?;
    }
    for path in std::iter::once(html)
        .chain(json.filter(|_| !arguments.output.json.is_alone()))
        .chain(results.as_deref())
    {
        let absolute = std::path::absolute(path);
        let path = absolute.as_deref().unwrap_or(path);
        eprintln!("written: {}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// What to measure with, by the options and by this machine.
fn choose(arguments: &Arguments) -> Result<Choice, Error> {
    host::cleanup::on_signal()?;
    host::namespace::sweep_leftovers();
    choice::choose(&Wishes {
        engines: &arguments.engine,
        cores: arguments.cores,
        routes: arguments.routes.clone(),
    })
}

/// Holds the bounds against what is measured.
fn hold(arguments: &Arguments) -> Outcome {
    let options = &arguments.output;
    let time = arguments.seconds.map(Duration::from_secs);
    let bounds = bounds::measure(&choose(arguments)?, options.quick, time, options.seed)?;
    let document = bounds.document();
    options.deliver(&document, &bounds)?;
    Ok(common::answer(bounds.all_hold()))
}

/// Runs the study.
fn take(arguments: &Arguments) -> Result<Study, Error> {
    let choice = choose(arguments)?;
    let mut effort = if arguments.output.quick {
        Effort::QUICK
    } else {
        Effort::THOROUGH
    };
    if let Some(seconds) = arguments.seconds {
        effort.time = Duration::from_secs(seconds);
    }
    if let Some(rounds) = arguments.rounds {
        (effort.full, effort.all) = (rounds.into(), rounds.into());
    }
    measure::study(&choice, effort, arguments.output.seed)
}
