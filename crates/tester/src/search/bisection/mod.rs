//! Bisection of RFC 2544 §26.1: the largest amount at which a trial passes.
//!
//! The RFC names no stop criterion, no rule for the answer's confirmation and none for inconsistent
//! trials. Ours: stop when the bounds are closer than [`Bisection::resolution`]; try the answer
//! once more at full length; if that fails, short trials have been shown to mislead at this device:
//! what they passed is forgotten and the search goes on below with full-length trials
//! only, in strides that double, until [`Bisection::confirmations`] of them have failed. An amount
//! that the tester itself could not offer bounds the search from above too, and the result says
//! that the limit was the tester's.
//!
//! # It ends
//! Whatever the device does, contradicting itself from trial to trial included: bounds only ever
//! approach each other (once, when the confirmation fails, the lower one starts anew), and every
//! amount tried is one of three kinds.
//! - A *hint*, what the device was seen to carry: at most [`HINTS`] in a search.
//! - A *stride* away from a bound. Strides begin at the width that ends the search, double, and are
//!   taken while they stay between the bounds: as many as the range has doublings, after each hint
//!   and after the failed confirmation.
//! - The *middle*: as many as the range has halvings, once while searching and once while
//!   confirming.
//!
//! The tests hold every search to the sum.

mod course;
mod probe;

use course::Course;
pub use probe::{Ended, Found, Limit, Phase, Probe, Step, TrialOutcome};

use super::Amount;

/// A device that carried nothing at all at so many amounts in a row, and of which nothing has
/// passed, is not tried further.
const DEAD: u32 = 3;
/// An amount of which less than this share was carried has failed beyond doubt: no further trial is
/// spent on it.
const HOPELESS: f64 = 0.8;
/// Most hints followed in one search.
pub const HINTS: u32 = 3;
/// No difference below this share of the range is pursued, whatever [`Bisection::step`] says.
const FINEST: f64 = 1e-9;

/// The search and its parameters. All of them belong into the report: RFC 2544 fixes none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bisection<A> {
    /// Upper end of the range: the first amount tried.
    pub high: A,
    /// What trials before this search, a ramp say, have shown to pass while `high` failed: the
    /// search begins between the two.
    pub bracket_low: Option<A>,
    /// Stop when upper - lower is at most this share of the upper bound (0.005 is half a per
    /// cent).
    pub resolution: f64,
    /// Smallest difference worth a trial, in the amount's unit (one frame for bursts); also the
    /// smallest amount worth trying.
    pub step: A,
    /// Most trials of one amount: 1 is RFC 2544, 2 is the usual loss verification of TST 009.
    pub repeats: u32,
    /// How many of them must pass: 1 is RFC 2544 and TST 009; 3 of 5 asks whether the amount
    /// passes more often than not, as an exceed ratio of a half does ([`super::mlr`]). An
    /// amount is left as soon as the rest cannot change its fate.
    pub passes: u32,
    /// How many full-length trials may fail before the search gives up. 0: the answer is not
    /// confirmed at all.
    pub confirmations: u32,
    /// Jump to the forwarding rate that a failed trial saw and widen from there, instead of
    /// halving. Saves trials; the stop criterion stays the same.
    pub follow_hints: bool,
}

impl<A: Amount> Bisection<A> {
    /// RFC 2544's search up to `high`: plain halving, one try each, answer confirmed, at most ten
    /// times; differences below a hundred-thousandth of `high` are not pursued.
    pub fn new(high: A, resolution: f64) -> Self {
        let step = A::from_value(high.value() / 1e5);
        Self {
            high,
            bracket_low: None,
            resolution,
            step,
            repeats: 1,
            passes: 1,
            confirmations: 10,
            follow_hints: false,
        }
    }

    /// Runs the search. `measure` runs one trial and says what came of it.
    pub fn run(&self, mut measure: impl FnMut(Probe<A>) -> TrialOutcome<A>) -> Found<A> {
        let mut course = Course::new(self.high);
        if !self.high.value().is_normal() || self.high <= A::zero() {
            // Nothing can be offered, so nothing is said of the device.
            course.limit = Limit::Tester;
            return Found {
                upper: None,
                ..course.finish(Ended::NothingPassed)
            };
        }
        let mut next = self.high;
        if let Some(low) = self.bracket_low {
            course.low = low;
            course.limit = Limit::Device;
            next = course.middle().unwrap_or(self.high);
        }
        let mut failed_at_length = 0;
        let mut dead = 0;
        loop {
            let last = self.attempt(&mut course, next, &mut measure);
            let nothing = matches!(last, Attempt::Failed(Some(carried)) if carried <= A::zero());
            dead = if nothing { dead + 1 } else { 0 };
            match (&last, course.phase) {
                (Attempt::Stopped, _) => return course.finish(Ended::Stopped),
                (Attempt::Failed(_) | Attempt::Invalid(_), Phase::Confirm) => {
                    failed_at_length += 1;
                    if failed_at_length > self.confirmations {
                        return course.finish(Ended::Unconfirmed);
                    }
                    if failed_at_length == 1 {
                        course.low = A::zero();
                        course.stride = self.allowed(&course);
                    }
                }
                _ => {}
            }
            if dead >= DEAD && course.low <= A::zero() {
                return course.finish(Ended::NothingPassed);
            }
            next = match self.settled(&course) {
                Some(Ended::Converged)
                    if course.phase == Phase::Search && self.confirmations > 0 =>
                {
                    course.phase = Phase::Confirm;
                    course.low
                }
                Some(end) => return course.finish(end),
                None => match self.choose(&mut course, &last) {
                    Some(amount) => amount,
                    None => return course.finish(Ended::NothingPassed),
                },
            };
        }
    }

    /// Tries one amount until its fate is decided, and moves the bounds.
    fn attempt(
        &self,
        course: &mut Course<A>,
        amount: A,
        measure: &mut impl FnMut(Probe<A>) -> TrialOutcome<A>,
    ) -> Attempt<A> {
        let repeats = self.repeats.max(1);
        let needed = self.passes.clamp(1, repeats);
        let (mut passed, mut failed, mut invalid) = (0, 0, 0);
        let (mut carried, mut offered) = (None, None);
        while failed + invalid <= repeats - needed {
            let probe = Probe {
                amount,
                phase: course.phase,
                low: course.low,
                high: course.high,
            };
            let outcome = measure(probe);
            course.steps.push(Step { probe, outcome });
            match outcome {
                TrialOutcome::Pass => passed += 1,
                TrialOutcome::Fail { carried: seen } => {
                    failed += 1;
                    carried = seen.or(carried);
                    if seen.is_some_and(|seen| seen.value() < HOPELESS * amount.value()) {
                        failed += repeats;
                    }
                }
                TrialOutcome::Invalid { offered: seen } => {
                    invalid += 1;
                    offered = seen.or(offered);
                }
                TrialOutcome::Stop => return Attempt::Stopped,
            }
            if passed == needed {
                if amount > course.low {
                    course.low = amount;
                }
                return Attempt::Passed;
            }
        }
        course.high = amount;
        if failed >= invalid {
            course.limit = Limit::Device;
            Attempt::Failed(carried)
        } else {
            course.limit = Limit::Tester;
            Attempt::Invalid(offered)
        }
    }

    fn settled(&self, course: &Course<A>) -> Option<Ended> {
        if course.limit == Limit::Range && course.low >= self.high {
            return Some(Ended::Converged);
        }
        let close =
            course.width() <= self.allowed(course) || A::middle(course.low, course.high).is_none();
        match (close, course.low > A::zero()) {
            (false, _) => None,
            (true, true) => Some(Ended::Converged),
            (true, false) => Some(Ended::NothingPassed),
        }
    }

    /// Width of the bounds at which the search ends.
    fn allowed(&self, course: &Course<A>) -> f64 {
        (self.resolution * course.high.value()).max(self.finest())
    }

    fn finest(&self) -> f64 {
        self.step.value().max(self.high.value() * FINEST)
    }

    /// The next amount: the middle; or with `follow_hints` what the device was seen to carry (or
    /// the tester to offer), then away from there in strides until the answer lies between two
    /// trials. After a failed confirmation: down in strides.
    fn choose(&self, course: &mut Course<A>, last: &Attempt<A>) -> Option<A> {
        if course.phase == Phase::Confirm {
            let below = (course.low <= A::zero()).then(|| course.stride_down());
            return below.flatten().or_else(|| course.middle());
        }
        let hint = match *last {
            Attempt::Failed(seen) | Attempt::Invalid(seen) if self.follow_hints => seen,
            _ => None,
        };
        if let Some(seen) = hint
            && course.hints < HINTS
        {
            // What was carried may be all but what was asked: closer than the width that ends the
            // search nothing is learnt.
            let allowed = self.allowed(course);
            let target = A::from_value(seen.value().min(course.high.value() - allowed));
            if course.inside(target) {
                course.hints += 1;
                course.stride = allowed;
                return Some(target);
            }
        }
        let away = match last {
            Attempt::Passed => course.stride_up(),
            _ => course.stride_down(),
        };
        away.or_else(|| course.middle())
    }
}

/// What became of one amount.
enum Attempt<A> {
    Passed,
    Failed(Option<A>),
    Invalid(Option<A>),
    Stopped,
}
