//! What has failed and is tried again: said once in the log until it works again, and shown by
//! `show engine` and the metrics meanwhile. None of it ends the router.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::{Duration, Instant};

use crate::log::{Level, log};

/// From a failure to the next try.
const PAUSE: Duration = Duration::from_secs(2);

/// By what was tried, in the words of the log.
#[derive(Debug, Clone, Default)]
pub struct Troubles(BTreeMap<&'static str, (String, Instant)>);

impl Troubles {
    /// This has failed, perhaps again; `result` says what follows, and what to do.
    pub fn add(&mut self, what: &'static str, error: &impl Display, result: &str) {
        let again = Instant::now() + PAUSE;
        if self.0.insert(what, (error.to_string(), again)).is_none() {
            log!(Level::Error, "failed", what, error, result);
        }
    }

    /// It has not failed, or works again.
    pub fn over(&mut self, what: &'static str) {
        if self.0.remove(what).is_some() {
            log!(Level::Info, "works-again", what);
        }
    }

    /// Did it fail the last time?
    pub fn has(&self, what: &str) -> bool {
        self.0.contains_key(what)
    }

    /// Is it too early to try it again?
    pub fn waits(&self, what: &str) -> bool {
        let failed = self.0.get(what);
        failed.is_some_and(|(_, again)| Instant::now() < *again)
    }

    /// What has failed, and why.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let failed = self.0.iter();
        failed.map(|(what, (error, _))| (*what, error.as_str()))
    }
}
