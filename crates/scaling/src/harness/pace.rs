//! How many rounds a sweep makes, and how long they may take together.

use std::time::Duration;

/// At most one run in this many is repeated because something else had the cores.
pub const REPEATS: usize = 4;

/// Bounds of the rounds, and the time between those bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Fewest rounds, whatever they take.
    pub least: usize,
    /// Most rounds, however short they are.
    pub most: usize,
    /// Rounds are added between those bounds while this much time is left.
    pub budget: Duration,
}

impl Pace {
    /// What a sweep does when nothing else is asked for.
    pub const FULL: Self = Self {
        least: 5,
        most: 31,
        budget: Duration::from_secs(30),
    };
    /// What it does with `--quick`.
    pub const QUICK: Self = Self {
        least: 5,
        most: 9,
        budget: Duration::from_secs(2),
    };

    /// One of the two, or exactly `rounds` rounds.
    pub fn of(quick: bool, rounds: Option<usize>) -> Self {
        let usual = if quick { Self::QUICK } else { Self::FULL };
        match rounds {
            Some(rounds) => Self {
                least: rounds,
                most: rounds,
                ..usual
            },
            None => usual,
        }
    }

    /// Rounds of `runs` runs each of which takes `run`, when `spent` is spent of the budget.
    pub fn rounds(&self, runs: usize, run: Duration, spent: Duration) -> usize {
        let round = run.as_secs_f64() * runs as f64;
        let left = self.budget.saturating_sub(spent).as_secs_f64();
        ((left / round.max(1e-4)) as usize).clamp(self.least, self.most)
    }

    /// Whether a sweep goes on after `done` rounds: the rounds were counted from a trial, and a
    /// machine that grew slower since must not stretch them without end.
    pub fn goes_on(&self, done: usize, spent: Duration) -> bool {
        done < self.least || spent < self.budget
    }

    /// How long a sweep takes at most whose runs take `run` each: two trials, the rounds, and the
    /// repeated runs.
    pub fn longest(&self, runs: usize, run: Duration) -> Duration {
        let rounds = self.rounds(runs, run, 2 * run);
        let timed = rounds * runs;
        run * (2 + timed + timed / REPEATS) as u32
    }
}

#[cfg(test)]
#[path = "../../tests/unit/pace.rs"]
mod tests;
