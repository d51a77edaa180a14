//! The whole measurement of one command: sweep, cause, forecast, neighbour, judgement.

use std::time::Duration;

use host::cores::CoreId;
use host::environment::Environment;
use host::observe::Interrupts;
use host::topology::Topology;

use crate::cause::blame::{self, Cause};
use crate::cause::counters::Inflation;
use crate::cause::split::median_split;
use crate::harness::beside::{Mutual, beside};
use crate::harness::notes::Note;
use crate::harness::order::{boundaries, order};
use crate::harness::pace::Pace;
use crate::harness::plan::{Job, Mode, Placement};
use crate::harness::press::Pressing;
use crate::harness::series::Series;
use crate::harness::sweep::{Options, Sweep, SweepError, sweep};
use crate::harness::{allowance, one_core};
use crate::instruments;
use crate::investigate::{Findings, investigate};
use crate::laws::forecast::{NoForecast, OneCore, Score};
use crate::laws::rates::Rates;
use crate::laws::segment::Boundary;
use crate::result::record::TOLERANCE;
use crate::result::{BesideResult, PointResult, SCHEMA, ScaleResult, judge, sentence};

/// What is asked of a measurement.
#[derive(Debug, Clone)]
pub struct Request {
    /// Program and arguments.
    pub command: Vec<String>,
    /// How it uses several cores; guessed from the program's name when absent.
    pub mode: Option<Mode>,
    /// Most cores; all allowed ones when absent.
    pub cores: Option<u32>,
    /// Who chooses the cores.
    pub placements: Vec<Placement>,
    /// Number of rounds; as many as the time allows when absent.
    pub rounds: Option<usize>,
    /// Measure less.
    pub quick: bool,
    /// Look for the cause by pressing on shared resources.
    pub cause: bool,
    /// Forecast from one core first, and score it.
    pub forecast: bool,
    /// Another command to run beside this one.
    pub beside: Option<Vec<String>>,
    /// Run before each timed run.
    pub prepare: Option<Vec<String>>,
    /// Text before the program's own rate.
    pub progress: Option<String>,
    /// What that rate counts.
    pub unit: Option<String>,
    /// Time limit of a run.
    pub timeout: Duration,
    /// Seed of everything random.
    pub seed: u64,
    /// Asked while waiting; yes ends the measurement.
    pub interrupted: fn() -> bool,
}

impl Request {
    /// A sweep of `command` pinned to its cores, everything else by default.
    pub fn pinned(command: Vec<String>, quick: bool, seed: u64) -> Self {
        Self {
            command,
            mode: None,
            cores: None,
            placements: vec![Placement::Pinned],
            rounds: None,
            quick,
            cause: false,
            forecast: false,
            beside: None,
            prepare: None,
            progress: None,
            unit: None,
            timeout: Duration::from_mins(15),
            seed,
            interrupted: host::interrupted,
        }
    }
}

/// Measures.
///
/// # Errors
/// When the command fails, hangs or cannot be started, and when interrupted.
pub fn measure(request: &Request, environment: Environment) -> Result<ScaleResult, SweepError> {
    let topology = Topology::read();
    let ground = Ground::of(request, &topology);
    let Ground {
        job,
        options,
        marks,
        most,
        ..
    } = &ground;
    let (mode, most) = (job.mode, *most);
    let forecast = (request.forecast && most > 1)
        .then(|| one_core::look(job, most, &topology))
        .transpose()?;
    let interrupts_before = Interrupts::now(&job.order);
    let swept = sweep(job, options)?;
    let interrupts = interrupts_before.until(&Interrupts::now(&job.order));

    let (control, missed) = judge::control(&swept.control, request.seed);
    let points = judge::points(&swept.series, mode, request.seed);
    let primary = swept.series.first();
    let rates = primary.map_or_else(Rates::default, Series::rates);
    let law = judge::law(&rates, marks, request.seed);
    let mut notes = notes(request, &ground, &swept, missed, &points);
    let scores = forecast.map_or(Ok(Vec::new()), |one| scores(&one, &points));
    let scores = scores.unwrap_or_else(|refused| {
        let why = refused.to_string();
        notes.push(Note::NoForecast { why });
        Vec::new()
    });
    let why = why(request, &ground, &topology, &swept)?;
    let rounds = options.pace.least.max(5);
    let beside = request.beside.as_ref();
    let beside = beside
        .map(|other| next_to(job, other, rounds))
        .transpose()?;
    let mut readings = instruments::readings(&swept, &interrupts, why.counters.as_ref(), most);
    readings.extend(why.found.iter().flat_map(instruments::found));
    let not_measured = instruments::not_measured(&swept, why.found.as_ref(), most);
    let (pressure, interventions, budget) = why.found.map_or_else(Default::default, |found| {
        (
            found.pressure,
            found.interventions,
            found.profile.map(|profile| profile.budget),
        )
    });
    let mut result = ScaleResult {
        schema: SCHEMA.to_owned(),
        environment,
        command: request.command.clone(),
        mode,
        unit: request
            .unit
            .clone()
            .unwrap_or_else(|| unit(mode, request.progress.as_deref())),
        rounds: primary.map_or(0, |series| series.rounds.len()),
        seconds: swept.seconds,
        sentence: sentence::sentence(mode, &points, &why.cause, why.unexplained, &law),
        one_core_forecast: scores,
        points,
        control,
        law,
        boundaries: marks.clone(),
        cause: why.cause,
        unexplained: why.unexplained,
        instruments: readings,
        pressure,
        interventions,
        budget,
        beside,
        notes,
        next_experiment: String::new(),
        not_measured,
        series: swept.series,
    };
    result.next_experiment = sentence::next_experiment(&result);
    Ok(result)
}

/// What the loss is made of, and what was found by looking for it.
struct Why {
    cause: Vec<Cause>,
    unexplained: Option<f64>,
    counters: Option<Inflation>,
    found: Option<Findings>,
}

fn why(
    request: &Request,
    ground: &Ground,
    topology: &Topology,
    swept: &Sweep,
) -> Result<Why, SweepError> {
    let primary = swept.series.first();
    let split = primary.map_or_else(Vec::new, |series| judge::causes(series, request.seed));
    let loss = primary.and_then(|series| median_split(&series.splits()));
    let counters = instruments::counted(swept);
    if !request.cause || ground.most < 2 {
        return Ok(Why {
            cause: split,
            unexplained: None,
            counters,
            found: None,
        });
    }
    let pressing = Pressing::of(
        request.quick,
        swept.trial_one.wall.as_secs_f64(),
        loss.map(|loss| (-(loss.user + loss.system)).exp()),
    );
    let found = investigate(&ground.job, ground.most, topology, swept, &pressing)?;
    let total = loss.map_or(0.0, |loss| loss.total);
    let children = blame::children(&split, total, &found.evidence(counters.as_ref()));
    Ok(Why {
        unexplained: (!split.is_empty()).then(|| blame::unexplained(&split, &children)),
        cause: [split, children].concat(),
        counters,
        found: Some(found),
    })
}

/// What is measured on which cores.
struct Ground {
    job: Job,
    options: Options,
    marks: Vec<Boundary>,
    most: u32,
    allowed: u32,
}

impl Ground {
    fn of(request: &Request, topology: &Topology) -> Self {
        let allowed = host::cores::allowed_cores().unwrap_or_else(|_| vec![CoreId(0)]);
        let mut ordered = order(topology, &allowed);
        let most = request
            .cores
            .unwrap_or(ordered.len() as u32)
            .clamp(1, ordered.len() as u32);
        ordered.truncate(most as usize);
        let marks = boundaries(topology, &ordered);
        let options = Options {
            counts: allowance::counts(most, &marks.iter().map(|b| b.cores).collect::<Vec<_>>()),
            placements: request.placements.clone(),
            pace: Pace::of(request.quick, request.rounds),
        };
        let job = Job {
            command: request.command.clone(),
            mode: request
                .mode
                .unwrap_or_else(|| Mode::guess(&request.command)),
            order: ordered,
            timeout: request.timeout,
            progress: request.progress.clone(),
            prepare: request.prepare.clone(),
            seed: request.seed,
            interrupted: request.interrupted,
        };
        Self {
            job,
            options,
            marks,
            most,
            allowed: allowed.len() as u32,
        }
    }
}

fn notes(
    request: &Request,
    ground: &Ground,
    swept: &Sweep,
    missed: Option<Note>,
    points: &[PointResult],
) -> Vec<Note> {
    let allowed = ground.allowed;
    let too_many = request.cores.filter(|&asked| asked > allowed);
    let fewer = too_many.map(|asked| Note::FewerCores { asked, allowed });
    let quota = allowance::quota().filter(|&quota| quota < f64::from(ground.most));
    let mut notes: Vec<Note> = fewer.into_iter().collect();
    notes.extend(quota.map(|cores| Note::Quota { cores }));
    notes.extend(swept.notes.iter().cloned());
    notes.extend(missed);
    notes.extend(judge::above_linear(points));
    notes
}

/// The forecast for every core count of the first placement, with its score.
fn scores(one: &OneCore, points: &[PointResult]) -> Result<Vec<Score>, NoForecast> {
    let placement = points.first().map(|p| p.placement);
    points
        .iter()
        .filter(|p| p.cores > 1 && Some(p.placement) == placement)
        .map(|p| Ok(one.band(p.cores)?.score(p.speedup, TOLERANCE)))
        .collect()
}

fn unit(mode: Mode, progress: Option<&str>) -> String {
    match (progress, mode) {
        (Some(mark), _) => mark.trim().trim_end_matches([':', '=']).to_owned(),
        (None, Mode::Copies) => "copies".to_owned(),
        (None, _) => "runs".to_owned(),
    }
}

fn next_to(job: &Job, other: &[String], rounds: usize) -> Result<BesideResult, SweepError> {
    let other_job = Job {
        command: other.to_vec(),
        mode: Mode::guess(other),
        progress: None,
        prepare: None,
        ..job.clone()
    };
    let pair = |placement: Placement| -> Result<Mutual, SweepError> {
        let mut first = job.spec(placement.on(1))?;
        let mut second = other_job.spec(placement.on(1))?;
        first.capture = false;
        second.capture = false;
        if placement == Placement::Pinned {
            second.copies = vec![job.order.get(1).map(|core| vec![core.0])];
        }
        beside(&first, &second, rounds, job.seed)
    };
    Ok(BesideResult {
        command: other.to_vec(),
        pinned: (job.order.len() > 1)
            .then(|| pair(Placement::Pinned))
            .transpose()?,
        free: Some(pair(Placement::Free)?),
    })
}
