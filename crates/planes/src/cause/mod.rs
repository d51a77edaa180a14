//! Why a plane is disturbed: by intervention, not by correlation.
//!
//! Of every deployment in which one plane was seen to disturb the other, both planes are loaded
//! again in short trials, in rounds of random order. In each trial one shared thing is taken away
//! (softirqs elsewhere, another core's interrupts, a handler that touches no memory, …), or one
//! plane is replaced by a thread that works as much and presses on one shared thing
//! only. A channel's share is the part of the disturbance that its removal takes back, or that its
//! pressure makes. Each method has its control in the same rounds: the undisturbed repetition, or
//! the same work in registers. A share counts when its interval stands clear of its control's.
//!
//! What it cannot tell: shares of things that work together overlap or hide each other, so the sum
//! is printed and what is left of the whole is named. Aggressors (`host::pressure`) work in slices
//! of milliseconds, a request computes in one piece.

mod intervention;
mod judge;
mod removed;
mod scene;
mod setup;

use std::time::{Duration, Instant};

use figures::Rounds;

use self::intervention::{Turn, turns};
use self::judge::{Observed, Probe, judge};
use self::scene::{Scene, Seen};
use self::setup::Setup;
use crate::deployment::{Cores, Means, Variant};
use crate::error::Error;
use crate::plan::Plan;
use crate::result::{Cause, Comparison, Measure, Plane};
use crate::site::Site;
pub(crate) use judge::NOTICED;

/// Share of the throughput found alone that is offered: near its limit a user plane shows what is
/// taken from it.
const OFFERED: f64 = 0.8;
/// Bringing a deployment up, and measuring how much its planes work.
const SETUP: Duration = Duration::from_secs(3);

/// Looks for the causes of the disturbances that `comparison` shows, the largest first, for at most
/// `time`; writes them, and what it had no time for or could not do, into it.
///
/// # Errors
/// [`Error::Interrupted`].
pub(crate) fn investigate(
    plan: &Plan,
    means: Means<'_>,
    cores: &Cores,
    time: Duration,
    comparison: &mut Comparison,
    mut say: impl FnMut(&str),
) -> Result<(), Error> {
    let schedule = plan.schedule();
    let begin = Instant::now();
    for suspect in suspects(comparison, plan) {
        let what = format!("the causes in {}", suspect.variant);
        let turns = turns(suspect.variant, &suspect.victims);
        if begin.elapsed() + SETUP + schedule.interventions(turns.len()) > time {
            comparison.not_measured.push(format!(
                "{what}: the time for causes was spent on larger disturbances (name fewer \
                 deployments{})",
                if plan.quick {
                    ", or leave --quick out"
                } else {
                    ""
                }
            ));
            continue;
        }
        say(&what);
        match find(&suspect, &turns, plan, cores, means) {
            Ok(causes) if causes.is_empty() => comparison.not_measured.push(format!(
                "{what}: in {} rounds no plane was disturbed by more than equal trials differ",
                schedule.rounds
            )),
            Ok(causes) => comparison.causes.extend(causes),
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(error) => comparison.not_measured.push(format!("{what}: {error}")),
        }
    }
    Ok(())
}

/// A deployment in which a plane seems disturbed.
struct Suspect {
    variant: Variant,
    victims: Vec<Plane>,
    payload: u32,
    /// Frames a second alone.
    throughput: f64,
    /// The largest relative loss.
    size: f64,
}

fn suspects(comparison: &Comparison, plan: &Plan) -> Vec<Suspect> {
    let Some(&payload) = plan.payloads.iter().min() else {
        return Vec::new();
    };
    let mut suspects = Vec::new();
    for variant in plan.variants() {
        let user = |load| comparison.cell(variant, Plane::User, payload, load);
        let rate = |load| user(load)?.frames_per_second;
        let delay = |load| Some(user(load)?.delay_p99_ns? as f64);
        let asked = |bytes, load| {
            let cell = comparison.cell(variant, Plane::Management, bytes, load)?;
            cell.response_p50_ms
        };
        let Some(throughput) = rate(false) else {
            continue;
        };
        let worse = |alone: Option<f64>, beside: Option<f64>| match (alone, beside) {
            (Some(alone), Some(beside)) if alone > 0.0 => beside / alone - 1.0,
            _ => 0.0,
        };
        let packets = worse(rate(true), rate(false)).max(worse(delay(false), delay(true)));
        let requests = worse(asked(0, false), asked(payload, true));
        let victims: Vec<Plane> = [(Plane::User, packets), (Plane::Management, requests)]
            .into_iter()
            .filter(|(_, size)| *size > NOTICED)
            .map(|(plane, _)| plane)
            .collect();
        if !victims.is_empty() {
            suspects.push(Suspect {
                variant,
                victims,
                payload,
                throughput,
                size: packets.max(requests),
            });
        }
    }
    suspects.sort_by(|a, b| b.size.total_cmp(&a.size));
    suspects
}

fn find(
    suspect: &Suspect,
    turns: &[Turn],
    plan: &Plan,
    cores: &Cores,
    means: Means<'_>,
) -> Result<Vec<Cause>, Error> {
    let schedule = plan.schedule();
    let site = Site::new(suspect.variant.deployment.user_planes())?;
    let setup = Setup {
        variant: suspect.variant,
        cores,
        site: &site,
        payload: suspect.payload,
        rate: suspect.throughput * OFFERED,
        trial: schedule.intervention,
        origin: plan.routes,
    };
    let mut scene = Scene::start(setup, means)?;
    let mut seen = Rounds::new(turns.len(), plan.seed);
    seen.run(schedule.rounds, |place| scene.run(turns[place]))?;
    let measures = suspect.victims.iter().flat_map(|&victim| match victim {
        Plane::User => vec![Measure::Loss, Measure::DelayP99],
        Plane::Management => vec![Measure::Response],
    });
    Ok(measures
        .filter_map(|measure| cause(suspect, measure, turns, &seen, plan.seed))
        .collect())
}

/// The figures of one measure, judged; `None` when the plane is not disturbed by it, or a trial has
/// no figure.
fn cause(
    suspect: &Suspect,
    measure: Measure,
    turns: &[Turn],
    seen: &Rounds<Seen>,
    seed: u64,
) -> Option<Cause> {
    let victim = measure.plane();
    let values = |wanted: Turn| -> Option<Vec<f64>> {
        let place = turns.iter().position(|&turn| turn == wanted)?;
        seen.of(place)
            .map(|seen| match measure {
                Measure::Loss => seen.loss,
                Measure::DelayP99 => seen.delay,
                Measure::Response => seen.response,
            })
            .collect()
    };
    let rounds = Observed {
        alone: values(Turn::Alone(victim))?,
        beside: values(Turn::Both)?,
        again: values(Turn::Again)?,
        registers: values(Turn::Pressed(victim, host::pressure::Channel::Clock))?,
    };
    let probes: Vec<Probe> = turns
        .iter()
        .filter_map(|&turn| {
            let (of, channel, method, counts) = turn.intervention()?;
            (of == victim).then_some(())?;
            Some(Probe {
                channel: channel.to_owned(),
                method,
                counts,
                values: values(turn)?,
            })
        })
        .collect();
    let judged = judge(&rounds, &probes, seed)?;
    Some(Cause {
        variant: suspect.variant,
        plane: victim,
        measure,
        alone: judged.alone,
        beside: judged.beside,
        rounds: rounds.alone.len(),
        channels: judged.channels,
        explained: judged.explained,
        remainder: (1.0 - judged.explained).max(0.0),
    })
}
