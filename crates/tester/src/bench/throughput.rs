//! Throughput: the highest rate at which every frame comes back (RFC 2544 §26.1; RFC 1242 §3.17),
//! and loss ratio goals.

use super::{Finding, Subject, Verdict, complaint, disturbed, entry, failed, goals, invalid};
use crate::honest::{self, Grade};
use crate::result::{Details, Entry, Test, Throughput};
use crate::schedule::Schedule;
use crate::search::mlr::Goal;
use crate::search::{Bisection, Ended, Found, Limit, Phase, Probe};
use crate::session::{LONGER, RFC_SECONDS, Session};
use crate::trial::{Trial, Validity};

/// Searches the throughput up to `high` frames/s in each direction.
///
/// What it finds is offered once more, for longer ([`look_seconds`]). If the device gives out less
/// then, its buffers bridged the shorter trials. If it loses frames by itself in more than half of
/// the stretches, the shorter trials passed by chance. Either way the search is made again below
/// with trials of that length; and so on.
///
/// [`look_seconds`]: crate::profile::Profile::look_seconds
pub fn search(session: &mut Session<'_>, high: f64) -> Found<f64> {
    search_unbridged(session, high).found
}

/// What a search found, and what its longer trials said of that.
struct Unbridged {
    found: Found<f64>,
    bridge: Option<Bridge>,
    /// Why no trial of the length to be looked at says whether buffers bridged shorter ones.
    unlooked: Option<String>,
}

/// As [`search`].
fn search_unbridged(session: &mut Session<'_>, high: f64) -> Unbridged {
    session.begin_search();
    let found = search_and_look(session, high);
    session.end_search();
    found
}

fn search_and_look(session: &mut Session<'_>, high: f64) -> Unbridged {
    let profile = session.profile;
    let mut found = usual(session, high);
    let (mut bridge, mut unlooked) = (None, None);
    let mut decided = profile.final_seconds;
    // What passed in the trials that were too short, and how long those were.
    let mut shorter = None;
    let mut seconds = profile.look_seconds;
    while seconds > decided && seconds <= RFC_SECONDS {
        let Some(rate) = found.lower else {
            break;
        };
        let because = match longer(session, rate, seconds, decided) {
            Longer::Carried => break,
            Longer::Unknown(why) => {
                let left = shorter.map(|shorter| bridged(shorter, (rate, decided)));
                let is_near = left.is_some_and(|left| left <= profile.resolution / 2.0);
                unlooked = (decided < profile.look_seconds || !is_near).then_some(why);
                break;
            }
            Longer::Less(long, why) => {
                shorter = Some((rate, decided));
                decided = long;
                why
            }
        };
        let mut again = bisect_longer(session, least(session, rate), decided);
        if again.ended == Ended::Stopped && again.lower.is_none() {
            // What shorter trials found is known at least.
            unlooked = Some(format!(
                "none of {decided} s passed before the search ended"
            ));
            break;
        }
        if again.limit == Limit::Range {
            // The rate that has just failed is the upper bound.
            (again.upper, again.limit) = (Some(rate), Limit::Device);
        }
        found = again;
        bridge = Some(Bridge {
            rate: bridge.map_or(rate, |first: Bridge| first.rate),
            seconds: decided,
            because: bridge.map_or(because, |first| first.because),
        });
        if matches!(because, Short::Loss) {
            // Only buffers look different for longer still.
            break;
        }
        seconds = decided * LONGER;
    }
    Unbridged {
        found,
        bridge,
        unlooked,
    }
}

/// What buffers still bridge of a rate that passed in trials of so many seconds, as a share of it,
/// where another passed in shorter ones: what a buffer adds to a rate falls with the length.
fn bridged(shorter: (f64, f64), (rate, seconds): (f64, f64)) -> f64 {
    let held = (shorter.0 - rate).max(0.0) / (1.0 / shorter.1 - 1.0 / seconds);
    held / seconds / rate
}

/// The usual trials of a search were too short.
#[derive(Debug, Clone, Copy)]
struct Bridge {
    /// What passed in those, frames/s.
    rate: f64,
    /// How long those were that decided in their place, s.
    seconds: f64,
    /// For what.
    because: Short,
}

/// What a trial was too short to show.
#[derive(Debug, Clone, Copy)]
enum Short {
    /// Buffers of the device gave out less than they took in.
    Buffers,
    /// The device loses frames at the rate, but not in each short trial.
    Loss,
}

/// What trials show that are longer than those of the search.
enum Longer {
    /// The device carries the rate.
    Carried,
    /// It does not in a trial of so many seconds.
    Less(f64, Short),
    /// None of them tells: the last one's reason.
    Unknown(String),
}

/// Offers `rate` for so many seconds. Where the tester fails in that, or frames are lost while others
/// have a core that is needed, half as long, while that is longer than the trials that `decided`.
fn longer(session: &mut Session<'_>, rate: f64, mut seconds: f64, decided: f64) -> Longer {
    let least = least(session, rate);
    let mut because = String::new();
    while seconds > decided {
        if session.is_late() {
            return Longer::Unknown("the search had no time left".to_owned());
        }
        session.say(&format!("{seconds} s at what was found"));
        let Some(trial) = session.long_trial((rate, least), seconds, "long look") else {
            return Longer::Unknown("the run was stopped".to_owned());
        };
        match &trial.validity {
            Validity::Invalid(reason) => because.clone_from(reason),
            _ if trial.carries(least) => return Longer::Carried,
            _ if trial.gives_out(least) => return Longer::Less(seconds, Short::Loss),
            Validity::Valid => return Longer::Less(seconds, Short::Buffers),
            Validity::Noisy(_) if !trial.is_loss_theirs() => {
                return Longer::Less(seconds, Short::Buffers);
            }
            // What was lost while others had the device's core says nothing of its buffers.
            Validity::Noisy(reason) => because.clone_from(reason),
        }
        seconds /= 2.0;
    }
    Longer::Unknown(because)
}

/// What a device that carries `rate` gives out at least, frames/s: it is said to carry no more than
/// the resolution tells apart.
fn least(session: &Session<'_>, rate: f64) -> f64 {
    rate * (1.0 - session.profile.resolution / 2.0)
}

/// Searches with the usual trials. Where hints are followed, it begins at a small multiple of what
/// comes through at most load: trials far beyond both tester and device would be most of its time.
/// A device that carries all of that is asked for more.
fn usual(session: &mut Session<'_>, high: f64) -> Found<f64> {
    let profile = session.profile;
    let (search, decide) = (profile.search_seconds, profile.final_seconds);
    if profile.follow_hints
        && let Some(top) = top(session, high, search)
    {
        let found = bisect(session, top, search, decide);
        if found.limit != Limit::Range {
            return found;
        }
    }
    bisect(session, high, search, decide)
}

/// Where a search may begin below `high`.
fn top(session: &mut Session<'_>, high: f64, seconds: f64) -> Option<f64> {
    /// A device that is overloaded may bring less than it can.
    const OVERLOADED: f64 = 2.0;
    session.say("at most load");
    let schedule = Schedule::constant(high, seconds);
    let trial = session.trial(&schedule, "at most load", None)?;
    let top = OVERLOADED * trial.forwarded_each();
    (top > 0.0 && top < high).then_some(top)
}

/// Searches with trials of so many seconds, and of so many that decide.
fn bisect(session: &mut Session<'_>, high: f64, search: f64, decide: f64) -> Found<f64> {
    bisection(session, high).run(|probe| {
        let (seconds, purpose) = match probe.phase {
            Phase::Search => (search, "search"),
            Phase::Confirm => (decide, "confirm"),
        };
        session.say(&words_of(&probe, purpose));
        session.outcome(probe.amount, seconds, purpose)
    })
}

/// Searches up to `high` with longer trials, of `seconds`, for what the device gives out. Each is
/// worth several of the usual ones. Others can only take from it, so one that passes decides, and one
/// that fails is run again.
fn bisect_longer(session: &mut Session<'_>, high: f64, seconds: f64) -> Found<f64> {
    let decide = session.profile.final_seconds;
    let search = Bisection {
        repeats: 2,
        passes: 1,
        ..bisection(session, high)
    };
    search.run(|probe| match probe.phase {
        Phase::Search => {
            session.say(&words_of(&probe, "longer search"));
            let least = least(session, probe.amount);
            session.long_outcome((probe.amount, least), seconds)
        }
        Phase::Confirm => {
            session.say(&words_of(&probe, "confirm"));
            session.outcome(probe.amount, decide, "confirm")
        }
    })
}

/// The session's search up to `high`. Where the trials that decide are no longer than those of the
/// search and a longer look follows, that confirms the answer.
fn bisection(session: &Session<'_>, high: f64) -> Bisection<f64> {
    let profile = session.profile;
    let plain = Bisection::new(high, profile.resolution);
    let longer = profile.final_seconds > profile.search_seconds;
    let looks = profile.look_seconds > profile.final_seconds;
    Bisection {
        confirmations: if looks && !longer {
            0
        } else {
            plain.confirmations
        },
        repeats: profile.tries,
        passes: profile.passes,
        follow_hints: profile.follow_hints,
        ..plain
    }
}

/// What a search asks for, in words.
fn words_of(probe: &Probe<f64>, purpose: &str) -> String {
    format!(
        "{} {:.4} M frames/s, bounds {:.4} to {:.4}",
        purpose,
        probe.amount / 1e6,
        probe.low / 1e6,
        probe.high / 1e6
    )
}

/// The rate of a test that builds on a throughput: as stated, or searched for. `purpose` says what
/// the rate is for.
///
/// # Errors
/// Nothing was stated and nothing was found.
pub(super) fn or_stated(
    session: &mut Session<'_>,
    subject: &Subject,
    stated: Option<f64>,
    purpose: &str,
) -> Result<f64, Verdict> {
    let high = high(session, subject);
    stated
        .or_else(|| search(session, high).lower)
        .ok_or_else(|| {
            failed(format!(
                "no throughput to {purpose}: {}",
                complaint(session)
            ))
        })
}

/// The test. `goals` of a loss ratio search are pursued afterwards, over what the tester offers.
pub fn run(session: Session<'_>, subject: &Subject, goals: &[(&str, Goal)]) -> Entry {
    entry(session, Test::Throughput, subject, |session| {
        let high = high(session, subject);
        let searched = search_unbridged(session, high);
        let found = searched.found;
        let bounds = if goals.is_empty() || session.stopped().is_some() {
            Vec::new()
        } else {
            goals::pursue(session, high, goals)
        };
        let early = (found.ended == Ended::Stopped).then(|| early(session));
        let verdict = match (found.lower, early) {
            (Some(rate), Some(early)) => (
                Grade::Limited,
                format!("{early}: {rate:.0} frames/s passed, the bounds are still open"),
            ),
            (Some(rate), None) => {
                let noise = searched.unlooked.as_deref().map(unconfirmed);
                let noise = noise.or_else(|| doubt(session, &found));
                honest::grade(rate, subject.selftest, found.limit, noise.as_deref())
            }
            (None, Some(early)) => invalid(format!(
                "{early}, and no rate had passed; in the last trial, {}",
                complaint(session)
            )),
            (None, None) if found.limit == Limit::Tester => {
                invalid("the tester could not offer any rate of the range as intended")
            }
            (None, None) if found.ended == Ended::Unconfirmed => failed(format!(
                "no rate held in full-length trials; in the last, {}",
                complaint(session)
            )),
            (None, None) => failed(complaint(session)),
        };
        let bridged = searched.bridge.map(|bridge| words(session, bridge));
        let unlooked = searched.unlooked.as_deref().map(unconfirmed);
        let unlooked = unlooked.filter(|words| *words != verdict.1);
        let because = [verdict.1].into_iter().chain(bridged).chain(unlooked);
        let verdict = (verdict.0, because.collect::<Vec<_>>().join("; "));
        // A search begins with the most.
        let first = session.trials().first();
        let first = first.filter(|trial| trial.is_trusted());
        let limit = match found.limit {
            Limit::Device => "device",
            Limit::Range => "range",
            Limit::Tester => "tester",
        };
        let ended = match found.ended {
            Ended::Converged => "converged and confirmed",
            Ended::Unconfirmed => "no rate held at full length",
            Ended::NothingPassed => "no rate passed",
            Ended::Stopped => "stopped",
        };
        Ok(Finding {
            rate: found.lower,
            verdict,
            details: Details::Throughput(Throughput {
                at_most_load: first.map(Trial::forwarded_each),
                drain_ns: first.and_then(|trial| trial.drain_ns),
                lower: found.lower,
                upper: found.upper,
                limit: limit.to_owned(),
                ended: ended.to_owned(),
                unlooked: searched.unlooked,
                goals: bounds,
            }),
        })
    })
}

/// Why a search has not converged.
fn early(session: &Session<'_>) -> String {
    if session.stopped().is_none() {
        format!("stopped after {} s", session.profile.size_seconds)
    } else {
        "stopped early".to_owned()
    }
}

/// What is to be said of a result that no longer trial confirms.
fn unconfirmed(why: &str) -> String {
    format!("buffers of the device may have bridged its trials, for no longer one tells: {why}")
}

/// Which trials decided, and why no shorter ones.
fn words(session: &Session<'_>, bridge: Bridge) -> String {
    let (short, rate, long) = (session.profile.final_seconds, bridge.rate, bridge.seconds);
    match bridge.because {
        Short::Buffers => format!(
            "buffers of the device bridged trials of {short} s, in which {rate:.0} frames/s passed: \
             those of {long} s decide"
        ),
        Short::Loss => format!(
            "trials of {short} s, in which {rate:.0} frames/s passed, are too short for the \
             device's losses: those of {long} s decide"
        ),
    }
}

/// Why the answer is doubtful: most trials that decided one of its bounds were disturbed.
fn doubt(session: &Session<'_>, found: &Found<f64>) -> Option<String> {
    /// Whole frames move a rate by less than this share, steps of a search by more.
    const SAME: f64 = 1e-3;
    let bounds = [
        (found.upper, false, "failed"),
        (found.lower, true, "passed"),
    ];
    bounds.into_iter().find_map(|(bound, passed, word)| {
        let bound = bound?;
        let near = |rate: f64| (rate - bound).abs() <= SAME * bound;
        let decided = |trial: &&Trial| {
            !trial.repeated
                && trial.validity.counts()
                && (trial.passes() && !trial.filled) == passed
                && trial.intended_rate.is_some_and(near)
        };
        let trials = session.trials().iter().filter(decided);
        let which = format!(" that {word} at {bound:.0} frames/s");
        disturbed(trials, 0.5, &which)
    })
}

/// Upper end of a search: what the tester can do in its self-test, and the medium's rate.
pub(super) fn high(session: &Session<'_>, subject: &Subject) -> f64 {
    subject
        .selftest
        .map_or(session.ceiling(), |limit| limit.min(session.ceiling()))
}
