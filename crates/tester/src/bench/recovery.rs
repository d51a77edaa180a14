//! System recovery (RFC 2544 §26.5): after an overload the rate falls to half of it; how long is
//! something still lost?
//!
//! The last lost frame is the missing sequence number that was due last; its time is that of the
//! timetable. The RFC's text subtracts the times the wrong way round, and means half of the
//! overload by "50 % of the above rate".

use super::{Finding, Subject, entry, failed, invalid, mean, throughput};
use crate::result::{Details, Entry, Recovery, Test};
use crate::rig::Event;
use crate::schedule::Schedule;
use crate::search::Limit;
use crate::session::Session;
use crate::trial::LastLoss;

/// Overload as a multiple of the throughput.
const OVERLOAD: f64 = 1.1;

/// The test, with `throughput` in frames/s or after searching it. `overloaded` is called when an
/// overload begins, in every trial.
pub fn run(
    session: Session<'_>,
    subject: &Subject,
    throughput: Option<f64>,
    overloaded: Option<&(dyn Fn() + Sync)>,
) -> Entry {
    entry(session, Test::Recovery, subject, |session| {
        let throughput = throughput::or_stated(session, subject, throughput, "exceed")?;
        let profile = session.profile;
        let overload = (throughput * OVERLOAD).min(throughput::high(session, subject));
        let (over_seconds, half_seconds) = profile.recovery_seconds;
        let schedule = Schedule::steps(&[(overload, over_seconds), (overload / 2.0, half_seconds)]);
        let fell_ns = schedule.departure_ns(schedule.segments()[0].frames + 1);
        let mut seconds = Vec::new();
        let (mut without_loss, mut unplaced) = (0, 0);
        for repeat in 1..=profile.recovery_repeats {
            session.say(&format!(
                "recovery {repeat} of {}",
                profile.recovery_repeats
            ));
            let event = overloaded.map(|action| Event { at_ns: 0, action });
            let Some(trial) = session.valid_trial(&schedule, "recovery", event) else {
                break;
            };
            if trial.validity.counts() {
                match trial.last_loss() {
                    LastLoss::At(last) => seconds.push(last.saturating_sub(fell_ns) as f64 / 1e9),
                    LastLoss::Before(time) if time <= fell_ns => seconds.push(0.0),
                    LastLoss::Before(_) | LastLoss::Unknown => unplaced += 1,
                    LastLoss::Nothing => without_loss += 1,
                }
            }
        }
        if !seconds.is_empty() {
            // An overload that lost nothing is not felt at all.
            seconds.extend(std::iter::repeat_n(0.0, without_loss));
        }
        let average = mean(&seconds);
        let (rate, verdict) = if unplaced > 0 {
            let reason = format!(
                "in {unplaced} of {} trials nobody knows when the last frame was lost; make the \
                 time after the overload shorter (--around)",
                unplaced + seconds.len()
            );
            (None, invalid(reason))
        } else if seconds.is_empty() && without_loss > 0 {
            let reason = format!(
                "{overload:.0} frames/s, {:.0} % of the throughput, overloaded nothing: no frame \
                 was lost",
                100.0 * overload / throughput
            );
            (None, invalid(reason))
        } else if seconds.is_empty() {
            (None, invalid("no trial was valid"))
        } else if average >= half_seconds * 0.99 {
            let reason = format!(
                "the device still lost frames at the end, {half_seconds} s after the overload"
            );
            (None, failed(reason))
        } else {
            let verdict = subject.grade(session, overload, Limit::Device);
            (Some(throughput), verdict)
        };
        let details = Details::Recovery(Recovery {
            throughput,
            overload,
            seconds,
            average,
        });
        Ok(Finding {
            rate,
            verdict,
            details,
        })
    })
}
