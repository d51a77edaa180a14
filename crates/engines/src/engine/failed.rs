//! Ports that are not set up yet, each of which is the kernel's while the others forward: those
//! that could not be (another program is attached, the kernel refuses, the interface is in the
//! middle of going), tried again after a pause that grows from a second to a minute; and those
//! that a thread is attaching, asked for again when it may have ended.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use bpf::attach::index_of;

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
    /// Ports that are being attached, by name.
    coming: BTreeMap<String, Port>,
    /// Those of which it was said that they have failed, until they are set up.
    said: BTreeSet<String>,
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
    /// Attaches to the ports that an engine starts with. Those that cannot be attached to have
    /// failed, and those that do not exist come when they do.
    ///
    /// # Errors
    /// The first failure, when there is no other port or `all` must be set up.
    pub(super) fn start(
        &mut self,
        ports: &[String],
        all: bool,
        mut attach: impl FnMut(&str, u32) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let mut errors = Vec::new();
        for name in ports {
            let doing = |error| EngineError::new(format!("attaching to port {name}"), error);
            let ifindex = index_of(name).map_err(doing);
            let outcome = ifindex.and_then(|ifindex| attach(name, ifindex));
            match outcome {
                Err(error) if all => return Err(error),
                Err(error) => errors.push((name, error)),
                Ok(()) => {}
            }
        }
        let is_none_left = errors.len() == ports.len();
        for (name, error) in errors {
            if is_none_left {
                return Err(error);
            }
            self.add_at_start(name, &error);
        }
        Ok(())
    }

    /// One that an engine starts with has failed, or does not exist.
    pub(super) fn add_at_start(&mut self, name: &str, error: &EngineError) {
        let Ok(ifindex) = index_of(name) else {
            let doing = format!("port {name} is absent");
            let why = format!("{error}; it is taken over when it appears");
            return self.say(EngineError::new(doing, why));
        };
        // How it is to be set up has not been told.
        let port = Port {
            ifindex,
            name: name.to_owned(),
            ..Port::default()
        };
        self.add(&port, error, Instant::now());
    }

    /// A port is to be set up now: is it too early to try it again? One that is to be left alone
    /// from now on, or has become another interface, has not failed any more.
    pub(super) fn waits(&mut self, port: &Port, now: Instant) -> bool {
        self.coming.remove(&port.name);
        let same = |failure: &Failure| failure.port.ifindex == port.ifindex;
        let Some(failure) = self.ports.get_mut(&port.name) else {
            return false;
        };
        if !same(failure) {
            self.ports.remove(&port.name);
            return false;
        }
        if failure.port.settings.enabled && !port.settings.enabled {
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
        if self.said.insert(port.name.clone()) {
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

    /// It is being attached: it is to be asked for again soon, and has failed no more and no less
    /// than before.
    pub(super) fn comes(&mut self, port: &Port) {
        self.coming.insert(port.name.clone(), port.clone());
    }

    /// Nothing stood in its way: it is set up, unless it is still being attached.
    pub(super) fn succeeded(&mut self, port: &Port) {
        if self.coming.contains_key(&port.name) {
            return;
        }
        self.ports.remove(&port.name);
        if port.settings.enabled {
            self.said.remove(&port.name);
        }
    }

    /// It is a port no more.
    pub(super) fn forget(&mut self, name: &str) {
        self.coming.remove(name);
        self.ports.remove(name);
        self.said.remove(name);
    }

    /// The ports whose pause is over, and those that may be attached.
    pub(super) fn due(&mut self, now: Instant) -> Vec<Port> {
        let coming = std::mem::take(&mut self.coming);
        let due = self.ports.values().filter(|failure| now >= failure.due);
        let due = due.map(|failure| failure.port.clone());
        due.chain(coming.into_values()).collect()
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
