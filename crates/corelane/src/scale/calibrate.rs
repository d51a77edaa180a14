//! The instrument's own test: loads with known answers, swept like any command.

use super::{deliver_document, request};
use crate::common::{Outcome, ResultOptions};
use clap::Args;
use host::environment::Environment;
use report::{Block, Document, Progress, Table};
use scaling::{
    calibration::{self, Carrier, Load, Truth},
    harness::plan::Mode,
    measure::measure,
    result::ScaleResult,
};
use serde::Serialize;
use std::process::ExitCode;

/// Exit code when the instrument missed a known answer.
const MISSED: u8 = 3;

/// What to calibrate with.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    results: ResultOptions,
    /// Run one load in this process
    #[arg(long, hide = true)]
    load: Option<String>,
    /// Threads of that load
    #[arg(long, hide = true, default_value_t = 1)]
    threads: usize,
}

#[derive(Serialize)]
struct Row {
    load: &'static str,
    truth: String,
    found: String,
    right: bool,
    result: ScaleResult,
}

#[derive(Serialize)]
struct Calibration {
    schema: &'static str,
    environment: Environment,
    loads: Vec<Row>,
}

/// Runs the verb.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if let Some(name) = &arguments.load {
        let load = calibration::find(name)
            .ok_or_else(|| format!("no calibration load is called {name:?}"))?;
        (load.run)(arguments.threads.max(1));
        return Ok(ExitCode::SUCCESS);
    }
    let environment = Environment::read(env!("CARGO_PKG_VERSION"), arguments.results.seed);
    let program = std::env::current_exe()?.display().to_string();
    let mut progress = Progress::new(calibration::all().len());
    let mut rows = Vec::new();
    for load in calibration::all() {
        host::cleanup::check()?;
        progress.step(load.name);
        let command = [
            &program,
            "scale",
            "calibrate",
            "--load",
            load.name,
            "--threads",
            "{cores}",
        ];
        let mut request = request(command.map(str::to_owned).to_vec(), &arguments.results);
        request.mode = Some(Mode::Threads);
        request.rounds = Some(if arguments.results.quick { 5 } else { 9 });
        let mut result = measure(&request, environment.clone())?;
        result.command = vec![load.name.to_owned()];
        rows.push(judge(load, result));
    }
    drop(progress);
    let right = rows.iter().filter(|row| row.right).count();
    let document = document(&rows, right, &environment);
    let all = right == rows.len();
    let calibration = Calibration {
        schema: "corelane-scale-calibration/1",
        environment,
        loads: rows,
    };
    deliver_document(&document, &calibration, &arguments.results)?;
    Ok(if all {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(MISSED)
    })
}

/// Holds what was found against the truth, at the largest core count.
fn judge(load: &Load, result: ScaleResult) -> Row {
    let Some(last) = result.points.last().filter(|p| p.cores > 1) else {
        let truth = "needs two cores".to_owned();
        return Row {
            load: load.name,
            truth,
            found: "one core".to_owned(),
            right: true,
            result,
        };
    };
    let e = last.karp_flatt.unwrap_or(0.0);
    let (mut truth, mut right) = match load.truth {
        Truth::Fraction { at, error } => {
            let at = at(last.cores);
            (
                format!("e({}) = {at:.3} within {error}", last.cores),
                (e - at).abs() <= error,
            )
        }
        Truth::Below(most) => (format!("speed-up below {most}"), last.speedup < most),
    };
    let share = |name: &str| {
        result
            .cause
            .iter()
            .find(|c| c.name == name)
            .map_or(0.0, |c| c.share)
    };
    let (carrier, carried) = match load.carrier {
        Carrier::Nothing => ("", 1.0),
        Carrier::Idle => (", by idle cores", share("idle cores")),
        Carrier::User => (", by dearer user work", share("dearer user work")),
    };
    truth += carrier;
    right &= carried > 0.75;
    let there = match load.carrier {
        Carrier::Nothing => String::new(),
        Carrier::Idle | Carrier::User => format!(", {:.0} % of the loss there", carried * 100.0),
    };
    let found = format!(
        "e({}) = {e:.3}, speed-up {:.2}{there}",
        last.cores, last.speedup
    );
    Row {
        load: load.name,
        truth,
        found,
        right,
        result,
    }
}

fn document(rows: &[Row], right: usize, environment: &Environment) -> Document {
    let mut table = Table::new("Known and found")
        .text("load")
        .text("what it does")
        .text("known")
        .text("found")
        .text("right");
    for (row, load) in rows.iter().zip(calibration::all()) {
        let right = if row.right { "yes" } else { "no" };
        table.push([load.name, load.sentence, &row.truth, &row.found, right]);
    }
    let controls: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            row.result.control.map(|c| {
                format!(
                    "{} {:.3} [{:.3}, {:.3}]",
                    row.load, c.ratio, c.interval.low, c.interval.high
                )
            })
        })
        .collect();
    Document::new("Calibration")
        .verdict(format!(
            "{right} of {} loads with known scaling were measured right.",
            rows.len()
        ))
        .block(Block::Table(table))
        .text(format!(
            "One core against one core, which must hold 1: {}.",
            controls.join("; ")
        ))
        .environment(environment.facts())
}
