//! The sweep: every setting once a round, in an order of its own each round, so that heat, clock
//! and neighbours fall on all settings alike; what is compared is compared within a round.

use std::time::{Duration, Instant};

use figures::Rounds;
use host::cores::CoreId;
use host::observe::{TICK, Times};

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
    /// The control: in each round a second run on one core, its rate over that of the first.
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

/// Below this a run is too short for `/proc/stat`, whose clock ticks every 10 ms.
const OBSERVABLE: Duration = Duration::from_millis(200);
/// A run during which others had more than this share of the cores is repeated.
const DISTURBED: f64 = 0.05;

/// One setting, ready to run.
struct Station<'a> {
    runs: Runs<'a>,
    cores: &'a [CoreId],
    /// How long the last run took: short ones are not worth looking at `/proc/stat` for.
    last: Duration,
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

    let most_repeated = (rounds * stations.len()).div_ceil(REPEATS);
    let mut table = Rounds::new(stations.len(), job.seed);
    let (mut repeated, mut kept) = (0, 0);
    while table.count() < rounds {
        table.run(1, |place| {
            let mut run = timed(job, &mut stations[place])?;
            if run.disturbed && repeated < most_repeated {
                repeated += 1;
                run = timed(job, &mut stations[place])?;
            }
            kept += u32::from(run.disturbed);
            Ok::<_, SweepError>(run)
        })?;
        if !options.pace.goes_on(table.count(), start.elapsed()) {
            break;
        }
    }
    drop(stations);

    let width = options.counts.len();
    let series: Vec<Series> = options
        .placements
        .iter()
        .enumerate()
        .map(|(index, &placement)| Series {
            placement,
            counts: options.counts.clone(),
            rounds: table
                .rows()
                .map(|row| row[index * width..(index + 1) * width].to_vec())
                .collect(),
        })
        .collect();
    let mut notes = oddities(job, &trial_one, &series);
    if repeated > 0 || kept > 0 {
        notes.push(Note::Disturbed {
            repeated: repeated as u32,
            kept,
        });
    }
    Ok(Sweep {
        series,
        control: table.ratios(control, 0, |run| run.rate),
        notes,
        trial_one,
        trial_many,
        seconds: start.elapsed().as_secs_f64(),
    })
}

impl<'a> Station<'a> {
    fn start(job: &'a Job, setting: Setting) -> Result<Self, SweepError> {
        Ok(Self {
            runs: Runs::start(job, setting)?,
            cores: job.cores(setting),
            last: OBSERVABLE,
        })
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

fn timed(job: &Job, station: &mut Station) -> Result<Run, SweepError> {
    station.runs.prepare()?;
    let before = (station.last >= OBSERVABLE / 2).then(|| Times::now(station.cores));
    let outcome = station.runs.run_prepared()?;
    station.last = outcome.wall;
    let (mut steal, mut disturbed) = (0.0, false);
    if outcome.wall >= OBSERVABLE
        && let Some(before) = before
    {
        let times = before.until(&Times::now(station.cores));
        let capacity = outcome.wall.as_secs_f64() * station.cores.len() as f64;
        let own = (outcome.user + outcome.system).as_secs_f64();
        let foreign = (times.busy - own - 3.0 * TICK * station.cores.len() as f64).max(0.0);
        steal = times.steal.min(0.9 * capacity);
        disturbed = (foreign + steal) / capacity > DISTURBED;
    }
    let wall = outcome.wall.as_secs_f64();
    let rate = match &job.progress {
        Some(mark) => rate_printed(&outcome.tail, mark).ok_or_else(|| SweepError::Command {
            what: format!("a later run printed no number after {mark:?}; the trial did"),
            printed: last_lines(&outcome.tail),
        })?,
        None => job.work(station.runs.setting()) / wall.max(1e-9),
    };
    Ok(Run {
        rate,
        wall,
        user: outcome.user.as_secs_f64(),
        system: outcome.system.as_secs_f64(),
        steal,
        involuntary_switches: outcome.involuntary_switches,
        disturbed,
    })
}
