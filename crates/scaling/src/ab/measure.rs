//! Runs the two commands in turns.

use std::time::{Duration, Instant};

use figures::Random;
use host::cores::CoreId;
use host::environment::Environment;
use report::Progress;

use super::judge::{Verdict, figures, ratio};
use super::{AbResult, Block, Request, SCHEMA, Sample};
use crate::harness::keeper::Outcome;
use crate::harness::plan::{Job, Mode, Placement, Setting, rate_printed};
use crate::harness::profile::{Profile, profile};
use crate::harness::runs::{Runs, SweepError, last_lines};
use crate::statistics::signed_rank::LEAST;

/// Both commands run as they are, free to move.
const SETTING: Setting = Placement::Free.on(1);

impl Request {
    fn jobs(&self) -> [Job; 2] {
        let [a, b] = &self.commands;
        [self.job(a), self.job(b)]
    }

    fn job(&self, command: &[String]) -> Job {
        Job {
            command: command.to_vec(),
            // One copy: nothing is added to the command or to its environment.
            mode: Mode::Copies,
            order: host::cores::allowed_cores().unwrap_or_else(|_| vec![CoreId(0)]),
            timeout: self.timeout,
            progress: self.progress.clone(),
            prepare: self.prepare.clone(),
            seed: self.seed,
            interrupted: self.interrupted,
        }
    }
}

/// Compares.
///
/// # Errors
/// When a command fails, hangs or cannot be started, and when interrupted.
pub fn measure(request: &Request, environment: Environment) -> Result<AbResult, SweepError> {
    let start = Instant::now();
    let blocks = run_blocks(request)?;
    let mut notes = Vec::new();
    let profiles = profiles(request, &mut notes)?;
    judged(
        request,
        environment,
        blocks,
        profiles,
        notes,
        start.elapsed(),
    )
}

/// Makes the runs. The budget ends them before a block that would take longer than is left, as long
/// as the latest.
///
/// # Errors
/// As [`measure`].
pub fn run_blocks(request: &Request) -> Result<Vec<Block>, SweepError> {
    let start = Instant::now();
    let jobs = request.jobs();
    // Not counted: warms the caches, and shows what a failing command prints.
    for job in &jobs {
        sample(job, &mut Runs::trial(job, SETTING)?)?;
    }
    let most = request.blocks.max(LEAST);
    let mut runs = [
        Runs::start(&jobs[0], SETTING)?,
        Runs::start(&jobs[1], SETTING)?,
    ];
    let mut progress = Progress::new(most);
    let mut random = Random::new(request.seed);
    let mut found = Vec::new();
    let mut block = Duration::ZERO;
    while found.len() < LEAST || (found.len() < most && start.elapsed() + block < request.budget) {
        progress.step("blocks of four runs, if time allows");
        let began = Instant::now();
        let a_outside = random.below(2) == 0;
        let run = |side: usize| sample(&jobs[side], &mut runs[side]);
        found.push(Block::run(a_outside, run)?);
        block = began.elapsed();
    }
    Ok(found)
}

fn judged(
    request: &Request,
    environment: Environment,
    blocks: Vec<Block>,
    profiles: Option<[Profile; 2]>,
    notes: Vec<String>,
    took: Duration,
) -> Result<AbResult, SweepError> {
    let found = ratio(&blocks).ok_or_else(|| SweepError::Command {
        what: format!(
            "{} blocks of runs were made; {LEAST} are needed",
            blocks.len()
        ),
        printed: String::new(),
    })?;
    Ok(AbResult {
        schema: SCHEMA.to_owned(),
        environment,
        commands: request.commands.clone(),
        verdict: Verdict::of(found.interval, request.worth),
        ratio: found.value,
        interval: found.interval,
        worth: request.worth,
        seconds: took.as_secs_f64(),
        figures: figures(&blocks),
        profiles,
        notes,
        blocks,
    })
}

fn sample(job: &Job, runs: &mut Runs) -> Result<Sample, SweepError> {
    let outcome: Outcome = runs.run()?;
    let wall = outcome.wall.as_secs_f64();
    let cost = match &job.progress {
        Some(mark) => {
            1.0 / rate_printed(&outcome.tail, mark).ok_or_else(|| SweepError::Command {
                what: format!(
                    "{} printed no number after {mark:?}; check the text given to --progress",
                    job.command.first().map_or("", String::as_str)
                ),
                printed: last_lines(&outcome.tail),
            })?
        }
        None => wall,
    };
    Ok(Sample {
        cost,
        wall,
        user: outcome.user.as_secs_f64(),
        system: outcome.system.as_secs_f64(),
        faults: outcome.minor_faults + outcome.major_faults,
        voluntary_switches: outcome.voluntary_switches,
    })
}

/// A run of each under the profiler, where asked for; a refusal is a note.
fn profiles(
    request: &Request,
    notes: &mut Vec<String>,
) -> Result<Option<[Profile; 2]>, SweepError> {
    if !request.cause {
        return Ok(None);
    }
    let mut record = |job: &Job| -> Result<Option<Profile>, SweepError> {
        let found = profile(job, SETTING)?;
        Ok(found
            .map_err(|refused| notes.push(format!("the profiler recorded nothing: {refused}")))
            .ok())
    };
    let jobs = request.jobs();
    let Some(a) = record(&jobs[0])? else {
        return Ok(None);
    };
    Ok(record(&jobs[1])?.map(|b| [a, b]))
}
