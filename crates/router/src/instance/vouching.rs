//! Says to the engine, some times a second, that its state is the kernel's: so that it stops using
//! it when this process is stopped, hangs, or cannot keep up with what the kernel announces.

use std::time::{Duration, Instant};

use super::Instance;
use crate::log::{Level, log};

/// How often, at least: several times within the shortest bound that may be configured.
pub(super) const INTERVAL: Duration = Duration::from_millis(100);

/// For how long each word holds, and when the latest was given.
#[derive(Debug)]
pub(super) struct Vouching {
    bound: Option<Duration>,
    latest: Option<Instant>,
}

impl Vouching {
    pub(super) fn new(bound: Option<Duration>) -> Self {
        Self {
            bound,
            latest: None,
        }
    }

    /// From now on for so long. `None`: for ever, from the next word on.
    pub(super) fn set_bound(&mut self, bound: Option<Duration>) {
        *self = Self::new(bound);
    }

    fn is_due(&self, now: Instant) -> bool {
        match (self.latest, self.bound) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(latest), Some(_)) => now.saturating_duration_since(latest) >= INTERVAL,
        }
    }

    /// How long nobody vouched, if that was longer than the bound.
    pub(super) fn silence(&self, now: Instant) -> Option<Duration> {
        let silence = now.saturating_duration_since(self.latest?);
        (silence > self.bound?).then_some(silence)
    }
}

impl Instance {
    /// Vouches for the engine's state, when that is due and the state is known to be the kernel's:
    /// everything announced so far has been taken in, and no announcement was lost.
    pub(super) fn vouch(&mut self) {
        let now = Instant::now();
        if !self.vouching.is_due(now) || !self.follower.is_current() {
            return;
        }
        if let Some(silence) = self.vouching.silence(now) {
            log!(
                Level::Warning,
                "stale",
                seconds = silence.as_secs_f64(),
                what = "the control plane could not vouch for the routes for so long; after the \
                        bound the kernel forwarded",
                remedy = "it was stopped, or the machine or the routing daemon is too busy: leave \
                          the control plane a core"
            );
        }
        if self.follower.vouch(self.vouching.bound) {
            self.vouching.latest = Some(now);
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/vouching.rs"]
mod tests;
