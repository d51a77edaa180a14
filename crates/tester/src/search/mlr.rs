//! Multiple loss ratio search, after draft-ietf-bmwg-mlrsearch-15.
//!
//! A trial that loses one frame fails RFC 2544's test, although software loses a frame now and then at any load. This search asks
//! for several trials at a load and lets a stated share of them exceed the loss ratio. The *classification* of a load for a goal
//! is the draft's pseudocode, whose examples contradict it in two places (`tests` below); the *controller* is ours: the draft
//! leaves it free. It bisects in logarithmic load, tightest goal first, and keeps every trial for every goal.

use std::collections::BTreeMap;

/// What one search looks for. Durations in seconds, ratios as shares (0.005 is half a per cent).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Length of the trials that count in full.
    pub final_trial_duration: f64,
    /// Trials at a load go on until this much time decides it.
    pub duration_sum: f64,
    /// A trial that loses more than this share is bad.
    pub loss_ratio: f64,
    /// Share of the time that may be bad.
    pub exceed_ratio: f64,
    /// Bounds closer than this share of the upper one end the search.
    pub relative_width: f64,
}

impl Goal {
    /// RFC 2544: one trial of 60 s without loss.
    pub const RFC_2544: Goal = Goal {
        final_trial_duration: 60.0,
        duration_sum: 60.0,
        loss_ratio: 0.0,
        exceed_ratio: 0.0,
        relative_width: 0.005,
    };
    /// ETSI GS NFV-TST 009 with two tries: one of two trials of 60 s without loss.
    pub const TST_009: Goal = Goal {
        final_trial_duration: 60.0,
        duration_sum: 120.0,
        loss_ratio: 0.0,
        exceed_ratio: 0.5,
        relative_width: 0.005,
    };
    /// Non-drop rate as FD.io measures it: half of 21 trials of 1 s without loss.
    pub const NDR: Goal = Goal {
        final_trial_duration: 1.0,
        duration_sum: 21.0,
        loss_ratio: 0.0,
        exceed_ratio: 0.5,
        relative_width: 0.005,
    };
    /// Partial drop rate as FD.io measures it: half of 21 trials of 1 s lose at most 0.5 %.
    pub const PDR: Goal = Goal {
        loss_ratio: 0.005,
        ..Self::NDR
    };
}

/// One trial at some load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialResult {
    /// How long it was meant to take, s.
    pub intended_duration: f64,
    /// How long it counts for (draft: effective duration; with overheads where they are known), s.
    pub effective_duration: f64,
    /// Lost, and unsent, frames as a share of those expected.
    pub loss_ratio: f64,
}

/// What the trials at one load say about one goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Even if all that is missing went well, the load exceeds the goal.
    Upper,
    /// Even if all that is missing went badly, the load satisfies the goal.
    Lower,
    /// More trials are needed.
    Undecided,
}

/// Sums of the durations of good and bad trials of one load.
#[derive(Debug, Default)]
struct Sums {
    full_good: f64,
    full_bad: f64,
    short_good: f64,
    short_bad: f64,
}

impl Sums {
    fn of(goal: &Goal, trials: &[TrialResult]) -> Self {
        let mut sums = Self::default();
        for trial in trials {
            let bad = trial.loss_ratio > goal.loss_ratio;
            let full = trial.intended_duration >= goal.final_trial_duration;
            *match (full, bad) {
                (true, false) => &mut sums.full_good,
                (true, true) => &mut sums.full_bad,
                (false, false) => &mut sums.short_good,
                (false, true) => &mut sums.short_bad,
            } += trial.effective_duration;
        }
        sums
    }

    /// Whether the goal holds if the rest goes well, and if the rest goes badly.
    fn verdicts(&self, goal: &Goal) -> (bool, bool) {
        // Rounding of summed durations must not decide: a thousandth of a second is less than any trial.
        const SLACK: f64 = 1e-3;
        let balance = goal.exceed_ratio / (1.0 - goal.exceed_ratio);
        let excess = (self.short_bad - self.short_good * balance).max(0.0);
        let bad = self.full_bad + excess;
        let whole = (bad + self.full_good).max(goal.duration_sum);
        let limit = whole * goal.exceed_ratio + SLACK;
        (bad <= limit, whole - self.full_good <= limit)
    }
}

/// Classifies one load for one goal from all its trials (draft-15, "Load Classification").
pub fn classify(goal: &Goal, trials: &[TrialResult]) -> Class {
    match Sums::of(goal, trials).verdicts(goal) {
        (true, true) => Class::Lower,
        (false, _) => Class::Upper,
        (true, false) => Class::Undecided,
    }
}

/// Forwarding rate that the goal's exceed ratio allows to promise at a load (draft-15, "Conditional Throughput"), frames/s.
///
/// The loss ratio is the one at the (1 - exceed ratio) quantile, by duration, of the full-length trials; time that is missing
/// up to the duration sum counts as lost whole.
pub fn conditional_throughput(goal: &Goal, load: f64, trials: &[TrialResult]) -> f64 {
    let mut full: Vec<_> = trials
        .iter()
        .filter(|trial| trial.intended_duration >= goal.final_trial_duration)
        .collect();
    full.sort_by(|a, b| a.loss_ratio.total_cmp(&b.loss_ratio));
    let measured: f64 = full.iter().map(|trial| trial.effective_duration).sum();
    let mut remaining = measured.max(goal.duration_sum) * (1.0 - goal.exceed_ratio);
    let mut quantile = 1.0;
    for trial in full {
        quantile = trial.loss_ratio;
        remaining -= trial.effective_duration;
        if remaining <= 1e-9 {
            return load * (1.0 - quantile);
        }
    }
    load * (1.0 - if remaining > 1e-9 { 1.0 } else { quantile })
}

/// What came out for one goal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GoalResult {
    /// The goal.
    pub goal: Goal,
    /// Largest load below the upper bound that is a lower bound, frames/s. This is the result.
    pub relevant_lower_bound: Option<f64>,
    /// Smallest load that is an upper bound, frames/s; `None` when the range's upper end satisfies the goal (irregular result).
    pub relevant_upper_bound: Option<f64>,
    /// Forwarding rate at the lower bound, frames/s.
    pub conditional_throughput: Option<f64>,
    /// Both bounds exist and lie within the goal's width.
    pub regular: bool,
}

/// One trial that the controller asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    /// Intended load, frames/s and per direction.
    pub load: f64,
    /// Intended duration, s.
    pub duration: f64,
}

/// The controller: range, goals and a bound on the number of trials.
#[derive(Debug, Clone)]
pub struct Controller {
    /// Smallest load worth reporting, frames/s.
    pub min_load: f64,
    /// Largest load that the tester has proved in its self-test, frames/s.
    pub max_load: f64,
    /// The goals, in any order.
    pub goals: Vec<Goal>,
    /// Give up after this many trials; what is known then is reported as it is.
    pub max_trials: usize,
}

/// Every trial of a search, and what they say.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// One result per goal, in the order given.
    pub goals: Vec<GoalResult>,
    /// All trials in the order run.
    pub trials: Vec<(Request, TrialResult)>,
    /// The search came to its end rather than being stopped or running out of trials.
    pub complete: bool,
}

impl Controller {
    /// Runs the search. `measure` returns `None` to stop it (interrupt, port gone).
    pub fn run(&self, mut measure: impl FnMut(Request) -> Option<TrialResult>) -> Outcome {
        let mut knowledge = Knowledge::default();
        let mut order: Vec<usize> = (0..self.goals.len()).collect();
        order.sort_by(|&a, &b| {
            self.goals[a]
                .loss_ratio
                .total_cmp(&self.goals[b].loss_ratio)
        });
        let mut complete = true;
        'goals: for &index in &order {
            let goal = &self.goals[index];
            while let Some(load) = self.next_load(goal, &knowledge) {
                let request = Request {
                    load,
                    duration: goal.final_trial_duration,
                };
                let result = if knowledge.trials.len() < self.max_trials {
                    measure(request)
                } else {
                    None
                };
                let Some(result) = result else {
                    complete = false;
                    break 'goals;
                };
                knowledge.add(request, result);
            }
        }
        let goals = self
            .goals
            .iter()
            .map(|goal| knowledge.result(goal))
            .collect();
        Outcome {
            goals,
            trials: knowledge.trials,
            complete,
        }
    }

    /// The load of the next trial for a goal, or `None` when the goal is reached.
    fn next_load(&self, goal: &Goal, knowledge: &Knowledge) -> Option<f64> {
        if let Some(load) = knowledge.undecided(goal) {
            return Some(load);
        }
        let (lower, upper) = knowledge.bounds(goal);
        match (lower, upper) {
            (None, None) => Some(self.max_load),
            (Some(lower), None) => (lower < self.max_load).then_some(self.max_load),
            (None, Some(upper)) => {
                let seen = knowledge.forwarding_rate(upper) / (1.0 - goal.loss_ratio);
                let floor = upper / 2.0;
                let guess = seen * (1.0 - goal.relative_width / 2.0);
                let load = if guess < upper * (1.0 - goal.relative_width) {
                    guess
                } else {
                    floor
                }
                .max(self.min_load);
                (upper > self.min_load).then_some(load)
            }
            (Some(lower), Some(upper)) => {
                let wide = (upper - lower) / upper > goal.relative_width;
                // The bisection is on the logarithm, but never closer to a bound than the width asks for.
                let middle = (lower * upper).sqrt();
                let above = lower / (1.0 - goal.relative_width * 0.9);
                let tight = knowledge.widenings(goal, upper);
                let load = if tight < 2 && above < middle {
                    above
                } else {
                    middle
                };
                (wide && lower < load && load < upper).then_some(load)
            }
        }
    }
}

/// All trials, by load. Loads are kept by the bits of the number, which sort as the (positive) numbers do.
#[derive(Default)]
struct Knowledge {
    by_load: BTreeMap<u64, Vec<TrialResult>>,
    trials: Vec<(Request, TrialResult)>,
}

impl Knowledge {
    fn add(&mut self, request: Request, result: TrialResult) {
        self.by_load
            .entry(request.load.to_bits())
            .or_default()
            .push(result);
        self.trials.push((request, result));
    }

    fn classes(&self, goal: &Goal) -> impl Iterator<Item = (f64, Class)> {
        self.by_load
            .iter()
            .map(|(&bits, trials)| (f64::from_bits(bits), classify(goal, trials)))
    }

    /// Smallest upper bound, and the largest lower bound below it: loss inversion is resolved against the device.
    fn bounds(&self, goal: &Goal) -> (Option<f64>, Option<f64>) {
        let upper = self
            .classes(goal)
            .find(|(_, class)| *class == Class::Upper)
            .map(|(load, _)| load);
        let below = |load: f64| upper.is_none_or(|upper| load < upper);
        let lower = self
            .classes(goal)
            .filter(|&(load, class)| class == Class::Lower && below(load))
            .last();
        (lower.map(|(load, _)| load), upper)
    }

    /// A load between the bounds that was tried for this goal but not long enough to decide.
    fn undecided(&self, goal: &Goal) -> Option<f64> {
        let (lower, upper) = self.bounds(goal);
        self.classes(goal)
            .filter(|(_, class)| *class == Class::Undecided)
            .map(|(load, _)| load)
            .find(|&load| {
                upper.is_none_or(|upper| load < upper) && lower.is_none_or(|lower| load > lower)
            })
    }

    /// Mean rate that came through at a load, frames/s.
    fn forwarding_rate(&self, load: f64) -> f64 {
        let trials = &self.by_load[&load.to_bits()];
        let lost: f64 =
            trials.iter().map(|trial| trial.loss_ratio).sum::<f64>() / trials.len() as f64;
        load * (1.0 - lost)
    }

    /// How many lower bounds lie within a quarter below `upper`: after two short steps up the search halves instead.
    fn widenings(&self, goal: &Goal, upper: f64) -> usize {
        self.classes(goal)
            .filter(|&(load, class)| class == Class::Lower && load < upper && load > upper * 0.25)
            .count()
            .saturating_sub(1)
    }

    fn result(&self, goal: &Goal) -> GoalResult {
        let (lower, upper) = self.bounds(goal);
        let within = lower
            .zip(upper)
            .is_some_and(|(lower, upper)| (upper - lower) / upper <= goal.relative_width);
        GoalResult {
            goal: *goal,
            relevant_lower_bound: lower,
            relevant_upper_bound: upper,
            conditional_throughput: lower
                .map(|load| conditional_throughput(goal, load, &self.by_load[&load.to_bits()])),
            regular: within,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::simulated::Device;
    use super::*;

    fn trials(count: usize, duration: f64, loss_ratio: f64) -> Vec<TrialResult> {
        vec![
            TrialResult {
                intended_duration: duration,
                effective_duration: duration,
                loss_ratio
            };
            count
        ]
    }

    /// The draft's worked example; points 5 and 6 as its own pseudocode gives them (it prints "lower" for the last goal there).
    #[test]
    fn the_drafts_example_by_its_own_pseudocode() {
        use Class::{Lower, Undecided, Upper};
        let one_second = Goal {
            final_trial_duration: 1.0,
            duration_sum: 120.0,
            loss_ratio: 0.005,
            ..Goal::TST_009
        };
        let goals = [
            Goal::RFC_2544,
            Goal::TST_009,
            one_second,
            Goal {
                loss_ratio: 0.005,
                exceed_ratio: 0.2,
                ..Goal::RFC_2544
            },
        ];
        let points = [
            (
                trials(59, 1.0, 0.0),
                [Undecided, Undecided, Undecided, Undecided],
            ),
            (
                trials(1, 1.0, 0.01),
                [Upper, Undecided, Undecided, Undecided],
            ),
            (trials(59, 1.0, 0.01), [Upper, Undecided, Undecided, Upper]),
            (trials(1, 1.0, 0.0), [Upper, Undecided, Lower, Upper]),
            (trials(1, 60.0, 0.001), [Upper, Undecided, Lower, Upper]),
            (trials(1, 60.0, 0.0), [Upper, Lower, Lower, Upper]),
        ];
        let mut all = Vec::new();
        for (number, (more, expected)) in points.into_iter().enumerate() {
            all.extend(more);
            for (goal, class) in goals.iter().zip(expected) {
                assert_eq!(
                    classify(goal, &all),
                    class,
                    "after point {}: {goal:?}",
                    number + 1
                );
            }
        }
    }

    #[test]
    fn eleven_equal_trials_decide_a_load() {
        for (loss, class) in [(0.0, Class::Lower), (0.1, Class::Upper)] {
            assert_eq!(
                classify(&Goal::NDR, &trials(10, 1.0, loss)),
                Class::Undecided
            );
            assert_eq!(classify(&Goal::NDR, &trials(11, 1.0, loss)), class);
        }
    }

    #[test]
    fn conditional_throughput_takes_the_quantile_by_time() {
        let mut mixed = trials(11, 1.0, 0.0);
        mixed.extend(trials(10, 1.0, 0.25));
        assert!((conditional_throughput(&Goal::NDR, 1000.0, &mixed) - 1000.0).abs() < 1e-9);
        let mut mixed = trials(10, 1.0, 0.0);
        mixed.extend(trials(11, 1.0, 0.25));
        assert!((conditional_throughput(&Goal::NDR, 1000.0, &mixed) - 750.0).abs() < 1e-9);
        assert!(
            conditional_throughput(&Goal::NDR, 1000.0, &trials(5, 1.0, 0.0)).abs() < 1e-9,
            "missing time is lost"
        );
    }

    fn search(device: &mut Device, goals: &[Goal], min_load: f64, max_load: f64) -> Outcome {
        let controller = Controller {
            min_load,
            max_load,
            goals: goals.to_vec(),
            max_trials: 5000,
        };
        controller.run(|request| {
            let counts = device.trial(request.load, request.duration);
            Some(TrialResult {
                intended_duration: request.duration,
                effective_duration: request.duration,
                loss_ratio: counts.loss_ratio(),
            })
        })
    }

    /// The reference library's own example: a device that forwards exactly a million frames per second.
    #[test]
    fn a_device_of_exactly_a_million() {
        let goals = [
            Goal {
                exceed_ratio: 0.005,
                ..Goal::NDR
            },
            Goal {
                exceed_ratio: 0.005,
                ..Goal::PDR
            },
        ];
        let outcome = search(&mut Device::new(1e6, 1), &goals, 1e3, 1e9);
        assert!(outcome.complete);
        let [ndr, pdr] = outcome.goals[..] else {
            panic!("two goals, two results")
        };
        // The library finds 997 497.6 and 1 002 508.7; both searches may end anywhere within the width of 0.5 %.
        for (result, exact, library) in [
            (ndr, 1e6, 997_497.602_9),
            (pdr, 1e6 / 0.995, 1_002_508.674_8),
        ] {
            let (lower, upper) = (
                result.relevant_lower_bound.unwrap(),
                result.relevant_upper_bound.unwrap(),
            );
            assert!(
                result.regular && lower <= exact && exact < upper,
                "{lower}..{upper} around {exact}"
            );
            assert!(
                (lower - library).abs() <= library * 0.005,
                "{lower} against the library's {library}"
            );
        }
        assert!((pdr.conditional_throughput.unwrap() - 1e6).abs() < 5000.0);
        assert!(
            outcome.trials.len() < 200,
            "{} trials",
            outcome.trials.len()
        );
    }

    #[test]
    fn rare_loss_does_not_pull_the_non_drop_rate_down() {
        let outcome = search(
            &mut Device::new(600_000.0, 7).rare_loss(0.2),
            &[Goal::NDR],
            1e3,
            1e6,
        );
        let lower = outcome.goals[0].relevant_lower_bound.unwrap();
        assert!((597_000.0..=600_000.0).contains(&lower), "{lower}");
    }

    #[test]
    fn the_whole_range_is_an_irregular_result() {
        let outcome = search(&mut Device::new(5e6, 1), &[Goal::NDR], 1e3, 1e6);
        assert_eq!(outcome.goals[0].relevant_lower_bound, Some(1e6));
        assert_eq!(outcome.goals[0].relevant_upper_bound, None);
        assert!(!outcome.goals[0].regular);
    }

    #[test]
    fn a_device_that_forwards_nothing_fails_fast() {
        let outcome = search(&mut Device::new(0.0, 1), &[Goal::NDR], 1e3, 1e6);
        assert!(outcome.complete && outcome.goals[0].relevant_lower_bound.is_none());
        assert!(
            outcome.trials.len() <= 44,
            "{} trials",
            outcome.trials.len()
        );
    }

    #[test]
    fn stopping_keeps_what_is_known() {
        let controller = Controller {
            min_load: 1e3,
            max_load: 1e6,
            goals: vec![Goal::NDR],
            max_trials: 100,
        };
        let mut left = 15;
        let outcome = controller.run(|request| {
            left -= 1;
            let loss_ratio = if request.load > 5e5 { 0.5 } else { 0.0 };
            (left > 0).then_some(TrialResult {
                intended_duration: 1.0,
                effective_duration: 1.0,
                loss_ratio,
            })
        });
        assert!(!outcome.complete);
        assert_eq!(outcome.trials.len(), 14);
        assert_eq!(outcome.goals[0].relevant_upper_bound, Some(1e6));
    }
}
