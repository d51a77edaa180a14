//! `corelane study`: how many packets this machine forwards on 1..N cores, by engine and table organisation.
//!
//! The way of a study: the options become a [`plan`], [`measure`] runs it on the [`engine`]s, its rows are the [`result`], and
//! everything shown is a function of that result: [`tables`], [`sentences`], [`plots`], put together by [`page`].

mod af_packet;
mod bench;
mod case;
mod engine;
mod kernel;
mod measure;
mod memory;
mod options;
mod page;
mod pictures;
mod plan;
mod plots;
mod result;
mod routes;
mod sentences;
mod tables;
#[cfg(test)]
mod testing;
mod xdp;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use crate::common::{Outcome, ResultOptions};

/// Why a study ends without a result.
type Error = Box<dyn std::error::Error + Send + Sync>;

/// How many packets this machine forwards on 1..N cores, by engine and table organisation
///
/// Prints three tables, and writes report.html and study.json (or the files named by --html and --json).
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Engines to measure, separated by commas [default: all that can run here]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    engine: Vec<String>,
    /// Use at most N cores [default: all that this process may use]
    #[arg(long, value_name = "N")]
    cores: Option<usize>,
    /// Routing table: a prefix a line, .gz too [default: one generated with the Internet's size and shape]
    #[arg(long, value_name = "FILE")]
    routes: Option<PathBuf>,
    /// Time to spend measuring [default: 95; with --quick: 15]
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Write each plot as an SVG file into DIRECTORY
    #[arg(long, value_name = "DIRECTORY")]
    plots: Option<PathBuf>,
    #[command(flatten)]
    output: ResultOptions,
}

/// Runs the study.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    const QUICK: (Duration, usize) = (Duration::from_secs(15), 3);
    const THOROUGH: (Duration, usize) = (Duration::from_secs(95), 5);
    host::cleanup::on_signal()?;
    host::namespace::sweep_leftovers();
    let choice = options::choose(arguments)?;
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
    print!("{}", report::terminal::render(&page::summary(&study)));

    let json = arguments
        .output
        .json
        .as_deref()
        .unwrap_or(Path::new("study.json"));
    let html = arguments
        .output
        .html
        .as_deref()
        .unwrap_or(Path::new("report.html"));
    report::json::write(json, &study)?;
    report::html::write(html, &page::page(&study))?;
    if let Some(directory) = &arguments.plots {
        for (number, plot) in plots::all(&study).iter().enumerate() {
            let name = format!("plot-{}.svg", number + 1);
            report::json::write_file(&directory.join(name), plot.to_svg_file().as_bytes())?;
        }
    }
    for path in [html, json] {
        eprintln!(
            "written: {}",
            std::path::absolute(path)
                .as_deref()
                .unwrap_or(path)
                .display()
        );
    }
    Ok(ExitCode::SUCCESS)
}
