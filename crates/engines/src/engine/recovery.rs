//! When the workers of a user-space engine are started again after one has ended.
//!
//! A worker that ends once in a while is replaced at once: what made it end (an interface in the
//! middle of going, memory short for a moment) has often passed. One that ends again and again
//! would lose the frames in its rings each time, so the pauses grow, and during a pause every frame
//! is the kernel's.

use std::time::{Duration, Instant};

/// After so long without trouble the next end counts as the first.
const FORGOTTEN_AFTER: Duration = Duration::from_mins(1);
/// The pause after the second end in a row; each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(64);

/// What has gone wrong with the workers so far.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    ends: u64,
    latest: Option<Instant>,
    pause: Duration,
    due: Option<Instant>,
}

impl Recovery {
    /// A worker ended, or could not be started, at `now`: how long to leave everything to the
    /// kernel before starting again.
    pub(super) fn ended(&mut self, now: Instant) -> Duration {
        let recent =
            |latest: Instant| now.saturating_duration_since(latest) < FORGOTTEN_AFTER + self.pause;
        self.pause = if self.latest.is_some_and(recent) {
            (self.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE)
        } else {
            Duration::ZERO
        };
        self.ends += 1;
        self.latest = Some(now);
        self.due = Some(now + self.pause);
        self.pause
    }

    /// Is there nobody who works?
    pub(super) fn is_resting(&self) -> bool {
        self.due.is_some()
    }

    /// Is it time to start again?
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| now >= due)
    }

    /// The workers run.
    pub(super) fn started(&mut self) {
        self.due = None;
    }

    /// How often a worker has ended by itself or could not be started.
    pub(super) fn ends(&self) -> u64 {
        self.ends
    }
}

#[cfg(test)]
#[path = "../../tests/unit/recovery.rs"]
mod tests;
