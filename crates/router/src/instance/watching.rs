//! Tells the console each second what happened ([`crate::management_plane::console`]).

use std::time::Instant;

use super::Instance;
use crate::management_plane::config::Config;
use crate::management_plane::console::Console;
use crate::management_plane::console::history::Recorder;

/// The console, where the configuration wants one.
#[derive(Debug)]
pub(super) struct Watching(Option<(Console, Recorder)>);

impl Watching {
    pub(super) fn new(config: &Config) -> Self {
        let console = || Console::new(config.console_token.clone());
        Self(config.console.then(|| (console(), Recorder::new())))
    }

    pub(super) fn console(&self) -> Option<Console> {
        self.0.as_ref().map(|(console, _)| console.clone())
    }
}

impl Instance {
    /// Adds a point to the console's history when it is due.
    pub(super) fn record(&mut self, now: Instant) {
        let recorder = self.watching.0.as_ref();
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
        if let Some((console, recorder)) = &mut self.watching.0 {
            recorder.record(&mut console.history(), &self.follower, &counters, said, now);
        }
    }
}
