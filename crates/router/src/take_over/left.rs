//! Counts that are kept with the links from the end of a process to the start of the next one.
//!
//! The programs go on counting meanwhile, in the map that they have. So the old process leaves what
//! it has counted as a file without a name, and a copy of the map beside it. The new one adds what
//! the map has got since. A program that counts by other reasons cannot read the map: it goes on
//! from the file. What VLANs and tables get meanwhile is not counted.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use fastpath::forward::{Counted, Forwarder, Reason};
use serde::{Deserialize, Serialize};

use super::Totals;

/// What a process has counted when it ends.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Left {
    /// By which the map counts, in its order.
    reasons: Vec<String>,
    /// Of each port in the map, by interface index.
    places: BTreeMap<u32, usize>,
    /// What the map had when the process ended.
    in_map: Totals,
    /// All that is not in it.
    before: Totals,
}

fn reasons() -> Vec<String> {
    let names = Reason::ALL.iter().map(|reason| reason.name().to_owned());
    names.collect()
}

impl Left {
    pub(super) fn of(forwarder: &Forwarder) -> Self {
        let in_map = Counted {
            ports: forwarder.own_counters(),
            ..Counted::default()
        };
        let before = Counted {
            ports: forwarder.counted_before().ports.clone(),
            ..forwarder.counted()
        };
        Self {
            reasons: reasons(),
            places: forwarder.counter_places(),
            in_map: Totals::from(&in_map),
            before: Totals::from(&before),
        }
    }

    /// As a file without a name on the file system of `directory`.
    pub(super) fn write(&self, directory: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).mode(0o600);
        let mut file = options.custom_flags(libc::O_TMPFILE).open(directory)?;
        serde_json::to_writer(&file, self)?;
        file.rewind()?;
        Ok(file)
    }

    pub(super) fn read(file: File) -> io::Result<Self> {
        Ok(serde_json::from_reader(io::BufReader::new(file))?)
    }

    /// What has been counted by now, when nobody counts in the map any more.
    pub(super) fn by_now(self, map: Option<OwnedFd>, forwarder: &Forwarder) -> Counted {
        let mut counted = Counted::from(self.before);
        let map = map.filter(|_| self.reasons == reasons());
        let in_map = map.and_then(|map| forwarder.counters_of(map, &self.places).ok());
        let in_map = in_map.unwrap_or_else(|| Counted::from(self.in_map).ports);
        for (place, count) in in_map {
            *counted.ports.entry(place).or_default() += &count;
        }
        counted
    }
}

#[cfg(test)]
#[path = "../../tests/unit/left.rs"]
mod tests;
