//! When the spreader noticed: by the stamps in its daemon's log, and by the kernel's own messages
//! about the route, which are stamped as they come.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use host::Namespace;
use host::process::{Group, silent};

use crate::program::start;
use crate::resilient::{GROUP, Resilient};
use crate::traffic::now;
use crate::{Failure, SERVICE};

/// Listens for as long as it lives.
#[derive(Debug)]
pub struct Notices {
    changes: Arc<Mutex<Vec<u64>>>,
    log: PathBuf,
    _monitor: Group,
}

impl Notices {
    /// Listens to the spreader's kernel; `log` is its daemon's. A resilient group follows the route.
    ///
    /// # Errors
    /// Without iproute2.
    pub fn start(
        spreader: &Namespace,
        log: &Path,
        group: Option<Arc<Resilient>>,
    ) -> Result<Self, Failure> {
        let mut command = spreader.command("ip");
        let command = silent(command.args(["-oneline", "monitor", "route"])).stdout(Stdio::piped());
        let mut monitor = start(command)?;
        let changes = Arc::new(Mutex::new(Vec::new()));
        let own = format!(" nhid {GROUP} ");
        let (said, times) = (monitor.leader.stdout.take(), Arc::clone(&changes));
        thread::spawn(move || {
            let lines = said
                .into_iter()
                .flat_map(|said| BufReader::new(said).lines());
            for line in lines.map_while(Result::ok) {
                // The group's own route is none of the daemon's.
                if !line.contains(SERVICE) || line.contains(&own) {
                    continue;
                }
                let mut times = times.lock().unwrap_or_else(PoisonError::into_inner);
                times.push(now());
                drop(times);
                if let Some(Err(error)) = group.as_ref().map(|group| group.follow(&line)) {
                    report::hint(&format!("the resilient group: {error}"));
                }
            }
        });
        let log = log.to_owned();
        Ok(Self {
            changes,
            log,
            _monitor: monitor,
        })
    }

    /// When the kernel's route first changed between `from` and `to`, ns.
    pub fn rerouted(&self, from: u64, to: u64) -> Option<u64> {
        let times = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        times.iter().copied().find(|at| (from..to).contains(at))
    }

    /// When the daemon first said something of this node between `from` and `to`, ns.
    pub fn logged(&self, node: u8, from: u64, to: u64) -> Option<u64> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let mut times = text.lines().filter_map(|line| about(line, node));
        times.find(|at| (from..to).contains(at))
    }
}

/// When a line of the log was written, ns, if it says that the session with this node or its route
/// changed.
fn about(line: &str, node: u8) -> Option<u64> {
    let mut words = line.splitn(3, ' ');
    let seconds: u64 = words.next()?.parse().ok()?;
    let microseconds: u64 = words.next()?.parse().ok()?;
    let rest = words.next()?;
    let session = format!("node{node}: State changed");
    let channel = format!("node{node}.ipv4 ");
    let says = rest.contains(&session) || (rest.contains(&channel) && rest.contains(SERVICE));
    says.then_some(seconds * 1_000_000_000 + microseconds * 1000)
}

#[cfg(test)]
#[path = "../tests/unit/notice.rs"]
mod tests;
