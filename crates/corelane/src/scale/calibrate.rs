//! The instrument's own test: loads with known answers, swept like any command.

use std::process::ExitCode;

use clap::Args;
use host::environment::Environment;
use report::{Block, Document, Progress, Table};
use scaling::calibration::{self, Carrier, Load, Truth, Work, makefile};
use scaling::harness::plan::Mode;
use scaling::measure::{Request, measure};
use scaling::result::ScaleResult;
use scaling::workloads::installed;
use serde::Serialize;

use super::workload::MARK;
use super::{deliver_document, request};
use crate::common::{Outcome, ResultOptions};

/// Exit code when the instrument missed a known answer.
const MISSED: u8 = 3;
/// Rounds of each load, and when measuring less.
const ROUNDS: [usize; 2] = [21, 9];
/// A known serial fraction below this is no loss to be found in one part of the split.
const WORTH_DIVIDING: f64 = 0.05;

/// The part that has to carry the loss carries more than this share of it.
const CARRIED: f64 = 0.75;

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
    /// Nothing where it could not be measured here.
    right: Option<bool>,
    result: Option<ScaleResult>,
}

impl Row {
    fn absent(load: &Load, why: &str) -> Self {
        Self {
            load: load.name,
            truth: "not measured here".to_owned(),
            found: why.to_owned(),
            right: None,
            result: None,
        }
    }
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
        return work(name, arguments.threads.max(1));
    }
    let environment = Environment::read(env!("CARGO_PKG_VERSION"), arguments.results.seed);
    let program = std::env::current_exe()?.display().to_string();
    let mut progress = Progress::new(calibration::all().len());
    let mut rows = Vec::new();
    for load in calibration::all() {
        host::cleanup::check()?;
        progress.step(load.name);
        let tree = host::temporary::Directory::new("calibrate")?;
        let mut request = match load.work {
            Work::Threads(_) => threads(&program, load.name, &arguments.results),
            Work::Rated(_) => Request {
                progress: Some(MARK.to_owned()),
                ..threads(&program, load.name, &arguments.results)
            },
            Work::Makefile if !installed("make") => {
                rows.push(Row::absent(
                    load,
                    "make is not installed; apt-get install make",
                ));
                continue;
            }
            Work::Makefile => {
                makefile::write(tree.path(), &program)?;
                let place = tree.path().display().to_string();
                let command = ["make", "-s", "-C", &place].map(str::to_owned);
                request(command.to_vec(), &arguments.results)
            }
        };
        request.rounds = Some(ROUNDS[usize::from(arguments.results.quick)]);
        let mut result = measure(&request, environment.clone())?;
        if disturbed(&result) {
            result = measure(&request, environment.clone())?;
        }
        result.command = vec![load.name.to_owned()];
        rows.push(judge(load, result));
    }
    drop(progress);
    let right = rows.iter().filter(|row| row.right == Some(true)).count();
    let document = document(&rows, right, &environment);
    let all = rows.iter().all(|row| row.right != Some(false));
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

/// Does the work of a load, or of a piece of the Makefile, in this process.
fn work(name: &str, threads: usize) -> Outcome {
    if let Some(piece) = makefile::Piece::find(name) {
        piece.run();
        return Ok(ExitCode::SUCCESS);
    }
    match calibration::find(name).map(|load| load.work) {
        Some(Work::Threads(run)) => run(threads),
        Some(Work::Rated(run)) => println!("{MARK} {}", run(threads)),
        Some(Work::Makefile) | None => {
            return Err(format!("no calibration load is called {name:?}").into());
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether other programs had the cores in so many runs that the load is measured once more.
fn disturbed(result: &ScaleResult) -> bool {
    let runs = || result.series.iter().flat_map(|s| s.rounds.iter().flatten());
    4 * runs().filter(|run| run.disturbed).count() > runs().count()
}

/// The sweep of a load that this program does with threads.
fn threads(program: &str, name: &str, results: &ResultOptions) -> Request {
    let command = [
        program,
        "scale",
        "calibrate",
        "--load",
        name,
        "--threads",
        "{cores}",
    ];
    let mut request = request(command.map(str::to_owned).to_vec(), results);
    request.mode = Some(Mode::Threads);
    request
}

/// Holds what was found against the truth, at the largest core count.
fn judge(load: &Load, result: ScaleResult) -> Row {
    let Some(last) = result.points.last().filter(|p| p.cores > 1) else {
        return Row::absent(load, "needs two cores");
    };
    let share = |name: &str| {
        let part = result.cause.iter().find(|c| c.name == name);
        part.map_or(0.0, |c| c.share)
    };
    let e = last.karp_flatt.unwrap_or(0.0);
    let held = hold(load, last.cores, e, last.speedup, share);
    let others = if disturbed(&result) {
        "; other programs had the cores"
    } else {
        ""
    };
    Row {
        load: load.name,
        truth: held.truth,
        found: held.found + others,
        right: Some(held.right),
        result: Some(result),
    }
}

/// What was known and what was found, in words, and whether they agree.
struct Held {
    truth: String,
    found: String,
    right: bool,
}

/// Holds the serial fraction `e`, the speed-up and the shares of the loss against what is known of
/// `load` on `cores` cores.
fn hold(load: &Load, cores: u32, e: f64, speedup: f64, share: impl Fn(&str) -> f64) -> Held {
    // Where nothing is lost there is nothing to be found in any part.
    let (mut truth, mut right, lost) = match load.truth {
        Truth::Fraction { at, error } => {
            let at = at(cores);
            (
                format!("e({cores}) = {at:.3} within {error}"),
                (e - at).abs() <= error,
                at > WORTH_DIVIDING,
            )
        }
        Truth::Below(most) => (format!("speed-up below {most}"), speedup < most, true),
    };
    let (carrier, carried) = match load.carrier {
        Carrier::Idle if lost => (", by idle cores", Some(share("idle cores"))),
        Carrier::User if lost => (", by dearer user work", Some(share("dearer user work"))),
        _ => ("", None),
    };
    truth += carrier;
    right &= carried.is_none_or(|carried| carried > CARRIED);
    let there = carried.map_or_else(String::new, |carried| {
        format!(", {:.0} % of the loss there", carried * 100.0)
    });
    Held {
        truth,
        found: format!("e({cores}) = {e:.3}, speed-up {speedup:.2}{there}"),
        right,
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
        let right = match row.right {
            Some(true) => "yes",
            Some(false) => "no",
            None => "–",
        };
        table.push([load.name, load.sentence, &row.truth, &row.found, right]);
    }
    let controls: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            row.result.as_ref()?.control.map(|c| {
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
            rows.iter().filter(|row| row.right.is_some()).count()
        ))
        .block(Block::Table(table))
        .text(format!(
            "One core against one core, which must hold 1: {}.",
            controls.join("; ")
        ))
        .environment(environment.facts())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn right(load: &str, e: f64, speedup: f64, carrier: &str, share: f64) -> bool {
        let load = calibration::find(load).unwrap();
        let shares = |name: &str| if name == carrier { share } else { 0.0 };
        hold(load, 2, e, speedup, shares).right
    }

    #[test]
    fn a_fraction_outside_the_stated_error_is_wrong() {
        assert!(right("spin", 0.02, 1.96, "", 0.0));
        assert!(!right("spin", 0.05, 1.90, "", 0.0));
        assert!(
            !right("spin", -0.05, 2.10, "", 0.0),
            "too good is wrong too"
        );
        assert!(right("serial-share", 0.21, 1.65, "idle cores", 0.98));
        assert!(!right("serial-share", 0.27, 1.57, "idle cores", 0.98));
    }

    #[test]
    fn a_loss_found_in_the_wrong_part_is_wrong() {
        assert!(!right("serial-share", 0.2, 1.67, "dearer user work", 1.0));
        assert!(!right("serial-share", 0.2, 1.67, "idle cores", 0.6));
        assert!(right("shared-counter", 2.0, 0.4, "dearer user work", 0.99));
        assert!(
            !right("shared-counter", 0.1, 1.9, "dearer user work", 0.99),
            "it cannot scale"
        );
    }
}
