//! Runs a plan: opens the engines, measures in interleaved rounds, and puts the rows together.

use std::sync::Arc;

use dut::case::{Case, Sample};
use dut::device::{Abilities, Device, Setting};
use dut::error::Error;
use dut::routes::{self, Routes};
use figures::Rounds;
use host::noise::Reading;
use host::{CoreId, Environment};
use report::Progress;

use crate::choice::Choice;
use crate::lock_price::LockPrice;
use crate::plan::{Effort, Plan};
use crate::result::{Method, SCHEMA, Study};
use crate::route_changes::RouteChanges;
use crate::row::Row;
use crate::speed_up::{SpeedUp, is_one_of};
use crate::transfers::plan::{self, Pace};
use crate::{no_loss, pictures, transfers};

/// The time for searches, as a part of that for measuring.
const SEARCH_SHARE: f64 = 0.75;
/// That for transfers between hosts.
const TRANSFER_SHARE: f64 = 1.0;

/// Runs the whole study.
///
/// # Errors
/// When routes cannot be read, an engine cannot be opened or measured, or the user interrupts.
pub fn study(choice: &Choice, effort: Effort, seed: u64) -> Result<Study, Error> {
    let mut progress = Progress::new(0);
    progress.step("routing table");
    let routes = routes::load(choice.routes.as_deref(), seed)?;
    let setting = Setting::new(&choice.cores, &Arc::new(routes), seed);
    let mut engines: Vec<Box<dyn Device>> = Vec::new();
    for &kind in &choice.engines {
        host::cleanup::check()?;
        progress.step(&format!("preparing engine {}", kind.engine()));
        engines.push(dut::open::open(kind, &setting)?);
    }
    drop(progress);
    let mut study = run(&mut engines, &choice.cores, &setting.routes, effort, seed)?;
    study.left_out.splice(0..0, choice.left_out.iter().cloned());
    drop(engines);
    let cases = plan::cases(effort.extent);
    let time = effort.time.mul_f64(TRANSFER_SHARE);
    let pace = Pace::within(time, effort.full, cases.len() * choice.engines.len());
    study.transfers =
        transfers::measure::measure(&choice.engines, &cases, &choice.cores, pace, seed)?;
    match pictures::take(&choice.cores, seed) {
        Ok(pictures) => study.traces = pictures,
        Err(reason) => study.left_out.push(reason),
    }
    Ok(study)
}

/// Measures opened engines.
fn run(
    engines: &mut [Box<dyn Device>],
    cores: &[CoreId],
    routes: &Routes,
    effort: Effort,
    seed: u64,
) -> Result<Study, Error> {
    let abilities: Vec<Abilities> = engines.iter().map(|engine| engine.abilities()).collect();
    let plan = Plan::new(&abilities, cores.len(), effort, seed);
    let mut rounds: Rounds<Sample> = Rounds::new(plan.cases.len(), seed);
    let mut progress = Progress::new(plan.measurements());
    let before = Reading::now(cores);
    for round in 0..plan.pairs {
        rounds.round_in(plan.order(round), |index| {
            host::cleanup::check()?;
            let case = &plan.cases[index];
            progress.step(&format!("round {} of {}: {case}", round + 1, plan.pairs));
            let engine = engines
                .iter_mut()
                .find(|engine| engine.abilities().kinds.contains(&case.kind))
                .ok_or("a case without an engine")?;
            let sample = engine.measure(case, plan.trial);
            // After Ctrl-C an engine may fail in any way; the reason to name is the interrupt.
            host::cleanup::check()?;
            sample.map_err(|error| Error::from(format!("{case}: {error}")))
        })?;
    }
    drop(progress);
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
            let rates = row_rates(&plan.cases, &rounds, case);
            Row::new(case, &rates, prefixes, destinations)
        })
        .collect();
    let search_time = effort.time.mul_f64(SEARCH_SHARE);
    let wanted: Vec<(&Case, f64)> = plan
        .searches(&abilities, search_time)
        .into_iter()
        .map(|index| (&plan.cases[index], figures::median(rates(&rounds, index))))
        .collect();
    let searches = no_loss::searches(engines, &wanted, search_time)?;
    for row in &mut forwarding {
        let found = searches.iter().find(|search| row.is_quiet(&search.key));
        row.no_loss_frames_per_second = found.and_then(|found| found.no_loss_frames_per_second);
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
        route_changes: RouteChanges::all(&plan.cases, &rounds),
        lock_prices: LockPrice::all(&plan.cases, &rounds, seed),
        speed_ups: SpeedUp::all(&plan.cases, &rounds, seed),
        search_profile: (!searches.is_empty()).then_some(no_loss::PROFILE),
        searches,
        transfers: None,
        noise,
        traces: Vec::new(),
        left_out: nothing_came(&plan.cases, &rounds),
    })
}

/// The rates of a case in its rounds, frames/s.
fn rates(rounds: &Rounds<Sample>, case: usize) -> Vec<f64> {
    rounds.values(case, |sample| sample.frames_per_second)
}

/// The rates of a row in its rounds, frames/s: with one worker the mean of the cores, each alone.
fn row_rates(cases: &[Case], rounds: &Rounds<Sample>, case: &Case) -> Vec<f64> {
    let same = |&index: &usize| {
        let other = &cases[index];
        *other == *case || (case.workers == 1 && is_one_of(other, case))
    };
    let own: Vec<usize> = (0..cases.len()).filter(same).collect();
    if let [one] = own[..] {
        return rates(rounds, one);
    }
    let rate = |sample: &Sample| sample.frames_per_second;
    let mean: Vec<f64> = rounds.means(&own, rate).into_iter().flatten().collect();
    if mean.is_empty() { vec![0.0] } else { mean }
}

/// The name of an engine in results.
fn name_of(abilities: &Abilities) -> String {
    let kind = abilities.kinds.first();
    kind.map_or_else(String::new, |kind| kind.engine().to_owned())
}

/// A sentence for each case in which nothing came through, in some rounds or in all.
fn nothing_came(cases: &[Case], rounds: &Rounds<Sample>) -> Vec<String> {
    let sentence = |(index, case): (usize, &Case)| {
        let rates = rates(rounds, index);
        let silent = rates.iter().filter(|&&rate| rate <= 0.0).count();
        (silent > 0).then(|| {
            format!(
                "{case}: in {silent} of {} rounds none of the frames sent came through, so there \
                 is no rate.",
                rates.len()
            )
        })
    };
    (0..).zip(cases).filter_map(sentence).collect()
}

#[cfg(test)]
#[path = "../tests/unit/measure.rs"]
mod tests;
