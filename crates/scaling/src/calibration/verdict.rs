//! The calibration: every load swept like any command, and what was found held against the truth.

use std::error::Error;

use host::environment::Environment;
use report::{Block, Document, Progress, Table};
use serde::{Deserialize, Serialize};

use super::noise::{Noise, POWER, alarms_allowed};
use super::{Carrier, Load, Truth, Work, all, makefile, noise};
use crate::harness::plan::Mode;
use crate::measure::{Request, measure};
use crate::result::ScaleResult;
use crate::workloads::{MARK, installed};

/// The name of this format.
pub const SCHEMA: &str = "corelane-scale-calibration/1";
/// Rounds of each load, and when measuring less.
const ROUNDS: [usize; 2] = [21, 9];
/// A known serial fraction below this is no loss to be found in one part of the split.
const WORTH_DIVIDING: f64 = 0.05;
/// The part that has to carry the loss carries more than this share of it.
const CARRIED: f64 = 0.75;

/// A load with what was known and what was found.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// What it is called.
    pub load: String,
    /// What was known, in words.
    pub truth: String,
    /// What was found, in words.
    pub found: String,
    /// Whether they agree; nothing where it could not be measured here.
    pub right: Option<bool>,
    /// The sweep.
    pub result: Option<ScaleResult>,
}

/// What `corelane scale calibrate` found beside what is known.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Calibration {
    /// [`SCHEMA`].
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// The machine and the run.
    pub environment: Environment,
    /// In the order of [`all`].
    pub loads: Vec<Row>,
    /// What comparisons say of nothing, and of a slow-down that is there.
    pub noise: Noise,
}

impl Row {
    fn absent(load: &Load, why: &str) -> Self {
        Self {
            load: load.name.to_owned(),
            truth: "not measured here".to_owned(),
            found: why.to_owned(),
            right: None,
            result: None,
        }
    }
}

/// Sweeps every load. `program` is this one: with `scale calibrate --load NAME --threads N` it does
/// the work of a load in its own process.
///
/// # Errors
/// When a sweep fails or a file cannot be written, and when interrupted.
pub fn calibrate(
    program: &str,
    quick: bool,
    environment: Environment,
) -> Result<Calibration, Box<dyn Error + Send + Sync>> {
    let noise = noise::measure(program, quick, environment.seed)?;
    let mut progress = Progress::new(all().len());
    let mut loads = Vec::new();
    for load in all() {
        host::cleanup::check()?;
        progress.step(load.name);
        let tree = host::temporary::Directory::new("calibrate")?;
        let place = tree.path().display().to_string();
        let own = [program, "scale", "calibrate", "--load", load.name];
        let threads = [&own[..], &["--threads", "{cores}"]].concat();
        let (command, mode, mark) = match load.work {
            Work::Threads(_) => (threads, Mode::Threads, None),
            Work::Rated(_) => (threads, Mode::Threads, Some(MARK.to_owned())),
            Work::Makefile if !installed("make") => {
                let why = "make is not installed; apt-get install make";
                loads.push(Row::absent(load, why));
                continue;
            }
            Work::Makefile => {
                makefile::write(tree.path(), program)?;
                (vec!["make", "-s", "-C", &place], Mode::Make, None)
            }
        };
        let command = command.into_iter().map(str::to_owned).collect();
        let request = Request {
            mode: Some(mode),
            progress: mark,
            rounds: Some(ROUNDS[usize::from(quick)]),
            ..Request::pinned(command, quick, environment.seed)
        };
        let mut result = measure(&request, environment.clone())?;
        if disturbed(&result) {
            result = measure(&request, environment.clone())?;
        }
        result.command = vec![load.name.to_owned()];
        loads.push(judge(load, result));
    }
    Ok(Calibration {
        schema: SCHEMA.to_owned(),
        environment,
        loads,
        noise,
    })
}

/// Whether other programs had the cores in so many runs that the load is measured once more.
fn disturbed(result: &ScaleResult) -> bool {
    let runs = || result.series.iter().flat_map(|s| s.rounds.iter().flatten());
    4 * runs().filter(|run| run.disturbed).count() > runs().count()
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
    let mut row = hold(load, last.cores, e, last.speedup, share);
    if disturbed(&result) {
        row.found += "; other programs had the cores";
    }
    row.result = Some(result);
    row
}

/// Holds the serial fraction `e`, the speed-up and the shares of the loss against what is known of
/// `load` on `cores` cores.
fn hold(load: &Load, cores: u32, e: f64, speedup: f64, share: impl Fn(&str) -> f64) -> Row {
    // Where nothing is lost there is nothing to be found in any part.
    let (truth, right, lost) = match load.truth {
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
    let mut row = Row {
        load: load.name.to_owned(),
        truth,
        found: format!("e({cores}) = {e:.3}, speed-up {speedup:.2}"),
        right: Some(right),
        result: None,
    };
    let part = match load.carrier {
        Carrier::Idle if lost => "idle cores",
        Carrier::User if lost => "dearer user work",
        _ => return row,
    };
    let carried = share(part);
    row.truth += &format!(", by {part}");
    row.found += &format!(", {:.0} % of the loss there", carried * 100.0);
    row.right = Some(right && carried > CARRIED);
    row
}

fn noise_table(noise: &Noise) -> Table {
    let comparisons = noise.comparisons.max(1) as f64;
    let (share, allowed) = (
        noise.different as f64 / comparisons,
        alarms_allowed(noise.comparisons),
    );
    let rows = [
        (
            "a command against itself differs",
            format!("at most {:.0} %", allowed as f64 / comparisons * 100.0),
            format!(
                "{:.1} %: {} of {}",
                share * 100.0,
                noise.different,
                noise.comparisons
            ),
            noise.different <= allowed,
        ),
        (
            "3 % more work in two minutes is called slower",
            format!("at least {:.0} %", POWER * 100.0),
            format!(
                "{:.1} % of comparisons drawn from {} blocks",
                noise.found * 100.0,
                noise.blocks
            ),
            noise.found >= POWER,
        ),
    ];
    let mut table = Table::new("Comparisons").texts(["asked", "known", "found", "right"]);
    for (asked, known, found, right) in rows {
        let right = if right { "yes" } else { "no" };
        table.push([asked, &known, &found, right]);
    }
    table
}

impl Calibration {
    /// Whether no load was measured wrong, and comparisons neither cry wolf nor are blind.
    pub fn holds(&self) -> bool {
        self.noise.holds() && self.loads.iter().all(|row| row.right != Some(false))
    }

    /// Draws the result.
    pub fn document(&self) -> Document {
        let mut table = Table::new("Known and found").texts([
            "load",
            "what it does",
            "known",
            "found",
            "right",
        ]);
        for (row, load) in self.loads.iter().zip(all()) {
            let right = match row.right {
                Some(true) => "yes",
                Some(false) => "no",
                None => "–",
            };
            table.push([load.name, load.sentence, &row.truth, &row.found, right]);
        }
        let controls: Vec<String> = self
            .loads
            .iter()
            .filter_map(|row| {
                let control = row.result.as_ref()?.control?;
                Some(format!(
                    "{} {:.3} {:#.3}",
                    row.load, control.ratio, control.interval
                ))
            })
            .collect();
        let told = |told: bool| self.loads.iter().filter(move |row| row.right == Some(told));
        let right = told(true).count();
        Document::new("Calibration")
            .verdict(format!(
                "{right} of {} loads with known scaling were measured right.",
                right + told(false).count()
            ))
            .block(Block::Table(table))
            .block(Block::Table(noise_table(&self.noise)))
            .text(format!(
                "One core against one core, which must hold 1: {}.",
                controls.join("; ")
            ))
            .environment(self.environment.facts())
    }
}

#[cfg(test)]
#[path = "../../tests/unit/verdict.rs"]
mod tests;
