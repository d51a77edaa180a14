//! Tells the service manager that started us how it goes, by the protocol of `sd_notify(3)`.
//! Without one nothing is said. A manager whose socket has no path is not reached.
//!
//! The watchdog matters more here than in most services: a control plane that hangs or is stopped
//! leaves the routes of that moment in force. When the manager hears nothing for `WatchdogSec` it
//! ends the process, and the kernel forwards.

use std::time::{Duration, Instant};

use sd_notify::NotifyState;

use crate::log::{Level, log};

/// What the service manager waits for.
#[derive(Debug)]
pub struct Supervisor {
    /// How often it wants to hear from us; half of what it waits for.
    interval: Option<Duration>,
    due: Instant,
}

impl Supervisor {
    /// As `WATCHDOG_USEC` and `WATCHDOG_PID` say.
    pub fn from_environment(now: Instant) -> Self {
        Self {
            interval: sd_notify::watchdog_enabled().map(|longest| longest / 2),
            due: now,
        }
    }

    /// It forwards.
    pub fn ready(&self) {
        tell(&[NotifyState::Ready, NotifyState::Status("forwarding")]);
    }

    /// It reads its configuration again, until it is ready.
    pub fn reloading(&self) {
        // The manager believes a reload only with the time at which it began.
        if let Ok(now) = NotifyState::monotonic_usec_now() {
            tell(&[NotifyState::Reloading, now]);
        }
    }

    /// The control plane's loop goes round.
    pub fn alive(&mut self, now: Instant) {
        if let Some(interval) = self.interval
            && now >= self.due
        {
            self.due = now + interval;
            tell(&[NotifyState::Watchdog]);
        }
    }

    /// It ends, because it was told to.
    pub fn stopping(&self) {
        tell(&[NotifyState::Stopping]);
    }
}

fn tell(what: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(what) {
        log!(Level::Warning, "supervisor", error);
    }
}
