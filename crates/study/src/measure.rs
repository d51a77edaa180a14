//! Runs a plan: opens the engines, measures in interleaved rounds, and puts the rows together.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dut::bare::Bare;
use dut::case::Case;
use dut::device::{Abilities, Device, Setting};
use dut::error::Error;
use dut::kind::Kind;
use dut::routes::{self, Routes};
use figures::{Rounds, judge};
use host::noise::Reading;
use host::{CoreId, Environment};
use report::Progress;
use router::engine::EngineKind;

use crate::against_kernel::AgainstKernel;
use crate::bare::BareRounds;
use crate::choice::Choice;
use crate::evidence::{self, Measured};
use crate::lock_price::LockPrice;
use crate::no_loss::{Search, Searches};
use crate::observer::{self, Observer};
use crate::plan::{Effort, Plan, RESERVE, SEARCH_SHARE, TRANSFER_SHARE};
use crate::result::{Method, SCHEMA, Study};
use crate::route_changes::RouteChanges;
use crate::row::Row;
use crate::speed_up::{SpeedUp, is_one_of};
use crate::transfers::plan::{self, Extent, Pace};
use crate::{model, no_loss, pictures, transfers};

/// Fewer rounds make no interval: of five, the lowest and the highest hold the median in 94 of 100 cases.
pub(crate) const ROUNDS_MIN: usize = 5;

/// Runs the whole study.
///
/// # Errors
/// When routes cannot be read, an engine cannot be opened or measured, or the user interrupts.
pub fn study(choice: &Choice, effort: Effort, seed: u64) -> Result<Study, Error> {
    let begun = Instant::now();
    let mut progress = Progress::new(0);
    progress.step("routing table");
    let routes = routes::load(choice.routes.as_deref(), effort.routes, seed)?;
    let setting = Setting::new(&choice.cores, &Arc::new(routes), seed);
    let mut engines: Vec<Box<dyn Device>> = Vec::new();
    for &kind in &choice.engines {
        host::cleanup::check()?;
        progress.step(&format!("preparing engine {}", kind.engine()));
        engines.push(dut::open::open(kind, &setting)?);
    }
    drop(progress);
    let bare = choice.engines.iter().any(|kind| kind.needs_root());
    let bare = bare.then(|| Bare::open(&setting)).transpose()?;
    let mut bare = bare.map(|bare| BareRounds::new(bare, &choice.cores, seed));
    let effort = effort.after(begun.elapsed());
    let forecast = effort.time.mul_f64(model::SHARE);
    let forwarding = Effort {
        time: effort.time.saturating_sub(forecast),
        ..effort
    };
    let mut study = run(
        &mut engines,
        &choice.cores,
        bare.as_mut(),
        &setting.routes,
        forwarding,
        seed,
    )?;
    study.left_out.splice(0..0, choice.left_out.iter().cloned());
    match model::take(&mut engines, &setting, &study, forecast, seed) {
        Ok(model) => study.model = model,
        Err(reason) => {
            host::cleanup::check()?;
            study.left_out.push(format!("No forecast: {reason}"));
        }
    }
    drop(engines);
    let cases = plan::cases(effort.extent);
    let mut engines = choice.engines.clone();
    let mut rounds = effort.full;
    if effort.extent == Extent::Ordinary {
        rounds = effort.all;
        // The answer is of the default engine; where it is not asked for, each has a row.
        let router = Kind::Router(EngineKind::default());
        if engines.contains(&router) {
            engines.retain(|&kind| kind == Kind::Kernel || kind == router);
        }
    }
    let time = effort.time.mul_f64(TRANSFER_SHARE);
    let pace = Pace::within(time, (effort.all, rounds), &cases, engines.len());
    study.transfers = transfers::measure::measure(&engines, &cases, &choice.cores, pace, seed)?;
    match pictures::take(&choice.cores, effort.picture, seed) {
        Ok(pictures) => study.traces = pictures,
        Err(reason) => study.left_out.push(reason),
    }
    Ok(study)
}

/// Measures opened engines.
fn run(
    engines: &mut [Box<dyn Device>],
    cores: &[CoreId],
    mut bare: Option<&mut BareRounds>,
    routes: &Routes,
    effort: Effort,
    seed: u64,
) -> Result<Study, Error> {
    let abilities: Vec<Abilities> = engines.iter().map(|engine| engine.abilities()).collect();
    let plan = Plan::new(&abilities, cores.len(), effort, seed);
    let mut rounds: Rounds<Measured> = Rounds::new(plan.cases.len(), seed);
    let before = Reading::now(cores);
    let search_time = effort.time.mul_f64(SEARCH_SHARE);
    let wanted = plan.searches(&abilities, search_time);
    let mut searches = Searches::new(&plan.cases, wanted, plan.pairs, search_time, seed);
    let mut observer = Observer::default();
    let mut round = Round {
        plan: &plan,
        engines: &mut *engines,
        cores,
        progress: Progress::new(plan.measurements()),
        observer: &mut observer,
        spent: Duration::ZERO,
        begun: Steps::default(),
        all: Steps::of(&plan),
    };
    for number in 0..plan.pairs {
        if round.is_over(number) {
            continue;
        }
        let measured = round.measure(number)?;
        if let Some(bare) = &mut bare {
            bare.measure(plan.trial, round.observer)?;
        }
        searches.after(number, round.engines, |index| {
            let own = measured.iter().find(|(case, _)| *case == index);
            own.map_or(0.0, |(_, measured)| measured.frames_per_second)
        })?;
        rounds.round_in(plan.order(number), |index| {
            let measured = measured.iter().find(|(case, _)| *case == index);
            measured
                .map(|&(_, measured)| measured)
                .ok_or("a case that was not measured")
        })?;
    }
    drop(round);
    let noise = before.until(&Reading::now(cores));
    // What the engines say of their frames is about the closed loop; a search loses frames to find
    // its limit.
    let methods = engines
        .iter()
        .map(|engine| Method {
            engine: name_of(&engine.abilities()),
            text: engine.method(),
        })
        .collect();

    let (prefixes, destinations) = (routes.prefixes.v4.len(), routes.destinations.len());
    let mut forwarding: Vec<Row> = plan
        .cases
        .iter()
        .filter(|case| case.first == 0)
        .map(|case| {
            let own = own_cases(&plan.cases, case);
            let judged = judge(&row_rates(&rounds, &own), 1, seed);
            let row = Row::new(case, &judged.values, prefixes, destinations);
            let calm = judged
                .weak
                .and_then(|_| evidence::calm_rate(&rounds, &own, seed));
            match calm {
                Some((_, rate)) => row.at(rate),
                None => Row {
                    weak: judged.weak,
                    ..row
                },
            }
        })
        .collect();
    searches.rest(engines, |index| figures::median(rates(&rounds, index)))?;
    let against_kernel = AgainstKernel::all(&plan.cases, &rounds, &searches.attempts, seed);
    let searches = searches.found();
    for row in &mut forwarding {
        let found = searches.iter().find(|search| row.is_quiet(&search.key));
        row.no_loss_frames_per_second = found.and_then(Search::told);
    }
    Ok(Study {
        schema: SCHEMA.to_owned(),
        environment: Environment::read(env!("CARGO_PKG_VERSION"), seed),
        forwarding,
        cores: plan.most_workers(),
        rounds: plan.rounds,
        trial_milliseconds: plan.trial.as_secs_f64() * 1e3,
        routes_from: routes.from.clone(),
        methods,
        route_changes: RouteChanges::all(&plan.cases, &rounds, seed),
        lock_prices: LockPrice::all(&plan.cases, &rounds, seed),
        speed_ups: SpeedUp::all(&plan.cases, &rounds, seed),
        search_profile: (!searches.is_empty()).then_some(no_loss::PROFILE),
        searches,
        without_device: bare.map_or_else(Vec::new, |bare| bare.found(seed)),
        against_kernel,
        model: None,
        transfers: None,
        noise,
        traces: Vec::new(),
        left_out: nothing_came(&plan.cases, &rounds),
    })
}

/// What measures rounds.
struct Round<'a> {
    plan: &'a Plan,
    engines: &'a mut [Box<dyn Device>],
    cores: &'a [CoreId],
    progress: Progress,
    observer: &'a mut Observer,
    /// Time that rounds have taken until now.
    spent: Duration,
    /// Measurements that were begun until now, without those made again.
    begun: Steps,
    /// Those of all rounds.
    all: Steps,
}

/// Numbers of measurements.
#[derive(Debug, Default)]
struct Steps {
    all: usize,
    /// Those for which calm cores are waited, and which are made again.
    calm: usize,
}

impl Steps {
    fn of(plan: &Plan) -> Self {
        let mut steps = Self::default();
        for group in (0..plan.pairs).flat_map(|round| plan.groups(round)) {
            steps.add(plan, &group);
        }
        steps
    }

    fn add(&mut self, plan: &Plan, group: &[usize]) {
        self.all += group.len();
        if plan.is_calm(group) {
            self.calm += group.len();
        }
    }

    /// How much of the time these may have taken, of `all`: trials their own share, waiting and what
    /// is made again theirs.
    fn share(&self, all: &Self) -> f64 {
        let share = |part: usize, all: usize| part as f64 / all.max(1) as f64;
        (1.0 - RESERVE) * share(self.all, all.all) + RESERVE * share(self.calm, all.calm)
    }
}

impl Round<'_> {
    /// Whether a round is left out because the time is over: a short one, once there are enough
    /// for an interval.
    fn is_over(&self, round: usize) -> bool {
        let is_short = !self.plan.is_full(round);
        is_short && round >= ROUNDS_MIN && self.spent >= self.plan.time
    }

    /// Every case that is due. What was disturbed is measured again, where the time planned for the
    /// measurements until now allows.
    fn measure(&mut self, round: usize) -> Result<Vec<(usize, Measured)>, Error> {
        let mut all = Vec::new();
        for group in self.plan.groups(round) {
            self.begun.add(self.plan, &group);
            let planned = self.plan.time.mul_f64(self.begun.share(&self.all));
            let (begun, left) = (Instant::now(), planned.saturating_sub(self.spent));
            let calm = self.plan.is_calm(&group);
            let until = if calm { begun + left } else { begun };
            self.warm_up(&group)?;
            let measured = evidence::calmer(
                &group,
                |group| self.attempt(round, group, until),
                |took| calm && begun.elapsed() + took <= left,
            )?;
            self.spent += begun.elapsed();
            all.extend(measured);
        }
        Ok(all)
    }

    /// Fills the caches with what the cases of a group need.
    fn warm_up(&mut self, group: &[usize]) -> Result<(), Error> {
        let cases = group.iter().map(|&index| &self.plan.cases[index]);
        let unchanged = cases.filter(|case| case.changes == 0);
        let Some(case) = unchanged.max_by_key(|case| case.workers) else {
            return Ok(());
        };
        observer::warm_up(&mut **engine_of(self.engines, case)?, case)
    }

    fn attempt(
        &mut self,
        round: usize,
        group: &[usize],
        until: Instant,
    ) -> Result<Vec<(usize, Measured)>, Error> {
        let mut measured = Vec::with_capacity(group.len());
        for &index in group {
            host::cleanup::check()?;
            let case = &self.plan.cases[index];
            let (round, of) = (round + 1, self.plan.pairs);
            self.progress
                .step(&format!("round {round} of {of}: {case}"));
            let engine = engine_of(self.engines, case)?;
            let own = self.cores.get(case.cores()).unwrap_or(self.cores);
            let extent = (self.plan.trial, until);
            let one = self.observer.measure(&mut **engine, case, own, extent)?;
            measured.push((index, one));
        }
        Ok(measured)
    }
}

/// The engine of a case.
pub(crate) fn engine_of<'a>(
    engines: &'a mut [Box<dyn Device>],
    case: &Case,
) -> Result<&'a mut Box<dyn Device>, Error> {
    let mut engines = engines.iter_mut();
    let own = engines.find(|engine| engine.abilities().kinds.contains(&case.kind));
    own.ok_or_else(|| "a case without an engine".into())
}

/// The rates of a case in its rounds, frames/s.
fn rates(rounds: &Rounds<Measured>, case: usize) -> Vec<f64> {
    rounds.values(case, |measured| measured.frames_per_second)
}

/// The cases that a row is of: with one worker each core alone.
fn own_cases(cases: &[Case], case: &Case) -> Vec<usize> {
    let same = |&index: &usize| {
        let other = &cases[index];
        *other == *case || (case.workers == 1 && is_one_of(other, case))
    };
    (0..cases.len()).filter(same).collect()
}

/// The rates of a row's `own` cases in its rounds, frames/s, and whether they were disturbed: with one
/// worker the mean of the cores, each alone.
fn row_rates(rounds: &Rounds<Measured>, own: &[usize]) -> Vec<(f64, bool)> {
    if let [one] = own[..] {
        let measured = rounds.of(one);
        return measured
            .map(|measured| (measured.frames_per_second, measured.disturbed))
            .collect();
    }
    let mean: Vec<(f64, bool)> = evidence::rates(rounds, own).into_iter().flatten().collect();
    if mean.is_empty() {
        vec![(0.0, false)]
    } else {
        mean
    }
}

/// The name of an engine in results.
fn name_of(abilities: &Abilities) -> String {
    let kind = abilities.kinds.first();
    kind.map_or_else(String::new, |kind| kind.engine().to_owned())
}

/// A sentence for each case in which nothing ever came through. Where it did in other rounds, these
/// are no evidence.
fn nothing_came(cases: &[Case], rounds: &Rounds<Measured>) -> Vec<String> {
    let sentence = |(index, case): (usize, &Case)| {
        let rates = rates(rounds, index);
        let silent = !rates.is_empty() && rates.iter().all(|&rate| rate <= 0.0);
        silent.then(|| {
            format!(
                "{case}: in {} rounds none of the frames sent came through, so there is no rate.",
                rates.len()
            )
        })
    };
    (0..).zip(cases).filter_map(sentence).collect()
}

#[cfg(test)]
#[path = "../tests/unit/measure.rs"]
mod tests;
