//! Comparisons with the kernel: begun when they are due or asked for, advanced a slice at a time
//! between everything else.

use std::io;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use super::Instance;
use crate::control_plane::follower::Checking;
use crate::control_plane::verify::Verification;
use crate::log::{Level, log};
use crate::management_plane::answers;
use crate::management_plane::forms::{self, Verify};
use crate::management_plane::pieces::Piece;

/// What may fail, in the words of the log.
const COMPARING: &str = "comparing with the kernel";
/// After a comparison that failed, the next is due this much later.
const PAUSE: Duration = Duration::from_secs(10);

/// When the next comparison is due, and who waits for a result.
#[derive(Debug)]
pub(super) struct Checks {
    interval: Option<Duration>,
    due: Option<Instant>,
    /// They get the result of the comparison under way.
    waiting: Vec<SyncSender<Piece>>,
    /// They asked while it was under way already, and get that of the next.
    asked_late: Vec<SyncSender<Piece>>,
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
    pub(super) fn asked_to_verify(&mut self, answer: SyncSender<Piece>) {
        if !self.follower.engine().keeps_table() {
            // Who asked may have gone away.
            let _ = answer.try_send(text(None).into());
        } else if self.follower.checking() == Checking::No {
            self.checks.waiting.push(answer);
            self.begin_check();
        } else {
            self.checks.asked_late.push(answer);
        }
    }

    fn begin_check(&mut self) {
        if let Err(error) = self.follower.begin_verification() {
            self.fail_check(&error);
        }
    }

    /// Begins what is due, and does the next step of what is under way.
    pub(super) fn check(&mut self, now: Instant) {
        if self.checks.is_due(now) && self.follower.engine().keeps_table() {
            self.begin_check();
        }
        match self.follower.advance_verification() {
            Ok(None) => return,
            Ok(Some(result)) => {
                self.follower.troubles().over(COMPARING);
                self.answer_waiting(&text(Some(&result)));
                self.conclude(&result);
            }
            Err(error) => self.fail_check(&error),
        }
        if !self.checks.asked_late.is_empty() {
            self.checks.waiting = std::mem::take(&mut self.checks.asked_late);
            self.begin_check();
        }
    }

    /// Whoever waits is told; what nobody waits for is tried again.
    fn fail_check(&mut self, error: &io::Error) {
        let result = "nothing was compared; it is tried again";
        self.follower.troubles().add(COMPARING, error, result);
        self.answer_waiting(&answers::failed(format!("{COMPARING}: {error}; try again")));
        self.checks.due = self.checks.due.map(|_| Instant::now() + PAUSE);
    }

    fn answer_waiting(&mut self, text: &str) {
        for answer in self.checks.waiting.drain(..) {
            // As above.
            let _ = answer.try_send(text.to_owned().into());
        }
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
    forms::line(&Verify::new(result))
}
