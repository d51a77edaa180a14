//! The self-test: the same ports and cores with a wire in place of the device. Its limit stands
//! beside every result.

use super::{Finding, Subject, complaint, entry, invalid, noise};
use crate::honest::{CLEAN, Grade};
use crate::latency::Latency;
use crate::result::{Details, Entry, Selftest, Test};
use crate::schedule::Schedule;
use crate::session::Session;
use crate::trial::Trial;

/// Share by which the tester asks for less after it failed at a rate.
const BACK_OFF: f64 = 0.97;
/// Attempts to find the rate that the tester holds.
const ATTEMPTS: u32 = 24;

/// Finds the highest rate that the tester offers, receives and checks without loss.
///
/// A burst as fast as it goes shows the order of magnitude; from there down in small steps until a
/// trial passes twice in a row. No bisection: a tester's limit is soft, and what is wanted is a
/// rate that it holds, not the highest that it ever reached.
///
/// A test at `stated` frames/s does not need the limit: twice that rate is what a clean result asks
/// for (RFC 8219 §9.2.1), so twice that rate is tried first, and the limit is looked for only where
/// it fails.
pub fn run(session: Session<'_>, label: &str, stated: Option<f64>) -> Entry {
    let subject = Subject {
        label: label.to_owned(),
        selftest: None,
    };
    let mut entry = entry(session, Test::Selftest, &subject, |session| {
        let seconds = session.profile.search_seconds;
        session.say("self-test: how fast the tester is by itself");
        let twice = stated.map(|rate| rate * CLEAN);
        let found = twice
            .filter(|&rate| rate <= session.ceiling() && holds(session, rate, seconds))
            .or_else(|| limit(session, seconds));
        let mut delays = |share: f64, purpose: &str| -> Option<Latency> {
            let schedule = Schedule::constant(found? * share, seconds);
            session.valid_trial(&schedule, purpose, None)?.latency
        };
        let floor = delays(0.1, "latency floor");
        let half = delays(0.5, "latency at half load");
        let trials = session.trials().iter();
        let accepted = trials.clone().filter(|trial| trial.validity.counts());
        let details = Selftest {
            rate_error: accepted
                .clone()
                .filter_map(Trial::rate_error)
                .fold(0.0, |most, error| error.abs().max(most)),
            worst_lateness_ns: accepted
                .map(|trial| trial.worst_lateness_ns)
                .max()
                .unwrap_or(0),
            floor,
            half,
            steal: trials.clone().map(|trial| trial.steal).fold(0.0, f64::max),
            involuntary_switches: trials.map(|trial| trial.involuntary_switches).sum(),
        };
        let verdict = match (found, noise(session)) {
            (None, _) => invalid(format!(
                "the tester holds no rate by itself: {}",
                complaint(session)
            )),
            (Some(_), Some(noise)) => (Grade::Noisy, noise),
            (Some(_), None) if found == twice => (
                Grade::Clean,
                "twice the rate of the test, held twice without loss; its limit was not sought"
                    .to_owned(),
            ),
            (Some(_), None) => (Grade::Clean, "held twice without loss".to_owned()),
        };
        Ok(Finding {
            rate: found,
            verdict,
            details: Details::Selftest(details),
        })
    });
    entry.selftest_frames_per_second = entry.frames_per_second;
    entry
}

/// Whether the tester carries a rate twice in a row without loss.
fn holds(session: &mut Session<'_>, rate: f64, seconds: f64) -> bool {
    let schedule = Schedule::constant(rate, seconds);
    (0..2).all(|_| {
        session
            .trial(&schedule, "self-test", None)
            .is_some_and(|trial| trial.passes())
    })
}

/// The highest rate that it holds.
fn limit(session: &mut Session<'_>, seconds: f64) -> Option<f64> {
    let ceiling = session.ceiling();
    let warm = (ceiling * seconds).clamp(1000.0, 7e5) as u64;
    let burst = Schedule::burst(warm);
    session.trial(&burst, "warm-up", None)?;
    let went = session.trial(&burst, "as fast as it goes", None)?;
    let mut rate = went.forwarded_each().min(ceiling);
    for _ in 0..ATTEMPTS {
        if rate < 1.0 || session.stopped().is_some() {
            break;
        }
        if holds(session, rate, seconds) {
            return Some(rate);
        }
        rate *= BACK_OFF;
    }
    None
}
