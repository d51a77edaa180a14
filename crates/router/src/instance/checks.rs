//! Comparisons with the kernel: begun when they are due or asked for, advanced a slice at a time
//! between everything else.

use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Instance, InstanceError};
use crate::control_plane::follower::Checking;
use crate::control_plane::verify::Verification;
use crate::log::{Level, log};
use crate::management_plane::answers;

/// When the next comparison is due, and who waits for a result.
#[derive(Debug)]
pub(super) struct Checks {
    interval: Option<Duration>,
    due: Option<Instant>,
    /// They get the result of the comparison under way.
    waiting: Vec<SyncSender<String>>,
    /// They asked while it was under way already, and get that of the next.
    asked_late: Vec<SyncSender<String>>,
}

impl Checks {
    pub(super) fn every(interval: Option<Duration>, now: Instant) -> Self {
        Self {
            interval,
            due: interval.map(|interval| now + interval),
            waiting: Vec::new(),
            asked_late: Vec::new(),
        }
    }

    /// From now on so often.
    pub(super) fn set_interval(&mut self, interval: Option<Duration>, now: Instant) {
        self.interval = interval;
        self.due = interval.map(|interval| now + interval);
    }

    fn is_due(&mut self, now: Instant) -> bool {
        let due = self.due.is_some_and(|due| now >= due);
        if due {
            self.due = self.interval.map(|interval| now + interval);
        }
        due
    }
}

impl Instance {
    /// Somebody wants a comparison: with the kernel's tables as they are from now on.
    pub(super) fn asked_to_verify(
        &mut self,
        answer: SyncSender<String>,
    ) -> Result<(), InstanceError> {
        if !self.follower.engine().keeps_table() {
            // Who asked may have gone away.
            let _ = answer.try_send(text(None));
        } else if self.follower.checking() == Checking::No {
            self.checks.waiting.push(answer);
            self.follower.begin_verification()?;
        } else {
            self.checks.asked_late.push(answer);
        }
        Ok(())
    }

    /// Begins what is due, and does the next step of what is under way.
    pub(super) fn check(&mut self, now: Instant) -> Result<(), InstanceError> {
        if self.checks.is_due(now) && self.follower.engine().keeps_table() {
            self.follower.begin_verification()?;
        }
        let Some(result) = self.follower.advance_verification()? else {
            return Ok(());
        };
        let text = text(Some(&result));
        for answer in self.checks.waiting.drain(..) {
            // As above.
            let _ = answer.try_send(text.clone());
        }
        self.conclude(&result);
        if !self.checks.asked_late.is_empty() {
            self.checks.waiting = std::mem::take(&mut self.checks.asked_late);
            self.follower.begin_verification()?;
        }
        Ok(())
    }

    fn conclude(&mut self, result: &Verification) {
        let (compared, different, seconds) =
            (result.compared, result.different, result.took.as_secs_f64());
        if different == 0 {
            log!(Level::Info, "verify", compared, different, seconds);
            return;
        }
        let first = result
            .differences
            .first()
            .map(|difference| format!("{difference:?}"))
            .unwrap_or_default();
        let remedy = "re-reading the kernel's tables";
        log!(
            Level::Error,
            "verify",
            compared,
            different,
            seconds,
            first,
            remedy
        );
        self.follower
            .want_resync("the comparison found differences");
    }
}

/// The answer to `corelane verify`; without a result when the engine keeps no table.
fn text(result: Option<&Verification>) -> String {
    let table = result.is_some();
    let result = result.map(answers::verification);
    let value = json!({ "schema": "corelane-verify/1", "verification": result, "table": table });
    format!("{value}\n")
}
