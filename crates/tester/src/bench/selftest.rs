//! The self-test: the same ports and cores with a wire in place of the device. Its limit stands
//! beside every result.

use super::{Finding, Subject, complaint, entry, invalid, noise};
use crate::honest::{CLEAN, Grade};
use crate::latency::Latency;
use crate::result::{Details, Entry, Selftest, Test};
use crate::schedule::Schedule;
use crate::session::Session;
use crate::trial::Trial;

/// After the tester failed at a rate it asks for what it did, but for at least and at most so much of
/// the rate: one trial may have been held up for most of its time, or for nearly none.
const BACK_OFF: (f64, f64) = (0.7, 0.97);
/// Attempts to find the rate that the tester holds.
const ATTEMPTS: u32 = 24;
/// Frames of a trial that say whether it holds a rate. Fewer come through by chance, whatever others
/// do on its cores.
const TELLING: f64 = 100.0;

/// Finds the highest rate that the tester offers, receives and checks without loss.
///
/// A burst as fast as it goes shows the order of magnitude; from there down in steps until a trial
/// passes twice in a row. No bisection: a tester's limit is soft, and what is wanted is a
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
            .filter(|&rate| rate <= session.ceiling() && fails_at(session, rate, seconds).is_none())
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

/// Tries whether the tester carries a rate twice in a row without loss; what it carried where not,
/// frames/s.
fn fails_at(session: &mut Session<'_>, rate: f64, seconds: f64) -> Option<f64> {
    let schedule = Schedule::constant(rate, seconds);
    (0..2).find_map(|_| match session.trial(&schedule, "self-test", None) {
        Some(trial) if trial.passes() => None,
        trial => Some(trial.map_or(0.0, |trial| trial.forwarded_each())),
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
    let least = (TELLING / seconds).min(ceiling);
    for _ in 0..ATTEMPTS {
        if rate < least || session.stopped().is_some() {
            break;
        }
        let Some(carried) = fails_at(session, rate, seconds) else {
            return Some(rate);
        };
        rate = carried.clamp(BACK_OFF.0 * rate, BACK_OFF.1 * rate);
    }
    None
}
