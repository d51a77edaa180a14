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

use crate::common::{self, Json, Outcome, ResultOptions, Stored, Written};
use crate::values::time;

/// Measure how many packets this machine forwards on 1..N cores, by engine and table organisation
///
/// Prints the answer, and writes report.html and study.json (or the files named by --html and
/// --json). What it measured is also one more line of study-results.jsonl beside study.json.
#[derive(Clone, Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
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
    /// half of it to transfers between hosts [default: 56; with --quick: 10]
    #[arg(long, value_name = "SECONDS", value_parser = time(0.0, 86400.0))]
    seconds: Option<Duration>,
    /// Interleaved rounds, of all frame sizes alike [default: 11, of them 2 with all sizes;
    /// --quick: 5, 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: Option<u16>,
    #[command(flatten)]
    shown: Shown,
    /// The older spelling of `corelane study report FILE`
    #[arg(
        long,
        value_name = "FILE",
        hide = true,
        conflicts_with_all = ["engine", "cores", "routes", "seconds"]
    )]
    from: Option<PathBuf>,
    /// Hold what the forwarding must reach against what it does: each figure beside its bound, exit
    /// code 3 when one is missed
    #[arg(long, conflicts_with_all = ["from", "plots", "markdown", "results"])]
    bounds: bool,
    #[command(flatten)]
    output: ResultOptions,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum Verb {
    /// Show a study made earlier again, and write report.html (or the file named by --html)
    Report(Report),
}

#[derive(Clone, Debug, clap::Args)]
struct Report {
    #[command(flatten)]
    of: Stored,
    #[command(flatten)]
    shown: Shown,
}

/// How a study is shown, whether it was measured now or earlier.
#[derive(Clone, Debug, clap::Args)]
struct Shown {
    /// Write each plot as an SVG file into DIRECTORY
    #[arg(long, value_name = "DIRECTORY")]
    plots: Option<PathBuf>,
    /// Write the tables as Markdown to FILE
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Add a line with this machine's environment and figures to FILE [default, where it is
    /// measured: study-results.jsonl beside study.json]
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// Print all tables, not only the answer
    #[arg(long)]
    full: bool,
}

/// Where lines are added that nobody has named a file for.
const RESULTS: &str = "study-results.jsonl";

/// Measures, or reads what was measured, and shows it.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if arguments.bounds {
        return hold(arguments);
    }
    if let Some(Verb::Report(report)) = &arguments.verb {
        let study = Study::read(&report.of.stored)?;
        let Written { json, html } = &report.of.written;
        return show(&study, &report.shown, json, html.as_deref(), json.file());
    }
    let Written { json, html } = &arguments.output.written;
    let (shown, html) = (&arguments.shown, html.as_deref());
    if let Some(file) = &arguments.from {
        eprintln!("`study --from FILE` is now `study report FILE`");
        return show(&Study::read(file)?, shown, json, html, json.file());
    }
    // What was read is not written again unless asked for; what was measured is.
    let file = json.file().unwrap_or(Path::new("study.json"));
    let beside = (file != Path::new("-")).then(|| file.with_file_name(RESULTS));
    let results = shown.results.clone().or(beside);
    let shown = &Shown {
        results,
        ..shown.clone()
    };
    show(&take(arguments)?, shown, json, html, Some(file))
}

/// Prints the answer, or all, and writes what was asked for.
fn show(
    study: &Study,
    shown: &Shown,
    json: &Json,
    html: Option<&Path>,
    file: Option<&Path>,
) -> Outcome {
    let printed = if shown.full {
        page::summary(study)
    } else {
        answer(study)
    };
    if !json.is_alone() {
        common::print(&report::terminal::render(&printed))?;
    }
    if let Some(file) = file {
        report::json::write(file, study)?;
    }
    let html = html.unwrap_or(Path::new("report.html"));
    report::html::write(html, &page::page(study))?;
    write_parts(study, shown)?;
    for path in std::iter::once(html)
        .chain(file.filter(|_| !json.is_alone()))
        .chain(shown.results.as_deref())
    {
        let absolute = std::path::absolute(path);
        let path = absolute.as_deref().unwrap_or(path);
        report::hint(&format!("written: {}", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the plots, the tables and the line that were asked for.
fn write_parts(
    study: &Study,
    shown: &Shown,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    if let Some(directory) = &shown.plots {
        std::fs::create_dir_all(directory).map_err(|error| {
            format!(
                "cannot make the directory {} for the plots: {error}; name one that may be written",
                directory.display()
            )
        })?;
        for (number, plot) in plots::all(study).iter().enumerate() {
            let name = format!("plot-{}.svg", number + 1);
            report::json::write_file(&directory.join(name), plot.to_svg_file().as_bytes())?;
        }
    }
    if let Some(markdown) = &shown.markdown {
        report::json::write_file(markdown, readme::fragment(study).as_bytes())?;
    }
    if let Some(results) = &shown.results {
        line::append(results, study)?;
    }
    Ok(())
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
    let bounds = bounds::measure(
        &choose(arguments)?,
        options.quick,
        arguments.seconds,
        options.seed,
    )?;
    let document = bounds.document();
    options.written.deliver(&document, &bounds)?;
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
        (effort.time, effort.whole) = (seconds, Duration::MAX);
    }
    if let Some(rounds) = arguments.rounds {
        (effort.full, effort.all) = (rounds.into(), rounds.into());
    }
    measure::study(&choice, effort, arguments.output.seed)
}
