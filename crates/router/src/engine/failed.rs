//! Ports that are not set up yet, each of which is the kernel's while the others forward: those
//! that could not be (another program is attached, the kernel refuses, the interface is in the
//! middle of going), tried again after a pause that grows from a second to a minute; and those
//! whose program a thread is loading, tried again when it may have ended.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use super::{EngineError, Port};

/// The pause after the first failure; each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(64);
/// Longer causes (a verifier's explanation) are cut, in bytes.
const LONGEST_CAUSE: usize = 180;

/// The ports, by name, and what nobody has been told yet.
#[derive(Debug, Default)]
pub(super) struct Failed {
    ports: BTreeMap<String, Failure>,
    /// Ports whose program is being loaded, by name.
    loading: BTreeMap<String, Port>,
    unsaid: VecDeque<EngineError>,
}

#[derive(Debug)]
struct Failure {
    /// As last told.
    port: Port,
    cause: String,
    pause: Duration,
    due: Instant,
}

impl Failed {
    /// A port is to be set up now: is it too early to try it again? One that is to be left alone,
    /// or has become another interface, has not failed any more.
    pub(super) fn waits(&mut self, port: &Port, now: Instant) -> bool {
        self.loading.remove(&port.name);
        let same = |failure: &Failure| failure.port.ifindex == port.ifindex;
        let Some(failure) = self.ports.get_mut(&port.name) else {
            return false;
        };
        if !same(failure) {
            self.ports.remove(&port.name);
            return false;
        }
        if !port.settings.enabled {
            self.ports.remove(&port.name);
            return false;
        }
        failure.port = port.clone();
        now < failure.due
    }

    /// It has failed, perhaps again.
    pub(super) fn add(&mut self, port: &Port, error: &EngineError, now: Instant) {
        let cause = shortened(&error.to_string());
        let before = self.ports.get(&port.name).map(|failure| failure.pause);
        if before.is_none() {
            let doing = format!("port {} is the kernel's", port.name);
            let why = format!("{cause}; it is tried again after 1 to 64 s");
            self.say(EngineError::new(doing, why));
        }
        let pause = before.map_or(FIRST_PAUSE, |pause| (pause * 2).min(LONGEST_PAUSE));
        let failure = Failure {
            port: port.clone(),
            cause,
            pause,
            due: now + pause,
        };
        self.ports.insert(port.name.clone(), failure);
    }

    /// Its program is being loaded: it is to be tried again soon, and has failed no more and no
    /// less than before.
    pub(super) fn load(&mut self, port: &Port) {
        self.loading.insert(port.name.clone(), port.clone());
    }

    /// Nothing stood in its way: it is set up, unless its program is still being loaded.
    pub(super) fn succeeded(&mut self, name: &str) {
        if !self.loading.contains_key(name) {
            self.ports.remove(name);
        }
    }

    /// It is a port no more.
    pub(super) fn forget(&mut self, name: &str) {
        self.loading.remove(name);
        self.ports.remove(name);
    }

    /// The ports whose pause is over or whose program may be loaded.
    pub(super) fn due(&mut self, now: Instant) -> Vec<Port> {
        let loading = std::mem::take(&mut self.loading);
        let due = self.ports.values().filter(|failure| now >= failure.due);
        let due = due.map(|failure| failure.port.clone());
        due.chain(loading.into_values()).collect()
    }

    /// Names and causes.
    pub(super) fn list(&self) -> Vec<(String, String)> {
        let ports = self.ports.iter();
        ports
            .map(|(name, failure)| (name.clone(), failure.cause.clone()))
            .collect()
    }

    /// Somebody should know of this.
    pub(super) fn say(&mut self, error: EngineError) {
        self.unsaid.push_back(error);
    }

    /// The next thing that nobody has been told yet.
    pub(super) fn next_unsaid(&mut self) -> Result<(), EngineError> {
        self.unsaid.pop_front().map_or(Ok(()), Err)
    }
}

/// The beginning, on one line.
fn shortened(cause: &str) -> String {
    let line = cause.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() <= LONGEST_CAUSE {
        return line;
    }
    let end = line.floor_char_boundary(LONGEST_CAUSE);
    format!("{} …", &line[..end])
}

#[cfg(test)]
#[path = "../../tests/unit/failed.rs"]
mod tests;
