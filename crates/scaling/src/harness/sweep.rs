//! The sweep: every setting once a round, in an order of its own each round, so that heat, clock
//! and neighbours fall on all settings alike; what is compared is compared within a round.

use std::time::Instant;

use figures::Rounds;
use host::cores::CoreId;
use host::observe::Times;
use report::Progress;

use super::baseline::{Baseline, mean};
use super::disturbance::{LEAST, OBSERVABLE, Seen, Window};
use super::keeper::Outcome;
use super::notes::Note;
use super::oddities::oddities;
use super::pace::{Pace, REPEATS};
use super::plan::{Job, Placement, Setting, rate_printed};
pub use super::runs::SweepError;
use super::runs::{Runs, last_lines};
use super::series::{Run, Series};

/// How much a sweep measures.
#[derive(Debug, Clone)]
pub struct Options {
    /// Core counts, rising, the first of them 1.
    pub counts: Vec<u32>,
    /// Who chooses the cores; both for a comparison.
    pub placements: Vec<Placement>,
    /// How many rounds.
    pub pace: Pace,
}

/// A finished sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// One series a placement, in the order asked for.
    pub series: Vec<Series>,
    /// The control: in each round a second run on one core, the next one where the cores are
    /// pinned; its rate over that of the first.
    pub control: Vec<f64>,
    /// What was odd.
    pub notes: Vec<Note>,
    /// The trial on one core, with events counted where the kernel lets us.
    pub trial_one: Outcome,
    /// The trial on the largest count, free to move: its migrations are the scheduler's.
    pub trial_many: Outcome,
    /// Seconds that the whole sweep took.
    pub seconds: f64,
}

/// One setting, ready to run.
pub(super) struct Station<'a> {
    runs: Runs<'a>,
    cores: &'a [CoreId],
}

/// A run with its number.
#[derive(Clone)]
struct Timed {
    run: Run,
    number: usize,
}

/// Sweeps `job`.
///
/// # Errors
/// When the command fails, hangs, or cannot be started, and when interrupted.
pub fn sweep(job: &Job, options: &Options) -> Result<Sweep, SweepError> {
    let start = Instant::now();
    let most = options.counts.last().copied().unwrap_or(1);
    let trial_one = trial(job, Placement::Pinned.on(1))?;
    let trial_many = trial(job, Placement::Free.on(most))?;
    let mut settings = Vec::new();
    for placement in &options.placements {
        settings.extend(options.counts.iter().map(|&cores| placement.on(cores)));
    }
    let control = settings.len();
    settings.extend(options.placements.first().map(|placement| placement.on(1)));
    let mut stations = settings
        .into_iter()
        .map(|setting| Station::start(job, setting))
        .collect::<Result<Vec<_>, _>>()?;
    let slower = trial_one.wall.max(trial_many.wall);
    let rounds = options.pace.rounds(stations.len(), slower, start.elapsed());

    let pinned = options.placements.first() == Some(&Placement::Pinned);
    let cores = job.cores(Placement::Pinned.on(most));
    let mut baseline = pinned
        .then(|| Baseline::start(job, cores, 2 * rounds))
        .transpose()?;

    let most_repeated = (rounds * stations.len()).div_ceil(REPEATS);
    let mut table = Rounds::new(stations.len(), job.seed);
    let (mut repeated, mut numbers) = (0, 0..);
    let mut window = Window::default();
    let mut progress = Progress::new(rounds);
    while table.count() < rounds {
        progress.step("a round of all settings");
        table.run(1, |place| {
            let alone = baseline.as_mut().filter(|_| place == 0 || place == control);
            let station = match alone.and_then(Baseline::next) {
                Some(station) => station,
                None => &mut stations[place],
            };
            let (mut run, mut seen) = timed(job, station)?;
            if run.disturbed && repeated < most_repeated {
                repeated += 1;
                (run, seen) = timed(job, station)?;
            }
            let number = numbers.next().unwrap_or(usize::MAX);
            if run.wall < OBSERVABLE.as_secs_f64() && run.wall >= LEAST.as_secs_f64() {
                window.add(number, &seen);
            }
            Ok::<_, SweepError>(Timed { run, number })
        })?;
        if !options.pace.goes_on(table.count(), start.elapsed()) {
            break;
        }
    }
    drop(baseline);
    drop(stations);

    let disturbed = window.disturbed();
    let rows: Vec<Vec<Run>> = table
        .rows()
        .map(|row| {
            let run = |timed: Timed| Run {
                disturbed: timed.run.disturbed || disturbed.contains(&timed.number),
                ..timed.run
            };
            row.into_iter().map(run).collect()
        })
        .collect();
    let kept = rows.iter().flatten().filter(|run| run.disturbed).count();
    let ratios = rows.iter().map(|row| row[control].rate / row[0].rate);
    let ratios = ratios.collect();
    let series = series(options, &rows, pinned.then_some(control));
    let mut notes = oddities(job, &trial_one, &series);
    if repeated > 0 || kept > 0 {
        notes.push(Note::Disturbed {
            repeated: repeated as u32,
            kept: kept as u32,
        });
    }
    Ok(Sweep {
        series,
        control: ratios,
        notes,
        trial_one,
        trial_many,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// The runs of `rows` by placement; where there is a second run on one core, that on one core is
/// the mean of both.
fn series(options: &Options, rows: &[Vec<Run>], second: Option<usize>) -> Vec<Series> {
    let width = options.counts.len();
    let of = |(index, &placement): (usize, &Placement)| Series {
        placement,
        counts: options.counts.clone(),
        rounds: rows
            .iter()
            .map(|row| {
                let mut runs = row[index * width..(index + 1) * width].to_vec();
                if let (Some(second), 0) = (second, index) {
                    runs[0] = mean(&runs[0], &row[second]);
                }
                runs
            })
            .collect(),
    };
    options.placements.iter().enumerate().map(of).collect()
}

impl<'a> Station<'a> {
    /// These runs, on these cores.
    pub(super) const fn new(runs: Runs<'a>, cores: &'a [CoreId]) -> Self {
        Self { runs, cores }
    }

    fn start(job: &'a Job, setting: Setting) -> Result<Self, SweepError> {
        Ok(Self::new(Runs::start(job, setting)?, job.cores(setting)))
    }
}

/// A run that is not timed for the result: it warms caches, shows what the command prints, and
/// counts events.
fn trial(job: &Job, setting: Setting) -> Result<Outcome, SweepError> {
    let outcome = Runs::trial(job, setting)?.run()?;
    if let Some(mark) = &job.progress
        && rate_printed(&outcome.tail, mark).is_none()
    {
        return Err(SweepError::Command {
            what: format!(
                "the command printed no number after {mark:?}; check the text given as its \
                 progress point"
            ),
            printed: last_lines(&outcome.tail),
        });
    }
    Ok(outcome)
}

fn timed(job: &Job, station: &mut Station) -> Result<(Run, Seen), SweepError> {
    station.runs.prepare()?;
    let before = Times::now(station.cores);
    let outcome = station.runs.run_prepared()?;
    let times = before.until(&Times::now(station.cores));
    let seen = Seen::of(&times, &outcome, station.cores.len());
    let long = outcome.wall >= OBSERVABLE;
    let wall = outcome.wall.as_secs_f64();
    let rate = match &job.progress {
        Some(mark) => rate_printed(&outcome.tail, mark).ok_or_else(|| SweepError::Command {
            what: format!("a later run printed no number after {mark:?}; the trial did"),
            printed: last_lines(&outcome.tail),
        })?,
        None => job.work(station.runs.setting()) / wall.max(1e-9),
    };
    let run = Run {
        rate,
        wall,
        user: outcome.user.as_secs_f64(),
        system: outcome.system.as_secs_f64(),
        steal: if long { seen.steal } else { 0.0 },
        involuntary_switches: outcome.involuntary_switches,
        disturbed: long && seen.disturbed(),
    };
    Ok((run, seen))
}
