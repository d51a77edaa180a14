//! When the spreader noticed: by the stamps in its daemon's log, and by the kernel's own messages
//! about the route, which are stamped as they come.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

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
    /// Until this is dropped.
    monitor: Option<Group>,
    /// Reads what the monitor says, and may hold the spreader's namespace.
    reader: Option<JoinHandle<()>>,
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
        let reader = thread::spawn(move || {
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
            monitor: Some(monitor),
            reader: Some(reader),
        })
    }

    /// When the kernel's route first changed between `from` and `to`, ns.
    pub fn rerouted(&self, from: u64, to: u64) -> Option<u64> {
        let times = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        times.iter().copied().find(|at| (from..to).contains(at))
    }

    /// How often a session with a node went down between `from` and `to`, ns; one with this node does
    /// not count.
    pub fn downs(&self, except: Option<u8>, from: u64, to: u64) -> u64 {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let downs = text.lines().filter(|line| is_down(line, except));
        let within = downs
            .filter_map(written)
            .filter(|at| (from..to).contains(at));
        within.count() as u64
    }

    /// When the daemon first said something of this node between `from` and `to`, ns.
    pub fn logged(&self, node: u8, from: u64, to: u64) -> Option<u64> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let mut times = text.lines().filter_map(|line| about(line, node));
        times.find(|at| (from..to).contains(at))
    }
}

impl Drop for Notices {
    fn drop(&mut self) {
        // Without the monitor the reader ends.
        drop(self.monitor.take());
        // A reader that outlived us would keep the namespace until the next run sweeps it.
        let _panicked = self.reader.take().map(JoinHandle::join);
    }
}

/// Whether a line says that a session with a node, not this one, went down.
fn is_down(line: &str, except: Option<u8>) -> bool {
    let (is_down, peer) = if let Some((before, _)) = line.split_once(": State changed to stop") {
        let name = before.rsplit(' ').next().unwrap_or_default();
        (true, name.strip_prefix("node"))
    } else if let Some((_, after)) = line.split_once("%ADJCHANGE: neighbor 198.18.") {
        let is_down = after.contains(" Down");
        (is_down, after.split('.').next())
    } else {
        return false;
    };
    let node = peer.and_then(|peer| peer.parse::<u8>().ok());
    is_down && node.is_some() && node != except
}

/// When a line was written, ns.
fn written(line: &str) -> Option<u64> {
    let mut words = line.splitn(3, ' ');
    let (first, second) = (words.next()?, words.next()?);
    let of_bird = || Some((first.parse::<u64>().ok()?, second.parse::<u64>().ok()?));
    if let Some((seconds, microseconds)) = of_bird() {
        return Some(seconds * 1_000_000_000 + microseconds * 1000);
    }
    utc(first, second)
}

/// When a line of the log was written, ns, if it says that the session with this node or its route
/// changed.
fn about(line: &str, node: u8) -> Option<u64> {
    let rest = line.splitn(3, ' ').nth(2)?;
    let is_about = |name: &str| rest.contains(name) && rest.contains(SERVICE);
    let session = format!("node{node}: State changed");
    let peer = format!("198.18.{node}.2");
    let is_session = rest.contains("%ADJCHANGE") && rest.contains(&peer);
    let route = format!("node{node}.ipv4 ");
    let all = rest.contains(&session) || is_about(&route) || is_session || is_about(&peer);
    all.then(|| written(line))?
}

/// `2026/11/26 16:53:54.208924`, as FRR writes it, in ns since 1970.
fn utc(date: &str, time: &str) -> Option<u64> {
    let numbers = |text: &str, by: char| -> Option<Vec<u64>> {
        text.split(by).map(|number| number.parse().ok()).collect()
    };
    let (time, microseconds) = time.split_once('.')?;
    let (date, time) = (numbers(date, '/')?, numbers(time, ':')?);
    let [year, month, day]: [u64; 3] = date.try_into().ok()?;
    let [hour, minute, second]: [u64; 3] = time.try_into().ok()?;
    // Years begin in March, so that a leap day is the last of its year.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let leaps = year / 4 - year / 100 + year / 400;
    let days = 365 * year + leaps + (153 * month + 2) / 5 + day - 719_469;
    let seconds = 60 * (60 * (24 * days + hour) + minute) + second;
    Some(seconds * 1_000_000_000 + microseconds.parse::<u64>().ok()? * 1000)
}

#[cfg(test)]
#[path = "../tests/unit/notice.rs"]
mod tests;
