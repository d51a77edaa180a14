//! Tells the service manager that started us how it goes, by the protocol of `sd_notify(3)`: a
//! datagram to the socket that the environment names. Without one nothing is said.
//!
//! The watchdog matters more here than in most services: a control plane that hangs or is stopped
//! leaves the routes of that moment in force. When the manager hears nothing for `WatchdogSec` it
//! ends the process, and the kernel forwards.

use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

/// The way to the service manager, if there is one.
#[derive(Debug)]
pub struct Supervisor {
    manager: Option<(UnixDatagram, SocketAddr)>,
    /// How often it wants to hear from us; half of what it waits for.
    interval: Option<Duration>,
    due: Instant,
}

impl Supervisor {
    /// As `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` say.
    pub fn from_environment(now: Instant) -> Self {
        let name = std::env::var_os("NOTIFY_SOCKET").unwrap_or_default();
        let for_us =
            std::env::var("WATCHDOG_PID").map_or(true, |pid| pid.parse() == Ok(std::process::id()));
        let interval = std::env::var("WATCHDOG_USEC")
            .ok()
            .filter(|_| for_us)
            .and_then(|text| text.parse().ok())
            .map(|microseconds| Duration::from_micros(microseconds) / 2);
        Self {
            manager: manager(&name),
            interval,
            due: now,
        }
    }

    /// It forwards.
    pub fn ready(&self) {
        self.tell("READY=1\nSTATUS=forwarding");
    }

    /// The control plane's loop goes round.
    pub fn alive(&mut self, now: Instant) {
        if let Some(interval) = self.interval
            && now >= self.due
        {
            self.due = now + interval;
            self.tell("WATCHDOG=1");
        }
    }

    /// It ends, because it was told to.
    pub fn stopping(&self) {
        self.tell("STOPPING=1");
    }

    fn tell(&self, what: &str) {
        if let Some((socket, address)) = &self.manager {
            // A manager that does not listen finds out by its own means.
            let _ = socket.send_to_addr(what.as_bytes(), address);
        }
    }
}

/// A path, or a name in the abstract namespace after `@`.
fn manager(name: &OsStr) -> Option<(UnixDatagram, SocketAddr)> {
    let address = match name.as_bytes() {
        [] => return None,
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(name),
    };
    let socket = UnixDatagram::unbound().ok()?;
    socket.set_nonblocking(true).ok()?;
    Some((socket, address.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(manager: &UnixDatagram) -> String {
        let mut text = [0; 64];
        let length = manager.recv(&mut text).unwrap();
        String::from_utf8_lossy(&text[..length]).into_owned()
    }

    #[test]
    fn the_manager_hears_what_it_waits_for() {
        let name = format!("corelane-supervisor-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(name.as_bytes()).unwrap();
        let listening = UnixDatagram::bind_addr(&address).unwrap();
        listening
            .set_read_timeout(Some(Duration::from_millis(200)))
            .unwrap();
        let now = Instant::now();
        let mut supervisor = Supervisor {
            manager: manager(OsStr::new(&format!("@{name}"))),
            interval: Some(Duration::from_secs(5)),
            due: now,
        };
        supervisor.ready();
        assert!(heard(&listening).starts_with("READY=1\n"));
        for (after, told) in [(0, true), (4, false), (6, true)] {
            supervisor.alive(now + Duration::from_secs(after));
            let mut text = [0; 64];
            assert_eq!(listening.recv(&mut text).is_ok(), told, "after {after} s");
        }
        supervisor.stopping();
        assert_eq!(heard(&listening), "STOPPING=1");
        assert!(manager(OsStr::new("")).is_none());
    }
}
