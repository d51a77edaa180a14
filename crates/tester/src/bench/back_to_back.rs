//! Back-to-back frames (RFC 2544 §26.4 as replaced by RFC 9004): the longest burst without loss,
//! and the buffer it implies.
//!
//! A software sender cannot hold a medium's smallest gap. Where the medium has no rate, or the
//! tester does not reach it, the rate within the bursts as measured takes the place of the "maximum
//! theoretical frame rate", and the report says so.

use super::{Finding, Subject, complaint, entry, failed, invalid, mean, noise, throughput};
use crate::honest;
use crate::result::{BackToBack, Details, Entry, Test};
use crate::schedule::Schedule;
use crate::search::{Bisection, Limit, TrialOutcome};
use crate::session::Session;

/// Buffer times of RFC 9004 §6, s: implied, and corrected for what the device forwards while the
/// burst arrives.
///
/// `burst` frames on average, `burst_rate` within the burst and `throughput`, both in frames/s.
pub fn buffer_times(burst: f64, burst_rate: f64, throughput: f64) -> (f64, f64) {
    let implied = burst / burst_rate;
    (implied, implied * (1.0 - throughput / burst_rate))
}

/// What the repeated searches found.
#[derive(Default)]
struct Bursts {
    longest: Vec<u64>,
    rates: Vec<f64>,
    /// A search ended at its limit, or at the tester's.
    unbounded: bool,
}

/// The test, with `throughput` in frames/s or after searching it.
pub fn run(session: Session<'_>, subject: &Subject, throughput: Option<f64>) -> Entry {
    entry(session, Test::BackToBack, subject, |session| {
        let throughput = throughput::or_stated(session, subject, throughput, "correct with")?;
        let high = throughput::high(session, subject);
        let limit = (high * session.profile.burst_seconds).max(64.0) as u64;
        let bursts = search(session, limit);
        let burst_rate = mean(&bursts.rates);
        let values: Vec<f64> = bursts.longest.iter().map(|&burst| burst as f64).collect();
        let average = mean(&values);
        let squares: f64 = values.iter().map(|value| (value - average).powi(2)).sum();
        let (implied_seconds, corrected_seconds) = if burst_rate > 0.0 {
            buffer_times(average, burst_rate, throughput)
        } else {
            (0.0, 0.0)
        };
        let (rate, verdict) = if values.is_empty() {
            (
                None,
                failed(format!("no burst passed; {}", complaint(session))),
            )
        } else if burst_rate <= throughput {
            let reason = format!(
                "not measurable with this tester: its bursts run at {burst_rate:.0} frames/s, the \
                 device carries {throughput:.0} all the time"
            );
            (None, invalid(reason))
        } else if bursts.unbounded {
            let reason = format!(
                "a burst of {limit} frames, the longest tried, still passed; repeat with a higher \
                 limit (RFC 9004 §5.4)"
            );
            (None, invalid(reason))
        } else {
            let (limit, noise) = (Limit::Device, noise(session));
            let verdict = honest::grade(throughput, Some(burst_rate), limit, noise.as_deref());
            (Some(throughput), verdict)
        };
        let details = Details::BackToBack(BackToBack {
            bursts: bursts.longest,
            average,
            deviation: (squares / (values.len().max(2) - 1) as f64).sqrt(),
            limit,
            burst_rate,
            throughput,
            implied_seconds,
            corrected_seconds,
        });
        Ok(Finding {
            rate,
            verdict,
            details,
        })
    })
}

/// Independent searches for the longest burst without loss, up to `limit` frames.
fn search(session: &mut Session<'_>, limit: u64) -> Bursts {
    let profile = session.profile;
    let mut bursts = Bursts::default();
    for repeat in 1..=profile.burst_repeats {
        session.say(&format!(
            "back-to-back, search {repeat} of {}",
            profile.burst_repeats
        ));
        let search = Bisection {
            step: 1,
            resolution: profile.resolution / 2.0,
            repeats: profile.tries,
            confirmations: 0,
            ..Bisection::new(limit, 0.0)
        };
        let found = search.run(|probe| {
            match session.valid_trial(&Schedule::burst(probe.amount), "burst", None) {
                None => TrialOutcome::Stop,
                Some(trial) if trial.validity.counts() => {
                    if trial.counts.sent > 2 * u64::from(trial.batch) {
                        bursts.rates.push(trial.offered_rate);
                    }
                    if trial.passes() {
                        TrialOutcome::Pass
                    } else {
                        TrialOutcome::Fail { carried: None }
                    }
                }
                Some(_) => TrialOutcome::Invalid { offered: None },
            }
        });
        if session.stopped().is_some() {
            break;
        }
        bursts.unbounded |= found.limit != Limit::Device;
        bursts.longest.extend(found.lower);
    }
    bursts
}

#[cfg(test)]
#[path = "../../tests/unit/back_to_back.rs"]
mod tests;
