//! Which load to try next: our controller, for the draft leaves it free.

use std::collections::BTreeMap;

use super::{Class, Goal, TrialResult, classify, conditional_throughput};

/// What came out for one goal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GoalResult {
    /// The goal.
    pub goal: Goal,
    /// Largest load below the upper bound that is a lower bound, frames/s. This is the result.
    pub relevant_lower_bound: Option<f64>,
    /// Smallest load that is an upper bound, frames/s; `None` when the range's upper end satisfies
    /// the goal (irregular result).
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
                // The bisection is on the logarithm, but never closer to a bound than the width
                // asks for.
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

/// All trials, by load. Loads are kept by the bits of the number, which sort as the (positive)
/// numbers do.
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

    /// Smallest upper bound, and the largest lower bound below it: loss inversion is resolved
    /// against the device.
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

    /// How many lower bounds lie within a quarter below `upper`: after two short steps up the
    /// search halves instead.
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
