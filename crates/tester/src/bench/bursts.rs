//! Bursty traffic (RFC 2544 §21): bursts of 16, 64, 256 and 1024 frames, each as fast as the tester
//! sends, and the smallest interval between the beginnings of two bursts at which nothing is lost.

use super::{Finding, Subject, complaint, entry, failed, throughput};
use crate::result::{BurstPoint, Details, Entry, Test};
use crate::schedule::{Schedule, TOLERANCE};
use crate::search::{Bisection, Limit, Phase, TrialOutcome};
use crate::session::Session;
use crate::trial::{Trial, Validity};

/// Frames in a burst (§21).
pub const LENGTHS: [u64; 4] = [16, 64, 256, 1024];

/// The test. The result of the whole is the least of the rates that the bursts amount to.
pub fn run(session: Session<'_>, subject: &Subject) -> Entry {
    entry(session, Test::Bursts, subject, |session| {
        let high = throughput::high(session, subject);
        let mut limit = Limit::Device;
        let mut points = Vec::new();
        for length in LENGTHS {
            if session.stopped().is_some() {
                break;
            }
            let found = search(session, length, high / length as f64);
            if found.limit != Limit::Device {
                limit = found.limit;
            }
            points.push(BurstPoint {
                frames: length,
                interval_ns: found.lower.map(interval_ns),
                frames_per_second: found.lower.map(|bursts| bursts * length as f64),
            });
        }
        let rates = points.iter().map(|point| point.frames_per_second);
        // One length without a result leaves the whole without one.
        let least = rates
            .collect::<Option<Vec<f64>>>()
            .and_then(|rates| rates.into_iter().reduce(f64::min));
        let verdict = match least {
            Some(rate) => subject.grade(session, rate, limit),
            None => failed(format!(
                "bursts of some length were lost at every interval; {}",
                complaint(session)
            )),
        };
        Ok(Finding {
            rate: least,
            verdict,
            details: Details::Bursts { points },
        })
    })
}

fn interval_ns(bursts_per_second: f64) -> u64 {
    (1e9 / bursts_per_second).round() as u64
}

/// Searches the most bursts of a length per second up to `high`.
fn search(session: &mut Session<'_>, length: u64, high: f64) -> crate::search::Found<f64> {
    let profile = session.profile;
    let search = Bisection {
        repeats: profile.tries,
        passes: profile.passes,
        follow_hints: profile.follow_hints,
        ..Bisection::new(high, profile.resolution)
    };
    search.run(|probe| {
        let seconds = match probe.phase {
            Phase::Search => profile.search_seconds,
            Phase::Confirm => profile.final_seconds,
        };
        session.say(&format!(
            "bursts of {length} every {:.1} us, bounds {:.1} to {:.1} us",
            1e6 / probe.amount,
            1e6 / probe.high,
            1e6 / probe.low.max(f64::MIN_POSITIVE)
        ));
        let interval = interval_ns(probe.amount);
        let schedule = Schedule::bursts(length, f64::INFINITY, interval, seconds);
        let mut offered = None;
        for left in (0..=profile.retries).rev() {
            match session.trial(&schedule, "bursts", None) {
                None => return TrialOutcome::Stop,
                Some(trial) if !kept(&trial, &schedule, interval) => {
                    let each = trial.counts.sent as f64 / f64::from(trial.senders.max(1));
                    let bursts = each / length as f64 / trial.seconds.max(f64::MIN_POSITIVE);
                    offered = (bursts < probe.amount).then_some(bursts);
                }
                // Whatever came of it.
                Some(trial) if left > 0 && trial.validity != Validity::Valid => {}
                Some(trial) if trial.passes() => return TrialOutcome::Pass,
                Some(trial) => {
                    let carried = Some(trial.forwarded_each() / length as f64);
                    return TrialOutcome::Fail { carried };
                }
            }
        }
        TrialOutcome::Invalid { offered }
    })
}

/// Whether a trial counts and its bursts kept their interval: a burst that is sent late shortens
/// the rest after it.
fn kept(trial: &Trial, schedule: &Schedule, interval_ns: u64) -> bool {
    let intended = schedule.segments().len() as f64 * interval_ns as f64 / 1e9;
    trial.validity.counts() && trial.seconds <= intended * (1.0 + TOLERANCE)
}
