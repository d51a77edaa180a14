//! Reset (RFC 2544 §26.6, RFC 6201): how long nothing is forwarded when the device is reset under
//! load.
//!
//! Two methods are printed, and check each other: lost frames over the rate, and the longest
//! silence between two arrivals.

use super::{Finding, Subject, entry, failed, invalid, mean, throughput};
use crate::result::{Details, Entry, Reset, Test};
use crate::rig::Event;
use crate::schedule::Schedule;
use crate::search::Limit;
use crate::session::Session;
use crate::trial::LastLoss;

/// The test at `rate` frames/s or, without one, at the throughput that it searches first; `reset`
/// is done to the device in every trial and described by `action`.
pub fn run(
    session: Session<'_>,
    subject: &Subject,
    rate: Option<f64>,
    action: &str,
    reset: &(dyn Fn() + Sync),
) -> Entry {
    entry(session, Test::Reset, subject, |session| {
        let rate = throughput::or_stated(session, subject, rate, "reset at")?;
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
        let mut unplaced = 0;
        for repeat in 1..=profile.reset_repeats {
            session.say(&format!(
                "reset {repeat} of {}: {action}",
                profile.reset_repeats
            ));
            let event = Event {
                at_ns: (before * 1e9) as u64,
                action: reset,
            };
            let Some(trial) = session.trial(&schedule, "reset", Some(event)) else {
                break;
            };
            // A silence that lasts to the end is no reset time: the device did not come back.
            let senders = u64::from(trial.senders.max(1));
            let end = schedule.departure_ns(trial.counts.sent / senders);
            let returned = match trial.last_loss() {
                LastLoss::Nothing => true,
                LastLoss::At(last) | LastLoss::Before(last) => last + 1_000_000 < end,
                LastLoss::Unknown => {
                    unplaced += 1;
                    continue;
                }
            };
            if trial.validity.counts() && !returned {
                found.never_returned += 1;
            } else if trial.validity.counts() {
                found.lost.push(trial.counts.lost);
                // Each sender has the rate, and the losses are those of all.
                let all = rate * senders as f64;
                found.by_loss_ms.push(trial.counts.lost as f64 / all * 1e3);
                let silence = trial.longest_silence_ns;
                found
                    .by_silence_ms
                    .extend(silence.map(|ns| ns as f64 / 1e6));
            }
        }
        found.average_ms = mean(&found.by_loss_ms);
        let (rate, verdict) = if found.never_returned > 0 {
            let trials = found.by_loss_ms.len() as u32 + found.never_returned;
            let reason = format!(
                "in {} of {trials} trials the device did not forward again within {after} s",
                found.never_returned
            );
            (None, failed(reason))
        } else if unplaced > 0 {
            let reason = format!(
                "in {unplaced} trials nobody knows when the last frame was lost, so not whether \
                 the device came back"
            );
            (None, invalid(reason))
        } else if found.by_loss_ms.is_empty() {
            (None, invalid("no trial was valid"))
        } else {
            let verdict = subject.grade(session, rate, Limit::Device);
            (Some(rate), verdict)
        };
        Ok(Finding {
            rate,
            verdict,
            details: Details::Reset(found),
        })
    })
}
