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
        least: 3,
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
mod tests {
    use super::*;

    #[test]
    fn rounds_fill_the_time_within_their_bounds() {
        let run = Duration::from_millis(500);
        assert_eq!(Pace::FULL.rounds(3, run, Duration::from_secs(1)), 19);
        assert_eq!(Pace::FULL.rounds(3, Duration::from_micros(1), run), 31);
        assert_eq!(
            Pace::FULL.rounds(3, Duration::from_mins(1), Duration::from_mins(2)),
            5
        );
        assert_eq!(Pace::of(true, Some(1)).rounds(3, run, run), 1);
    }

    #[test]
    fn a_slow_machine_ends_the_rounds_when_the_time_is_over() {
        let over = Pace::FULL.budget;
        assert!(Pace::FULL.goes_on(4, over), "the fewest are made");
        assert!(!Pace::FULL.goes_on(5, over));
        assert!(Pace::FULL.goes_on(20, over / 2));
        assert!(Pace::of(false, Some(40)).goes_on(39, 9 * over), "asked for");
    }

    #[test]
    fn the_longest_sweep_counts_trials_rounds_and_repeats() {
        let pace = Pace::of(false, Some(9));
        let longest = pace.longest(3, Duration::from_millis(100));
        assert_eq!(longest, Duration::from_millis(100 * (2 + 27 + 6)));
    }
}
