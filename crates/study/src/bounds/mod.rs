//! What forwarding must hold: ratios and figures of one run beside their bounds.
//!
//! Everything is measured once in each of interleaved rounds, on the devices that the study
//! measures; a ratio is taken within a round and shown with the interval of its median. What others
//! disturbed is measured again at the end of its round, and calm rounds count where there are enough. Engines in
//! the kernel share each core with generator and sink. `af-xdp` and its peer `testpmd` have the
//! last core to themselves, on cables of one queue, and the generator sends from the first core
//! more than they can take. Transfers between hosts follow when these are gone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dut::device::{Device, Setting};
use dut::error::Error;
use dut::{memory, routes, testpmd};
use fib::TableOrganisation;
use figures::{Estimate, Interval, Rounds, judge};
use host::Environment;
use report::{Document, Progress, Table};
use serde::Serialize;

use crate::choice::Choice;
use crate::claims::{Claim, Limit, Place, SHARED, Subject, Target, claims};
use crate::evidence::{self, Measured};
use crate::transfers::plan::{self, Extent, Pace};
use crate::transfers::{self, Transfers};

mod rounds;

use rounds::{Effort, QUICK_ROUNDS, in_rounds, serving};

/// Name and version of the JSON form.
const SCHEMA: &str = "corelane-study-bounds/3";
/// How often transfers are made.
const TRANSFERS: usize = 11;
/// Length of a transfer, its warm-up included.
const TRANSFER: Duration = Duration::from_millis(250);
/// How long a device may take until its first frame arrives.
const PATIENCE: Duration = Duration::from_secs(20);
/// A trial that asks whether it has.
const LOOK: Duration = Duration::from_millis(20);

/// What `corelane study --bounds` held against bounds.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(
    clippy::struct_field_names,
    reason = "the fields are keys of the JSON form"
)]
pub struct Bounds {
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    schema: &'static str,
    environment: Environment,
    /// What the ratios are made of.
    rates: Vec<Rates>,
    bounds: Vec<Bound>,
    /// What programs get through each engine; `None` without one that needs a network.
    transfers: Option<Transfers>,
    /// What was not measured, and why.
    left_out: Vec<String>,
}

/// The rounds of one subject, frames/s.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Rates {
    what: String,
    frames_per_second: Vec<f64>,
    /// Whether others disturbed each.
    disturbed: Vec<bool>,
}

impl Rates {
    fn of(subject: &Subject, measured: &Rounds<Measured>, index: usize) -> Self {
        let Subject {
            place,
            workers,
            changes,
        } = subject;
        Self {
            what: format!(
                "{}, workers: {workers}, route changes/s: {changes}",
                place.name()
            ),
            frames_per_second: measured.values(index, |one| one.frames_per_second),
            disturbed: measured.of(index).map(|one| one.disturbed).collect(),
        }
    }
}

/// A figure beside its bounds.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Bound {
    #[serde(flatten)]
    target: Target,
    median: f64,
    interval: Option<Interval>,
    /// The rounds of a ratio; `None` of what is measured otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    rounds: Option<RoundsOf>,
}

/// How many rounds a ratio was measured in, and in how many of them nobody disturbed it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct RoundsOf {
    all: usize,
    calm: usize,
}

impl From<(Target, Estimate)> for Bound {
    fn from((target, estimate): (Target, Estimate)) -> Self {
        Self {
            target,
            median: estimate.value,
            interval: Some(estimate.interval),
            rounds: None,
        }
    }
}

impl Bound {
    /// `goal`, `must` or `missed`: the best that it reaches. A goal alone cannot be missed.
    fn word(&self) -> &'static str {
        let (median, interval) = (self.median, self.interval.as_ref());
        let holds = |limit: Option<Limit>| limit.is_some_and(|it| it.holds(median, interval));
        let Target { must, goal, .. } = self.target;
        match (must, goal) {
            (_, Some(_)) if holds(goal) => "goal",
            (Some(_), _) if holds(must) => "must",
            (Some(_), _) => "missed",
            (None, _) => "",
        }
    }
}

/// Measures everything that `choice` allows; trials share `time` where it is given.
///
/// # Errors
/// When a device cannot be opened or measured, or the user interrupts.
pub fn measure(
    choice: &Choice,
    quick: bool,
    time: Option<Duration>,
    seed: u64,
) -> Result<Bounds, Error> {
    let mut left_out = choice.left_out.clone();
    let mut claims = claims(choice.cores.len());
    claims.retain(|claim| {
        [claim.ours, claim.other].iter().all(|subject| {
            let wanted = subject.place.kind().engine();
            choice.engines.iter().any(|kind| kind.engine() == wanted)
        })
    });
    if choice.cores.len() < 2 {
        left_out.push("Not measured on one core: what a second one gains, testpmd.".to_owned());
    }
    if !testpmd::is_here() {
        let before = claims.len();
        claims.retain(|claim| !matches!(claim.other.place, Place::Testpmd(_)));
        if claims.len() < before {
            left_out.push("Not measured: testpmd, of Debian's package dpdk.".to_owned());
        }
    }
    let mut subjects: Vec<Subject> = Vec::new();
    for subject in claims.iter().flat_map(Claim::subjects) {
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    let routes = Arc::new(routes::load(choice.routes.as_deref(), usize::MAX, seed)?);
    let setting = Setting::new(&choice.cores, &routes, seed);
    let mut progress = Progress::new(0);
    let mut devices: Vec<(Place, Box<dyn Device>)> = Vec::new();
    for subject in &subjects {
        if serving(&mut devices, subject.place).is_none() {
            host::cleanup::check()?;
            progress.step(&format!("preparing {}", subject.place.name()));
            let mut device = subject.place.open(choice, &setting)?;
            await_frames(&mut *device, *subject)?;
            devices.push((subject.place, device));
        }
    }
    let effort = Effort::within(subjects.len(), quick, time);
    let measured = in_rounds(&subjects, &mut devices, &choice.cores, effort, seed)?;
    // Their threads would take the cores from what follows.
    drop(devices);
    let index = |subject| subjects.iter().position(|other| *other == subject);
    let mut bounds: Vec<Bound> = claims
        .into_iter()
        .filter_map(|claim| {
            let ratio = |over, under| {
                Some(evidence::ratios(
                    &measured,
                    &[index(over)?],
                    &[index(under)?],
                ))
            };
            let ratios = match claim.without {
                None => ratio(claim.ours, claim.other)?,
                Some(bed) => beyond(&ratio(bed, claim.other)?, &ratio(bed, claim.ours)?),
            };
            let calm = ratios.iter().filter(|&&(_, disturbed)| !disturbed).count();
            let mut counted = judge(&ratios, effort.rounds, seed).values;
            if claim.lost {
                counted = counted.iter().map(|kept| 1.0 - kept).collect();
            }
            Some(Bound {
                rounds: Some(RoundsOf {
                    all: ratios.len(),
                    calm,
                }),
                ..Bound::from((claim.target, Estimate::of(&counted, seed)))
            })
        })
        .collect();
    if choice
        .engines
        .iter()
        .any(|kind| kind.engine() == SHARED.engine())
    {
        bounds.extend(tables(&setting)?);
    }
    let transfers = transfer(choice, quick, time, seed)?;
    if let Some(transfers) = &transfers {
        left_out.extend(transfers.left_out.iter().cloned());
        bounds.extend(transfers.targets().into_iter().map(Bound::from));
    }
    let rates = subjects.iter().enumerate();
    let rates = rates.map(|(index, subject)| Rates::of(subject, &measured, index));
    Ok(Bounds {
        schema: SCHEMA,
        environment: Environment::read(env!("CARGO_PKG_VERSION"), seed),
        rates: rates.collect(),
        bounds,
        transfers,
        left_out,
    })
}

/// How much longer `other` takes for a frame than `ours`, beyond what the bed takes for it, round by round:
/// from the ratios of the bed's rate to theirs, and whether others disturbed one.
fn beyond(other: &[(f64, bool)], ours: &[(f64, bool)]) -> Vec<(f64, bool)> {
    let both = other.iter().zip(ours);
    both.map(|(other, ours)| ((other.0 - 1.0) / (ours.0 - 1.0), other.1 || ours.1))
        .collect()
}

/// Transfers through the engines of `choice`, for `time` where it is given.
fn transfer(
    choice: &Choice,
    quick: bool,
    time: Option<Duration>,
    seed: u64,
) -> Result<Option<Transfers>, Error> {
    let (extent, rounds) = if quick {
        (Extent::Some, QUICK_ROUNDS)
    } else {
        (Extent::All, TRANSFERS)
    };
    let cases = plan::cases(extent);
    let devices = choice.engines.len();
    let time = time.unwrap_or(TRANSFER * (cases.len() * devices * rounds) as u32);
    let pace = Pace::within(time, (rounds, rounds), &cases, devices);
    transfers::measure::measure(&choice.engines, &cases, &choice.cores, pace, seed)
}

/// Waits until a device that has just been opened forwards.
fn await_frames(device: &mut dyn Device, subject: Subject) -> Result<(), Error> {
    let begun = Instant::now();
    while device.measure(&subject.case(), LOOK)?.frames_per_second <= 0.0 {
        if begun.elapsed() > PATIENCE {
            return Err(format!("{} forwards nothing", subject.place.name()).into());
        }
    }
    Ok(())
}

/// Size and building time of the shared tables.
fn tables(setting: &Setting) -> Result<[Bound; 2], Error> {
    let begun = Instant::now();
    let engine = memory::engine(Some(TableOrganisation::Shared), setting)?;
    let seconds = begun.elapsed().as_secs_f64();
    let mebibytes = engine.memory().used() as f64 / f64::from(1 << 20);
    let most = |what: &str, median, must, goal| Bound {
        target: Target {
            what: what.to_owned(),
            must: Some(Limit::AtMost(must)),
            goal: Some(Limit::AtMost(goal)),
        },
        median,
        interval: None,
        rounds: None,
    };
    Ok([
        most("building both tables, shared, s", seconds, 1.5, 0.3),
        most("both tables, MiB", mebibytes, 6.0, 4.5),
    ])
}

impl Bounds {
    /// Whether every figure holds what it must.
    pub fn all_hold(&self) -> bool {
        all_hold(&self.bounds)
    }

    /// Each figure beside its bounds.
    pub fn document(&self) -> Document {
        let mut table = Table::new("Ratios within a round, and figures")
            .texts(["what"])
            .numbers(["must", "goal", "median", "interval", "calm rounds"])
            .texts([""]);
        for bound in &self.bounds {
            let limit = |limit: Option<Limit>| limit.map_or(String::new(), Limit::in_words);
            let interval = bound.interval.as_ref();
            table.push([
                bound.target.what.clone(),
                limit(bound.target.must),
                limit(bound.target.goal),
                format!("{:.3}", bound.median),
                interval.map_or(String::new(), |of| {
                    format!("{:.3} to {:.3}", of.low, of.high)
                }),
                bound.rounds.as_ref().map_or(String::new(), |rounds| {
                    format!("{} of {}", rounds.calm, rounds.all)
                }),
                bound.word().to_owned(),
            ]);
        }
        let mut rates = Table::new("Frames a second")
            .text("what")
            .number("M/s, median");
        for Rates {
            what,
            frames_per_second,
            disturbed,
        } in &self.rates
        {
            let rounds = frames_per_second.iter().copied();
            let rounds: Vec<(f64, bool)> = rounds.zip(disturbed.iter().copied()).collect();
            let counted = judge(&rounds, rounds.len(), 0).values;
            let median = figures::median(&counted) / 1e6;
            rates.push([what.clone(), format!("{median:.3}")]);
        }
        let mut document =
            Document::new("What forwarding must hold").verdict(verdict(&self.bounds));
        for sentence in &self.left_out {
            document = document.verdict(sentence.clone());
        }
        document.blocks.push(report::Block::Table(table));
        document.blocks.push(report::Block::Table(rates));
        document.environment(self.environment.facts())
    }
}

fn all_hold(bounds: &[Bound]) -> bool {
    bounds.iter().all(|bound| bound.word() != "missed")
}

fn verdict(bounds: &[Bound]) -> &'static str {
    if !all_hold(bounds) {
        "Missed: a figure does not hold what it must."
    } else if bounds.iter().any(|bound| bound.target.must.is_some()) {
        "Every figure holds what it must."
    } else {
        "No figure was measured that must hold anything."
    }
}

#[cfg(test)]
#[path = "../../tests/unit/bounds.rs"]
mod tests;
