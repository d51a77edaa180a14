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

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;
    use std::process::Command;

    use super::*;

    const NAME: &str = "management_plane::supervisor::tests::the_manager_hears_what_it_waits_for";
    const SOCKET: &str = "NOTIFY_SOCKET";
    const WATCHDOG: (&str, &str) = ("WATCHDOG_USEC", "10000000");

    fn heard(manager: &UnixDatagram) -> String {
        let mut text = [0; 64];
        let length = manager.recv(&mut text).unwrap();
        String::from_utf8_lossy(&text[..length]).into_owned()
    }

    /// Runs itself again as a service, since the environment of a process is for all its threads.
    #[test]
    fn the_manager_hears_what_it_waits_for() {
        let name = match std::env::var_os(SOCKET) {
            Some(name) if std::env::var(WATCHDOG.0).as_deref() == Ok(WATCHDOG.1) => name,
            _ => {
                let directory = tempfile::tempdir().unwrap();
                let service = Command::new(std::env::current_exe().unwrap())
                    .args(["--exact", NAME])
                    .env(SOCKET, directory.path().join("notify"))
                    .env(WATCHDOG.0, WATCHDOG.1)
                    .env_remove("WATCHDOG_PID")
                    .output()
                    .unwrap();
                let said = String::from_utf8_lossy(&service.stdout);
                assert!(
                    service.status.success() && said.contains("1 passed"),
                    "{said}"
                );
                return;
            }
        };
        let listening = UnixDatagram::bind(name).unwrap();
        listening
            .set_read_timeout(Some(Duration::from_millis(200)))
            .unwrap();
        let now = Instant::now();
        let mut supervisor = Supervisor::from_environment(now);
        supervisor.ready();
        assert!(heard(&listening).starts_with("READY=1\n"));
        for (after, told) in [(0, true), (4, false), (6, true)] {
            supervisor.alive(now + Duration::from_secs(after));
            let mut text = [0; 64];
            assert_eq!(listening.recv(&mut text).is_ok(), told, "after {after} s");
        }
        supervisor.reloading();
        assert!(heard(&listening).starts_with("RELOADING=1\nMONOTONIC_USEC="));
        supervisor.stopping();
        assert_eq!(heard(&listening), "STOPPING=1\n");
    }
}
