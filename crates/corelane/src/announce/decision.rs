//! When the routing daemon is told something: withdrawn soon, announced late, and nothing twice.
//! No clock, no I/O.

use std::time::{Duration, Instant};

/// How much must be seen.
pub(crate) struct Patience {
    /// Looks in a row that are not ready: then withdrawn.
    pub(crate) looks: u32,
    /// Ready for so long: then announced.
    pub(crate) after: Duration,
}

/// What has been seen, and what the daemon knows.
pub(crate) struct Decision {
    patience: Patience,
    /// Since when all looks are ready.
    ready_since: Option<Instant>,
    /// Looks in a row that are not.
    not_ready: u32,
    draining: bool,
    /// Whether it announces; nobody knows at first.
    announced: Option<bool>,
}

impl Decision {
    pub(crate) fn new(patience: Patience) -> Self {
        Self {
            patience,
            ready_since: None,
            not_ready: 0,
            draining: false,
            announced: None,
        }
    }

    /// What the daemon must be told after this look: to announce (true), to withdraw, or nothing.
    pub(crate) fn look(&mut self, ready: bool, draining: bool, now: Instant) -> Option<bool> {
        if self.draining && !draining {
            // Undrain has told it to announce, whether the router is ready or not.
            self.announced = None;
        }
        self.draining = draining;
        let is_due = if ready {
            self.not_ready = 0;
            let since = *self.ready_since.get_or_insert(now);
            now.saturating_duration_since(since) >= self.patience.after
        } else {
            self.ready_since = None;
            self.not_ready = self.not_ready.saturating_add(1);
            self.not_ready >= self.patience.looks
        };
        (is_due && self.announced != Some(ready)).then_some(ready)
    }

    /// The daemon has been told.
    pub(crate) fn is_told(&mut self, announced: bool) {
        self.announced = Some(announced);
    }
}

#[cfg(test)]
#[path = "../../tests/unit/announced.rs"]
mod tests;
