//! Waits until the counters say that the traffic has gone.

use std::collections::BTreeMap;
use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::show::{Which, ask};

/// From one reading of the counters to the next.
const PAUSE: Duration = Duration::from_millis(500);
/// Reasons of frames that are for this machine, or for nobody behind it.
const NOT_TRANSIT: [&str; 7] = [
    "local",
    "link-group",
    "other-station",
    "other-protocol",
    "ipv4-group",
    "ipv6-group",
    "ipv6-discovery",
];

/// When the traffic has gone.
pub(crate) struct Goal {
    /// Fewer frames a second pass, all ports together.
    pub(crate) below: u64,
    /// For so long.
    pub(crate) quiet: Duration,
    /// It may take so long.
    pub(crate) limit: Duration,
}

/// Frames so far that came by each port to go on, in Corelane's way or the kernel's.
pub(crate) struct Counts {
    at: Instant,
    ports: BTreeMap<String, u64>,
}

impl Counts {
    /// Of the router that `which` names.
    pub(crate) fn ask(which: &Which) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let (ports, drops) = (ask(which, "ports")?, ask(which, "drops")?);
        Ok(Self::of(&ports["ports"], &drops["drops"], Instant::now()))
    }

    fn of(ports: &Value, drops: &Value, at: Instant) -> Self {
        let rows = |list: &Value| list.as_array().cloned().unwrap_or_default();
        let name = |row: &Value| row["port"].as_str().unwrap_or_default().to_owned();
        let mut counts = BTreeMap::new();
        for row in rows(ports) {
            counts.insert(name(&row), row["forwarded"].as_u64().unwrap_or(0));
        }
        for row in rows(drops) {
            let reason = row["reason"].as_str().unwrap_or_default();
            if !NOT_TRANSIT.contains(&reason) {
                *counts.entry(name(&row)).or_default() += row["frames"].as_u64().unwrap_or(0);
            }
        }
        Self { at, ports: counts }
    }

    /// Frames a second since then, by port.
    fn rates(&self, before: &Self) -> BTreeMap<String, f64> {
        let seconds = (self.at - before.at).as_secs_f64();
        let ports = self.ports.iter().map(|(port, &now)| {
            let then = before.ports.get(port).copied().unwrap_or(now);
            // A port that came back counts anew.
            (port.clone(), now.saturating_sub(then) as f64 / seconds)
        });
        ports.collect()
    }
}

/// What passed in the end.
pub(crate) struct Found {
    pub(crate) is_gone: bool,
    pub(crate) took: Duration,
    /// Frames a second, by port.
    pub(crate) rates: BTreeMap<String, f64>,
}

impl Found {
    /// All ports together.
    pub(crate) fn rate(&self) -> f64 {
        self.rates.values().sum()
    }
}

/// Waits until little enough passes, or too much for too long. A signal ends it.
///
/// # Errors
/// When the counters cannot be read.
pub(crate) fn wait(
    goal: &Goal,
    mut read: impl FnMut() -> Result<Counts, Box<dyn Error + Send + Sync>>,
) -> Result<Found, Box<dyn Error + Send + Sync>> {
    let began = Instant::now();
    let mut before = read()?;
    let mut quiet_since = None;
    loop {
        thread::sleep(PAUSE);
        let now = read()?;
        let mut found = Found {
            is_gone: false,
            took: began.elapsed(),
            rates: now.rates(&before),
        };
        if found.rate() < goal.below as f64 {
            let since = *quiet_since.get_or_insert(before.at);
            found.is_gone = now.at - since >= goal.quiet;
        } else {
            quiet_since = None;
        }
        if found.is_gone || found.took >= goal.limit || host::interrupted() {
            return Ok(found);
        }
        before = now;
    }
}

#[cfg(test)]
#[path = "../../tests/unit/drained.rs"]
mod tests;
