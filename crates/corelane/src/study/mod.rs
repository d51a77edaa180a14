//! `corelane study`: how many packets this machine forwards on 1..N cores, by engine and table
//! organisation.
//!
//! The way of a study: the options become a [`plan`], [`measure`] runs it on the [`engine`]s, its
//! rows are the [`result`], and everything shown is a function of that result: [`tables`],
//! [`sentences`], [`plots`], put together by [`page`].

mod af_packet;
mod case;
mod changer;
mod engine;
mod engines;
mod error;
mod kernel;
mod measure;
mod memory;
mod no_loss;
mod options;
mod page;
mod pictures;
mod plan;
mod plots;
mod readme;
mod result;
mod route_changes;
mod routes;
mod sentences;
mod speed_up;
mod tables;
mod tally;
#[cfg(test)]
mod testing;
mod xdp;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use self::error::Error;
use self::options::Wishes;
use self::plan::Rounds;
use self::result::Study;
use crate::common::{Outcome, ResultOptions};

/// How many packets this machine forwards on 1..N cores, by engine and table organisation
///
/// Prints three tables, and writes report.html and study.json (or the files named by --html and
/// --json).
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
    /// Time to spend measuring; three quarters of it again go to rates without loss between
    /// interfaces [default: 52; with --quick: 15]
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Write each plot as an SVG file into DIRECTORY
    #[arg(long, value_name = "DIRECTORY")]
    plots: Option<PathBuf>,
    /// Write the tables as Markdown to FILE
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Measure nothing: show what FILE, a study.json, holds
    #[arg(long, value_name = "FILE", conflicts_with_all = ["engine", "cores", "routes", "seconds"])]
    from: Option<PathBuf>,
    #[command(flatten)]
    output: ResultOptions,
}

/// Measures, or reads what was measured, and shows it.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let study = match &arguments.from {
        Some(file) => read(file)?,
        None => take(arguments)?,
    };
    print!("{}", report::terminal::render(&page::summary(&study)));

    // What was read is not written again unless asked for.
    let json = arguments.output.json.as_deref();
    let json = json.or(arguments.from.is_none().then_some(Path::new("study.json")));
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
    for path in std::iter::once(html).chain(json) {
        let absolute = std::path::absolute(path);
        let path = absolute.as_deref().unwrap_or(path);
        eprintln!("written: {}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the study.
fn take(arguments: &Arguments) -> Result<Study, Error> {
    const QUICK: (Duration, Rounds) = (Duration::from_secs(15), Rounds { full: 3, all: 5 });
    const THOROUGH: (Duration, Rounds) = (Duration::from_secs(52), Rounds { full: 3, all: 11 });
    host::cleanup::on_signal()?;
    host::namespace::sweep_leftovers();
    let choice = options::choose(&Wishes {
        engines: &arguments.engine,
        cores: arguments.cores,
        routes: arguments.routes.clone(),
    })?;
    let (time, rounds) = if arguments.output.quick {
        QUICK
    } else {
        THOROUGH
    };
    let time = arguments.seconds.map_or(time, Duration::from_secs);

    let mut study = measure::study(&choice, rounds, time, arguments.output.seed)?;
    match pictures::take(&choice.cores, arguments.output.seed) {
        Ok(pictures) => study.traces = pictures,
        Err(reason) => study.left_out.push(reason),
    }
    Ok(study)
}

/// Reads a study that was measured before.
fn read(file: &Path) -> Result<Study, Error> {
    let name = file.display();
    let text = std::fs::read(file)
        .map_err(|error| format!("cannot read {name}: {error}; name a study.json"))?;
    let study: Study = serde_json::from_slice(&text)
        .map_err(|error| format!("{name} is no result of this version's study: {error}"))?;
    if study.schema != result::SCHEMA {
        return Err(format!(
            "{name} has the form \"{}\"; this version reads \"{}\"",
            study.schema,
            result::SCHEMA
        )
        .into());
    }
    Ok(study)
}
