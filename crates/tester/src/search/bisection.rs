//! Bisection of RFC 2544 §26.1: the largest amount at which a trial passes.
//!
//! The RFC names no stop criterion, no rule for the answer's confirmation and none for inconsistent trials. Ours: stop when the
//! bounds are closer than [`Bisection::resolution`]; try the answer once more at full length; if that fails, short trials have
//! been shown to mislead at this device: what they passed is forgotten and the search goes on below with full-length trials
//! only, in strides that double, until [`Bisection::confirmations`] of them have failed. An amount that the tester itself could
//! not offer bounds the search from above too, and the result says that the limit was the tester's.

use super::Amount;

/// A device that carried nothing at all at so many amounts in a row is not tried further.
const DEAD: u32 = 3;

/// Why a trial is run; longer trials are wanted for the final answer (RFC 2544 §24).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Narrowing the bounds: the trial may be short.
    Search,
    /// Confirming the answer: the trial must have its full length.
    Confirm,
}

/// One trial that the search asks for, with the bounds as they stand (for a progress display).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe<A> {
    /// The amount to try.
    pub amount: A,
    /// Whether this narrows the bounds or confirms the answer.
    pub phase: Phase,
    /// Largest amount that passed so far; [`Amount::zero`] when none has.
    pub low: A,
    /// Smallest amount that failed so far, or the upper end of the range.
    pub high: A,
}

/// What one trial showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TrialOutcome<A> {
    /// The device carried the amount without loss.
    Pass,
    /// The device lost frames. A forwarding rate seen, if known, lets a search with [`Bisection::follow_hints`] jump there.
    Fail {
        /// What the device did carry in that trial; zero when nothing came at all.
        carried: Option<A>,
    },
    /// The tester could not offer the amount (or could not trust what it saw): says nothing about the device.
    Invalid {
        /// What the tester did offer, if that is known: with [`Bisection::follow_hints`] the next amount to try.
        offered: Option<A>,
    },
    /// Give up now and keep what is known (interrupt, port gone).
    Stop,
}

/// One trial as the search saw it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step<A> {
    /// What was asked.
    pub probe: Probe<A>,
    /// What came of it.
    pub outcome: TrialOutcome<A>,
}

/// What holds the answer down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The device failed at the upper bound.
    Device,
    /// The upper end of the range passed: the device may do more.
    Range,
    /// The tester could not offer the upper bound: the device may do more.
    Tester,
}

/// How the search came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Bounds within the resolution, answer confirmed.
    Converged,
    /// Bounds within the resolution, but the answer failed its confirmation as often as allowed.
    Unconfirmed,
    /// No amount of the range passed.
    NothingPassed,
    /// The closure said [`TrialOutcome::Stop`].
    Stopped,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Found<A> {
    /// Largest amount that passed (and was confirmed when `ended` is [`Ended::Converged`]).
    pub lower: Option<A>,
    /// Smallest amount that did not pass; `None` when the whole range passed.
    pub upper: Option<A>,
    /// What holds the answer down.
    pub limit: Limit,
    /// How the search ended.
    pub ended: Ended,
    /// Every trial in order.
    pub steps: Vec<Step<A>>,
}

/// The search and its parameters. All of them belong into the report: RFC 2544 fixes none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bisection<A> {
    /// Upper end of the range: the first amount tried.
    pub high: A,
    /// Stop when upper - lower is at most this share of the upper bound (0.005 is half a per cent).
    pub resolution: f64,
    /// Smallest difference worth a trial, in the amount's unit (one frame for bursts); also the smallest amount worth trying.
    pub step: A,
    /// Tries of an amount that fails before it counts as failed: 1 is RFC 2544, 2 is the usual loss verification of TST 009.
    pub repeats: u32,
    /// How many full-length trials may fail before the search gives up. 0: the answer is not confirmed at all.
    pub confirmations: u32,
    /// Jump to the forwarding rate that a failed trial saw and widen from there, instead of halving. Saves trials; the stop
    /// criterion stays the same.
    pub follow_hints: bool,
}

impl<A: Amount> Bisection<A> {
    /// RFC 2544's search up to `high`: plain halving, one try each, answer confirmed, at most ten times; differences below a
    /// hundred-thousandth of `high` are not pursued.
    pub fn new(high: A, resolution: f64) -> Self {
        let step = A::from_value(high.value() / 1e5);
        Self {
            high,
            resolution,
            step,
            repeats: 1,
            confirmations: 10,
            follow_hints: false,
        }
    }

    /// Runs the search. `measure` runs one trial and says what came of it.
    pub fn run(&self, mut measure: impl FnMut(Probe<A>) -> TrialOutcome<A>) -> Found<A> {
        let mut state = State {
            low: A::zero(),
            high: self.high,
            limit: Limit::Range,
            steps: Vec::new(),
            phase: Phase::Search,
            stride: 0.0,
        };
        let mut next = self.high;
        let mut failed_at_length = 0;
        let mut dead = 0;
        loop {
            let last = self.attempt(&mut state, next, &mut measure);
            let nothing = matches!(last, Attempt::Failed(Some(carried)) if carried <= A::zero());
            dead = if nothing { dead + 1 } else { 0 };
            if dead == DEAD {
                return state.finish(Ended::NothingPassed);
            }
            match (&last, state.phase) {
                (Attempt::Stopped, _) => return state.finish(Ended::Stopped),
                (Attempt::Failed(_) | Attempt::Invalid(_), Phase::Confirm) => {
                    failed_at_length += 1;
                    if failed_at_length > self.confirmations {
                        return state.finish(Ended::Unconfirmed);
                    }
                    if failed_at_length == 1 {
                        state.low = A::zero();
                        state.stride = self.allowed(&state);
                    }
                }
                _ => {}
            }
            next = match self.settled(&state) {
                Some(Ended::Converged)
                    if state.phase == Phase::Search && self.confirmations > 0 =>
                {
                    state.phase = Phase::Confirm;
                    state.low
                }
                Some(end) => return state.finish(end),
                None => match self.choose(&mut state, &last) {
                    Some(amount) => amount,
                    None => return state.finish(Ended::NothingPassed),
                },
            };
        }
    }

    /// Tries one amount, up to `repeats` times while it fails, and moves the bounds.
    fn attempt(
        &self,
        state: &mut State<A>,
        amount: A,
        measure: &mut impl FnMut(Probe<A>) -> TrialOutcome<A>,
    ) -> Attempt<A> {
        let mut attempt = Attempt::Invalid(None);
        for _ in 0..self.repeats.max(1) {
            let probe = Probe {
                amount,
                phase: state.phase,
                low: state.low,
                high: state.high,
            };
            let outcome = measure(probe);
            state.steps.push(Step { probe, outcome });
            match outcome {
                TrialOutcome::Pass => {
                    if amount > state.low {
                        state.low = amount;
                    }
                    return Attempt::Passed;
                }
                TrialOutcome::Stop => return Attempt::Stopped,
                TrialOutcome::Fail { carried } => attempt = Attempt::Failed(carried),
                TrialOutcome::Invalid { offered } => {
                    if let Attempt::Invalid(hint) = &mut attempt {
                        *hint = offered;
                    }
                }
            }
        }
        state.high = amount;
        state.limit = match attempt {
            Attempt::Invalid(_) => Limit::Tester,
            _ => Limit::Device,
        };
        attempt
    }

    fn settled(&self, state: &State<A>) -> Option<Ended> {
        if state.limit == Limit::Range && state.low >= self.high {
            return Some(Ended::Converged);
        }
        let width = state.high.value() - state.low.value();
        let close = width <= self.allowed(state) || A::middle(state.low, state.high).is_none();
        match (close, state.low > A::zero()) {
            (false, _) => None,
            (true, true) => Some(Ended::Converged),
            (true, false) => Some(Ended::NothingPassed),
        }
    }

    /// Width of the bounds at which the search ends.
    fn allowed(&self, state: &State<A>) -> f64 {
        (self.resolution * state.high.value()).max(self.step.value())
    }

    /// The next amount: the middle; or with `follow_hints` what the device was seen to carry (or the tester to offer), then away from there in strides
    /// that double until the answer lies between two trials. After a failed confirmation: down in strides that double.
    fn choose(&self, state: &mut State<A>, last: &Attempt<A>) -> Option<A> {
        let inside = |amount: A| amount > state.low && amount < state.high;
        let middle = A::middle(state.low, state.high);
        if state.phase == Phase::Confirm {
            let target = (state.high.value() - state.stride).max(0.0);
            state.stride *= 2.0;
            let below = (state.low <= A::zero()).then_some(A::from_value(target));
            return below.filter(|&amount| inside(amount)).or(middle);
        }
        if !self.follow_hints || state.limit == Limit::Range {
            return middle;
        }
        if let Attempt::Failed(Some(seen)) | Attempt::Invalid(Some(seen)) = *last
            && inside(seen)
        {
            state.stride = self.allowed(state);
            return Some(seen);
        }
        if state.stride == 0.0 {
            return middle;
        }
        let target = match last {
            Attempt::Passed => state.low.value() + state.stride,
            _ => (state.high.value() - state.stride).max(0.0),
        };
        state.stride *= 2.0;
        Some(A::from_value(target))
            .filter(|&amount| inside(amount))
            .or(middle)
    }
}

/// The bounds while the search runs.
struct State<A> {
    low: A,
    high: A,
    limit: Limit,
    steps: Vec<Step<A>>,
    phase: Phase,
    /// Distance of the next trial from the last, once a hint was followed or a confirmation failed; 0 before.
    stride: f64,
}

impl<A: Amount> State<A> {
    fn finish(self, ended: Ended) -> Found<A> {
        let confirmed = ended != Ended::Unconfirmed && self.low > A::zero();
        Found {
            lower: confirmed.then_some(self.low),
            upper: (self.limit != Limit::Range).then_some(self.high),
            limit: self.limit,
            ended,
            steps: self.steps,
        }
    }
}

enum Attempt<A> {
    Passed,
    Failed(Option<A>),
    Invalid(Option<A>),
    Stopped,
}

#[cfg(test)]
mod tests {
    use super::super::simulated::Device;
    use super::*;

    fn outcome(pass: bool) -> TrialOutcome<f64> {
        if pass {
            TrialOutcome::Pass
        } else {
            TrialOutcome::Fail { carried: None }
        }
    }

    #[test]
    fn finds_a_sharp_knee_within_the_resolution() {
        for knee in [1.0, 12_345.6, 333_333.0, 999_998.0] {
            let found = Bisection::new(1e6, 0.001).run(|probe| outcome(probe.amount <= knee));
            if knee < 10.0 {
                assert_eq!(found.ended, Ended::NothingPassed, "{knee}");
                assert_eq!(found.lower, None);
                continue;
            }
            assert_eq!(found.ended, Ended::Converged);
            assert_eq!(found.limit, Limit::Device);
            let (lower, upper) = (found.lower.unwrap(), found.upper.unwrap());
            assert!(
                lower <= knee && knee < upper && upper - lower <= 0.001 * upper,
                "{knee}: {lower}..{upper}"
            );
        }
    }

    #[test]
    fn a_tenth_of_a_per_cent_takes_eleven_halvings_and_one_confirmation() {
        let found = Bisection::new(1e6, 0.001).run(|probe| outcome(probe.amount <= 700_123.0));
        assert_eq!(
            found.steps.len(),
            1 + 11 + 1,
            "the range's end, eleven halvings, the confirmation"
        );
        assert_eq!(found.steps.last().unwrap().probe.phase, Phase::Confirm);
    }

    #[test]
    fn the_whole_range_passes_in_two_trials() {
        let found = Bisection::new(1e6, 0.001).run(|_| TrialOutcome::Pass);
        assert_eq!(
            (found.lower, found.upper, found.limit),
            (Some(1e6), None, Limit::Range)
        );
        assert_eq!(found.steps.len(), 2);
    }

    #[test]
    fn a_device_that_forwards_nothing_has_no_throughput() {
        let found = Bisection::new(1e6, 0.001).run(|_| outcome(false));
        assert_eq!((found.lower, found.ended), (None, Ended::NothingPassed));
    }

    #[test]
    fn what_the_tester_cannot_offer_is_the_testers_limit() {
        let found = Bisection::new(1e6, 0.001).run(|probe| {
            if probe.amount > 400_000.0 {
                TrialOutcome::Invalid { offered: None }
            } else {
                TrialOutcome::Pass
            }
        });
        assert_eq!(found.limit, Limit::Tester);
        assert!((399_000.0..=400_000.0).contains(&found.lower.unwrap()));
    }

    #[test]
    fn a_failed_confirmation_moves_the_search_below() {
        // Short trials pass up to 800 000 (buffers hide the loss), long ones only up to 500 000.
        let knee = |phase| {
            if phase == Phase::Confirm {
                500_000.0
            } else {
                800_000.0
            }
        };
        let found =
            Bisection::new(1e6, 0.01).run(|probe| outcome(probe.amount <= knee(probe.phase)));
        assert_eq!(found.ended, Ended::Converged);
        assert!(
            (490_000.0..=500_000.0).contains(&found.lower.unwrap()),
            "{:?}",
            found.lower
        );
        let failed = found
            .steps
            .iter()
            .filter(|step| step.probe.phase == Phase::Confirm)
            .count();
        assert!((2..=20).contains(&failed), "{failed} confirmations");
    }

    #[test]
    fn an_answer_that_never_confirms_is_no_answer() {
        let found = Bisection::new(1e6, 0.01).run(|probe| outcome(probe.phase == Phase::Search));
        assert_eq!(found.lower, None);
        assert!(matches!(
            found.ended,
            Ended::Unconfirmed | Ended::NothingPassed
        ));
    }

    #[test]
    fn hints_save_trials_and_end_at_the_same_place() {
        let knee = 123_456.0;
        let count = |follow_hints| {
            let search = Bisection {
                follow_hints,
                ..Bisection::new(1e7, 0.000_5)
            };
            let found = search.run(|probe| {
                if probe.amount <= knee {
                    TrialOutcome::Pass
                } else {
                    TrialOutcome::Fail {
                        carried: Some(knee * 0.999),
                    }
                }
            });
            assert!(
                (found.lower.unwrap() - knee).abs() <= 10_000.0,
                "{:?}",
                found.lower
            );
            found.steps.len()
        };
        assert!(
            count(true) < count(false),
            "{} {}",
            count(true),
            count(false)
        );
    }

    #[test]
    fn bursts_are_found_to_the_frame() {
        let search = Bisection {
            confirmations: 0,
            step: 1,
            ..Bisection::new(1_000_000_u64, 0.0)
        };
        let found = search.run(|probe| {
            if probe.amount <= 26_000 {
                TrialOutcome::Pass
            } else {
                TrialOutcome::Fail { carried: None }
            }
        });
        assert_eq!((found.lower, found.upper), (Some(26_000), Some(26_001)));
    }

    #[test]
    fn loss_verification_forgives_rare_loss() {
        // One trial in eight loses a frame for no reason of load: plain bisection ends low, verification does not.
        let run = |repeats, seed| {
            let mut device = Device::new(600_000.0, seed).rare_loss(0.125);
            let search = Bisection {
                repeats,
                ..Bisection::new(1e6, 0.005)
            };
            search
                .run(|probe| outcome(device.trial(probe.amount, 1.0).lost == 0))
                .lower
                .unwrap_or(0.0)
        };
        let near = |repeats| {
            (0..200)
                .filter(|&seed| run(repeats, seed) > 594_000.0)
                .count()
        };
        let (plain, verified) = (near(1), near(3));
        assert!(
            verified >= 190 && plain < 150,
            "plain {plain}, verified {verified} of 200"
        );
    }

    #[test]
    fn stopping_keeps_what_is_known() {
        let mut trials = 0;
        let found = Bisection::new(1e6, 0.001).run(|probe| {
            trials += 1;
            if trials == 5 {
                TrialOutcome::Stop
            } else {
                outcome(probe.amount <= 300_000.0)
            }
        });
        assert_eq!(
            (found.ended, found.lower, found.steps.len()),
            (Ended::Stopped, Some(250_000.0), 5)
        );
    }
}
