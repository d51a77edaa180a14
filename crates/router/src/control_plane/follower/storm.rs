//! In a storm of announcements, several are taken in together. A turn of the control plane for each
//! would take a core of its own, and the kernel would wake it for each.

use std::time::{Duration, Instant};

/// So many announcements within [`GATHERING`] are a storm.
const MANY: u64 = 32;
/// From one turn to the next, in a storm.
const GATHERING: Duration = Duration::from_millis(1);

/// What has come lately.
#[derive(Debug)]
pub(super) struct Storm {
    since: Instant,
    announced: u64,
}

impl Storm {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            since: now,
            announced: 0,
        }
    }

    /// A turn at `now` took in so many.
    pub(super) fn took(&mut self, announced: u64, now: Instant) {
        if now.saturating_duration_since(self.since) >= GATHERING {
            (self.since, self.announced) = (now, 0);
        }
        self.announced += announced;
    }

    /// How long from `now` announcements are to gather before the next turn.
    pub(super) fn pause(&self, now: Instant) -> Duration {
        if self.announced < MANY {
            return Duration::ZERO;
        }
        (self.since + GATHERING).saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_announcements_are_taken_in_at_once() {
        let begun = Instant::now();
        let mut storm = Storm::new(begun);
        for turn in 0..100 {
            let now = begun + GATHERING * turn / 20;
            storm.took(1, now);
            assert_eq!(storm.pause(now), Duration::ZERO, "turn {turn}");
        }
    }

    #[test]
    fn many_gather_until_the_storm_is_over() {
        let begun = Instant::now();
        let mut storm = Storm::new(begun);
        storm.took(MANY, begun);
        assert_eq!(storm.pause(begun), GATHERING);
        let half = begun + GATHERING / 2;
        assert_eq!(storm.pause(half), GATHERING / 2);
        let next = begun + GATHERING;
        assert_eq!(storm.pause(next), Duration::ZERO);
        storm.took(MANY, next);
        assert_eq!(storm.pause(next), GATHERING);
        let last = next + GATHERING;
        storm.took(1, last);
        assert_eq!(storm.pause(last), Duration::ZERO);
    }
}
