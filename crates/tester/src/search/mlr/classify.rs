//! What the trials at one load say about one goal (draft-15, "Load Classification" and "Conditional
//! Throughput").

use super::Goal;

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
        // Rounding of summed durations must not decide: a thousandth of a second is less than any
        // trial.
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

/// Forwarding rate that the goal's exceed ratio allows to promise at a load (draft-15, "Conditional
/// Throughput"), frames/s.
///
/// The loss ratio is the one at the (1 - exceed ratio) quantile, by duration, of the full-length
/// trials; time that is missing up to the duration sum counts as lost whole.
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

#[cfg(test)]
#[path = "../../../tests/unit/search_mlr_classify.rs"]
mod tests;
