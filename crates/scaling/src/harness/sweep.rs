//! The sweep: every setting once a round, in an order of its own each round, so that heat, clock
//! and neighbours fall on all settings alike; what is compared is compared within a round.

use std::time::{Duration, Instant};

use figures::{Rounds, median};
use host::cores::CoreId;
use host::observe::{TICK, Times};
use serde::{Deserialize, Serialize};

use super::keeper::Outcome;
use super::notes::Note;
use super::oddities::oddities;
use super::pace::{Pace, REPEATS};
use super::plan::{Job, Placement, Setting, rate_printed};
pub use super::runs::SweepError;
use super::runs::{Runs, last_lines};
use crate::cause::split::Cost;
use crate::laws::rates::Rates;

/// How much a sweep measures.
#[derive(Debug, Clone)]
pub struct Options {
    /// Core counts, rising, the first of them 1.
    pub counts: Vec<u32>,
    /// Who chooses the cores; both for a comparison.
    pub placements: Vec<Placement>,
    /// How many rounds.
    pub pace: Pace,
    /// Seed of the order of the runs.
    pub seed: u64,
    /// Asked while waiting; yes ends the sweep.
    pub interrupted: fn() -> bool,
}

/// One timed run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Units of work a second: one over the wall time for one job, copies over it for copies, or
    /// what the program itself printed.
    pub rate: f64,
    /// Seconds of wall time.
    pub wall: f64,
    /// Seconds of user CPU time of the process tree.
    pub user: f64,
    /// Seconds of system CPU time of the process tree.
    pub system: f64,
    /// Seconds stolen from the setting's cores; 0 for runs shorter than the kernel's clock can
    /// tell.
    pub steal: f64,
    /// Switches because another task was due.
    pub involuntary_switches: u64,
    /// Whether other programs or the hypervisor took more than a twentieth of the cores.
    pub disturbed: bool,
}

impl Run {
    /// Whether others had so much of the cores that nobody can tell what the command would have
    /// used: seen in `/proc/stat`, or in a run too short for that by how often its tasks had to
    /// give way.
    pub fn crowded(&self) -> bool {
        self.disturbed || self.involuntary_switches as f64 > CROWDED * self.wall.max(CROWDED_LEAST)
    }
}

/// All rounds of one placement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Who chose the cores.
    pub placement: Placement,
    /// Core counts.
    pub counts: Vec<u32>,
    /// For each round a run at each count.
    pub rounds: Vec<Vec<Run>>,
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
/// A task alone on its core gives way to the kernel's own threads some ten times a second, one that
/// shares it a hundred times.
const CROWDED: f64 = 100.0;
/// Seconds below which a few switches say nothing.
const CROWDED_LEAST: f64 = 0.05;

/// One setting, ready to run.
struct Station<'a> {
    runs: Runs<'a>,
    cores: Vec<CoreId>,
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
    let one = Setting {
        cores: 1,
        placement: Placement::Pinned,
    };
    let trial_one = trial(job, &one, options)?;
    let trial_many = trial(
        job,
        &Setting {
            cores: most,
            placement: Placement::Free,
        },
        options,
    )?;
    let mut stations = Vec::new();
    for &placement in &options.placements {
        for &cores in &options.counts {
            stations.push(station(job, &Setting { cores, placement }, options)?);
        }
    }
    let control_first = stations.len();
    if let Some(&placement) = options.placements.first() {
        stations.push(station(
            job,
            &Setting {
                cores: 1,
                placement,
            },
            options,
        )?);
    }
    let slower = trial_one.wall.max(trial_many.wall);
    let rounds = options.pace.rounds(stations.len(), slower, start.elapsed());

    let most_repeated = (rounds * stations.len()).div_ceil(REPEATS);
    let mut table = Rounds::new(stations.len(), options.seed);
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
        control: table.ratios(control_first, 0, |run| run.rate),
        notes,
        trial_one,
        trial_many,
        seconds: start.elapsed().as_secs_f64(),
    })
}

fn station<'a>(
    job: &'a Job,
    setting: &Setting,
    options: &Options,
) -> Result<Station<'a>, SweepError> {
    let cores = match setting.placement {
        Placement::Pinned => job
            .order
            .iter()
            .take(setting.cores as usize)
            .copied()
            .collect(),
        Placement::Free => job.order.clone(),
    };
    Ok(Station {
        runs: Runs::start(job, setting, options.interrupted)?,
        cores,
        last: OBSERVABLE,
    })
}

/// A run that is not timed for the result: it warms caches, shows what the command prints, and
/// counts events.
fn trial(job: &Job, setting: &Setting, options: &Options) -> Result<Outcome, SweepError> {
    let outcome = Runs::trial(job, setting, options.interrupted)?.run()?;
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
    let before = (station.last >= OBSERVABLE / 2).then(|| Times::now(&station.cores));
    let outcome = station.runs.run_prepared()?;
    station.last = outcome.wall;
    let (mut steal, mut disturbed) = (0.0, false);
    if outcome.wall >= OBSERVABLE
        && let Some(before) = before
    {
        let times = before.until(&Times::now(&station.cores));
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

impl Series {
    /// The rates, for the laws.
    pub fn rates(&self) -> Rates {
        Rates {
            cores: self.counts.clone(),
            rates: self
                .rounds
                .iter()
                .map(|round| round.iter().map(|run| run.rate).collect())
                .collect(),
        }
    }

    /// The median of a figure at place `place`.
    pub fn median(&self, place: usize, figure: impl Fn(&Run) -> f64) -> f64 {
        median(self.rounds.iter().map(|round| figure(&round[place])))
    }

    /// Cores kept busy at place `place`: CPU time over wall time, median over the rounds.
    pub fn busy(&self, place: usize) -> f64 {
        self.median(place, |run| (run.user + run.system) / run.wall.max(1e-9))
    }

    /// What the setting at place `place` cost, and the work it did, as means over the rounds.
    pub fn cost(&self, place: usize) -> Cost {
        let count = self.rounds.len().max(1) as f64;
        let sum = |figure: fn(&Run) -> f64| {
            self.rounds
                .iter()
                .map(|round| figure(&round[place]))
                .sum::<f64>()
                / count
        };
        Cost {
            cores: self.counts[place],
            work: sum(|run| run.rate * run.wall),
            wall: sum(|run| run.wall),
            user: sum(|run| run.user),
            system: sum(|run| run.system),
            steal: sum(|run| run.steal),
        }
    }
}
