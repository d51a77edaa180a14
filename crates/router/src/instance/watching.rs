//! Tells the console each second what happened ([`crate::management_plane::console`]).

use std::sync::Arc;
use std::time::Instant;

use super::Instance;
use crate::management_plane::config::Config;
use crate::management_plane::console::Console;
use crate::management_plane::console::history::Recorder;

/// The history, where the configuration wants a console or recordings.
#[derive(Debug)]
pub(super) struct Watching {
    kept: Option<(Console, Recorder)>,
    /// It is shown to viewers.
    is_served: bool,
}

impl Watching {
    pub(super) fn new(config: &Config) -> Self {
        let console = || Console::new(config.console_token.clone(), &config.console_peers);
        let is_wanted = config.console || config.recorder.is_on();
        Self {
            kept: is_wanted.then(|| (console(), Recorder::new())),
            is_served: config.console,
        }
    }

    pub(super) fn console(&self) -> Option<Console> {
        let kept = self.kept.as_ref().filter(|_| self.is_served);
        kept.map(|(console, _)| console.clone())
    }

    /// The latest points, one a second, so many at most.
    pub(super) fn points(&self, seconds: u64) -> Option<Vec<Arc<str>>> {
        let (console, _) = self.kept.as_ref()?;
        Some(console.history().latest(seconds))
    }
}

impl Instance {
    /// Adds a point to the console's history when it is due.
    pub(super) fn record(&mut self, now: Instant) {
        let recorder = self.watching.kept.as_ref();
        if !recorder.is_some_and(|(_, recorder)| recorder.is_due(now)) {
            return;
        }
        // Without counters there is no point, and the next second has both.
        let Ok(counters) = self.counters_for_metrics() else {
            return;
        };
        let failed = self.follower.health().troubles.all();
        let failed = failed.map(|(what, error)| format!("failed: {what}: {error}"));
        let reasons = self.readiness.reasons().into_iter();
        let kept = self.kept().into_iter();
        let kept = kept.map(|kept| format!("left to the kernel: {kept}"));
        let said = (self.fitness(), reasons.chain(kept).chain(failed).collect());
        let second = self.watching.kept.as_mut().and_then(|(console, recorder)| {
            recorder.record(&mut console.history(), &self.follower, &counters, said, now)
        });
        if let Some(second) = second {
            self.judge(&second, now);
        }
    }
}
