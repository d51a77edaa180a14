//! The self-test: the same ports and cores with a wire in place of the device. Its limit stands beside every result.

use super::{Subject, complaint, entry, noise};
use crate::honest::Grade;
use crate::latency::Latency;
use crate::result::{Details, Entry, Selftest, Test};
use crate::schedule::Schedule;
use crate::session::Session;

/// Share by which the tester asks for less after it failed at a rate.
const BACK_OFF: f64 = 0.97;
/// Attempts to find the rate that the tester holds.
const ATTEMPTS: u32 = 24;

/// Finds the highest rate that the tester offers, receives and checks without loss.
///
/// A burst as fast as it goes shows the order of magnitude; from there down in small steps until a trial passes twice in a row. No
/// bisection: a tester's limit is soft, and what is wanted is a rate that it holds, not the highest that it ever reached.
pub fn run(mut session: Session<'_>, label: &str) -> Entry {
    let seconds = session.profile.search_seconds;
    session.say("self-test: how fast the tester is by itself");
    let ceiling = session.ceiling();
    let warm = (ceiling * seconds).clamp(1000.0, 7e5) as u64;
    let burst = session.trial(Schedule::burst(warm), "warm-up", None);
    let burst =
        burst.and_then(|_| session.trial(Schedule::burst(warm), "as fast as it goes", None));
    let mut rate = burst
        .map_or(0.0, |trial| {
            trial.forwarded_rate() / f64::from(trial.senders.max(1))
        })
        .min(ceiling);
    let mut found = None;
    for _ in 0..ATTEMPTS {
        if rate < 1.0 {
            break;
        }
        let schedule = Schedule::constant(rate, seconds);
        let passed = (0..2).all(|_| {
            session
                .trial(schedule.clone(), "self-test", None)
                .is_some_and(|trial| trial.passes())
        });
        if passed {
            found = Some(rate);
            break;
        }
        if session.stopped().is_some() {
            break;
        }
        rate *= BACK_OFF;
    }
    let delays = |session: &mut Session<'_>, share: f64, purpose: &str| -> Option<Latency> {
        let schedule = Schedule::constant(found? * share, seconds);
        session.valid_trial(&schedule, purpose)?.latency
    };
    let floor = delays(&mut session, 0.1, "latency floor");
    let half = delays(&mut session, 0.5, "latency at half load");
    let accepted = || {
        session
            .trials()
            .iter()
            .filter(|trial| trial.validity.counts())
    };
    let details = Selftest {
        rate_error: accepted()
            .filter_map(crate::trial::Trial::rate_error)
            .map(f64::abs)
            .fold(0.0, f64::max),
        worst_lateness_ns: accepted()
            .map(|trial| trial.worst_lateness_ns)
            .max()
            .unwrap_or(0),
        floor,
        half,
        steal: session
            .trials()
            .iter()
            .map(|trial| trial.steal)
            .fold(0.0, f64::max),
        involuntary_switches: session
            .trials()
            .iter()
            .map(|trial| trial.involuntary_switches)
            .sum(),
    };
    let verdict = match (found, noise(&session)) {
        (None, _) => (
            Grade::Invalid,
            format!(
                "the tester holds no rate by itself: {}",
                complaint(&session)
            ),
        ),
        (Some(_), Some(noise)) => (Grade::Noisy, noise),
        (Some(_), None) => (Grade::Clean, "held twice without loss".to_owned()),
    };
    let subject = Subject {
        label: label.to_owned(),
        selftest: found,
    };
    entry(
        session,
        Test::Selftest,
        &subject,
        found,
        verdict,
        Details::Selftest(details),
    )
}
