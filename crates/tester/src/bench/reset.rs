//! Reset (RFC 2544 §26.6, RFC 6201): how long nothing is forwarded when the device is reset under
//! load.
//!
//! Two methods are printed, and check each other: lost frames over the rate, and the longest
//! silence between two arrivals.

use super::{Subject, complaint, entry, mean, noise, throughput};
use crate::honest::{self, Grade};
use crate::result::{Details, Entry, Reset, Test};
use crate::rig::Event;
use crate::schedule::Schedule;
use crate::search::Limit;
use crate::session::Session;

/// The test at `rate` frames/s or, without one, at the throughput that it searches first; `reset`
/// is done to the device in every trial and described by `action`.
pub fn run(
    mut session: Session<'_>,
    subject: &Subject,
    rate: Option<f64>,
    action: &str,
    reset: &(dyn Fn() + Sync),
) -> Entry {
    let high = throughput::high(&session, subject);
    let rate = rate.or_else(|| throughput::search(&mut session, high).lower);
    let Some(rate) = rate else {
        let verdict = (
            Grade::Failed,
            format!("no throughput to reset at: {}", complaint(&session)),
        );
        return entry(session, Test::Reset, subject, None, verdict, Details::None);
    };
    let profile = session.profile;
    let (before, after) = profile.reset_seconds;
    let schedule = Schedule::constant(rate, before + after);
    let mut found = Reset {
        action: action.to_owned(),
        lost: Vec::new(),
        by_loss_ms: Vec::new(),
        by_silence_ms: Vec::new(),
        average_ms: 0.0,
        never_returned: 0,
    };
    for repeat in 1..=profile.reset_repeats {
        session.say(&format!(
            "reset {repeat} of {}: {action}",
            profile.reset_repeats
        ));
        let event = Event {
            at_ns: (before * 1e9) as u64,
            action: reset,
        };
        let Some(trial) = session.trial(schedule.clone(), "reset", Some(event)) else {
            break;
        };
        // A silence that lasts to the end is no reset time: the device did not come back.
        let expected_end = trial.counts.sent;
        let returned = trial
            .last_lost_ns
            .is_none_or(|last| last + 1_000_000 < schedule.departure_ns(expected_end));
        if !trial.validity.counts() {
            continue;
        }
        if !returned {
            found.never_returned += 1;
            continue;
        }
        found.lost.push(trial.counts.lost);
        found.by_loss_ms.push(trial.counts.lost as f64 / rate * 1e3);
        if let Some(silence) = trial.longest_silence_ns {
            found.by_silence_ms.push(silence as f64 / 1e6);
        }
    }
    found.average_ms = mean(&found.by_loss_ms);
    let (rate, verdict) = if !found.by_loss_ms.is_empty() {
        (
            Some(rate),
            honest::grade(
                rate,
                subject.selftest,
                Limit::Device,
                noise(&session).as_deref(),
            ),
        )
    } else if found.never_returned > 0 {
        (
            None,
            (
                Grade::Failed,
                format!("the device did not forward again within {after} s"),
            ),
        )
    } else {
        (None, (Grade::Invalid, "no trial was valid".to_owned()))
    };
    entry(
        session,
        Test::Reset,
        subject,
        rate,
        verdict,
        Details::Reset(found),
    )
}
