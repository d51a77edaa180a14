//! The frame loss curve (RFC 2544 §26.3): loss against offered rate, from the maximum down to two
//! rates in a row without loss.

use super::{Finding, Subject, complaint, entry, failed, invalid, throughput};
use crate::result::{Details, Entry, LossPoint, Test};
use crate::schedule::Schedule;
use crate::search::Limit;
use crate::session::Session;

/// Plans the curve: which share of the maximum comes next, given the loss at those before.
#[derive(Debug, Clone)]
pub struct Plan {
    step: f64,
    extra: u32,
    next: f64,
    zeros: u32,
    done: Vec<(f64, f64)>,
}

impl Plan {
    /// A curve in steps of `step` (at most a tenth, §26.3), then `extra` points towards the knee.
    pub fn new(step: f64, extra: u32) -> Self {
        Self {
            step: step.clamp(0.001, 0.1),
            extra,
            next: 1.0,
            zeros: 0,
            done: Vec::new(),
        }
    }

    /// A single point, at the maximum.
    pub fn one_point() -> Self {
        Self {
            step: 1.0,
            ..Self::new(0.1, 0)
        }
    }

    /// The next share to try, or `None` at the end.
    pub fn next_share(&mut self) -> Option<f64> {
        if self.zeros < 2 && self.next > self.step / 2.0 {
            return Some(self.next);
        }
        if self.extra == 0 {
            return None;
        }
        self.extra -= 1;
        let clean = self
            .done
            .iter()
            .filter(|(_, loss)| *loss <= 0.0)
            .map(|(share, _)| *share)
            .fold(0.0, f64::max);
        let lossy = self
            .done
            .iter()
            .filter(|(share, loss)| *loss > 0.0 && *share > clean)
            .map(|(share, _)| *share);
        let lossy = lossy.fold(f64::INFINITY, f64::min);
        (clean > 0.0 && lossy.is_finite()).then(|| clean.midpoint(lossy))
    }

    /// Takes the loss ratio at a share.
    pub fn measured(&mut self, share: f64, loss_ratio: f64) {
        self.done.push((share, loss_ratio));
        if self.zeros < 2 {
            self.zeros = if loss_ratio <= 0.0 { self.zeros + 1 } else { 0 };
            self.next -= self.step;
        }
    }
}

/// The test. 100 % is the medium's rate, or where there is none the most that the tester has proved
/// in its self-test. With `only` in frames/s there is one point, at that rate.
pub fn run(session: Session<'_>, subject: &Subject, only: Option<f64>) -> Entry {
    entry(session, Test::Loss, subject, |session| {
        let maximum = only.unwrap_or_else(|| throughput::high(session, subject));
        let profile = session.profile;
        let mut plan = match only {
            Some(_) => Plan::one_point(),
            None => Plan::new(profile.loss_step, profile.loss_knee_points),
        };
        let mut clean: Option<f64> = None;
        let mut points: Vec<LossPoint> = Vec::new();
        while let Some(share) = plan.next_share() {
            let purpose = format!("loss at {:.1} %", share * 100.0);
            session.say(&format!("{purpose} of the maximum"));
            let schedule = Schedule::constant(maximum * share, profile.loss_seconds);
            let Some(trial) = session.valid_trial(&schedule, &purpose, None) else {
                break;
            };
            if trial.passes() {
                clean = Some(trial.offered_rate.max(clean.unwrap_or(0.0)));
            }
            let counts = &trial.counts;
            if !trial.validity.counts() {
                // An undersent trial has no place on the curve, but its rate has been dealt with.
                plan.measured(share, f64::MIN_POSITIVE);
                continue;
            }
            plan.measured(share, counts.loss_ratio());
            points.push(LossPoint {
                share,
                rate: trial.offered_rate,
                loss_ratio: counts.loss_ratio(),
                runs: counts.loss_runs,
                longest: counts.longest_loss_run,
            });
        }
        points.sort_by(|a, b| b.share.total_cmp(&a.share));
        // Nothing more than the stated rate was asked of the device, so nothing held it down.
        let limit = if only.is_some() || points.iter().any(|point| point.loss_ratio > 0.0) {
            Limit::Device
        } else {
            Limit::Tester
        };
        let verdict = match clean {
            _ if points.is_empty() => invalid("no trial of the curve was valid"),
            Some(rate) => subject.grade(session, rate, limit),
            None => failed(format!("no rate passed; {}", complaint(session))),
        };
        Ok(Finding {
            rate: clean,
            verdict,
            details: Details::Loss { maximum, points },
        })
    })
}

#[cfg(test)]
#[path = "../../tests/unit/loss.rs"]
mod tests;
