//! A copy of the tables for every worker. One writer keeps the routes and makes each store in every
//! copy, so a copy costs its arrays and a few stores for each change, not a second table of routes.

use std::sync::Mutex;

use super::{
    ApplyError, Change, Options, Organisation, SnapshotReader, Traffic, TrafficCells, Writer, lock,
};
use crate::memory::MemoryReport;
use crate::next_hop::NextHop;
use crate::quiescence::TooManyReaders;
use crate::storage::OutOfMemory;

/// As many copies of the tables as workers.
#[derive(Debug)]
pub struct PerCore {
    writer: Mutex<Writer>,
    traffic: Vec<TrafficCells>,
}

impl PerCore {
    /// Empty tables.
    ///
    /// # Errors
    /// When the system refuses the memory.
    pub fn new(options: &Options) -> Result<Self, OutOfMemory> {
        let traffic = (0..options.workers)
            .map(|_| TrafficCells::new())
            .collect::<Result<_, _>>()?;
        Ok(Self {
            writer: Mutex::new(Writer::new(options, options.workers.max(1))?),
            traffic,
        })
    }
}

impl Organisation for PerCore {
    type Reader = SnapshotReader;

    fn name(&self) -> &'static str {
        "per-core"
    }

    fn reader(&self, worker: usize) -> Result<SnapshotReader, TooManyReaders> {
        SnapshotReader::new(&lock(&self.writer), worker, &self.traffic, worker)
    }

    fn apply(&self, changes: &[Change]) -> Result<(), ApplyError> {
        lock(&self.writer).apply(changes)
    }

    fn traffic(&self, next_hop: NextHop) -> Traffic {
        self.traffic.iter().map(|cells| cells.get(next_hop)).sum()
    }

    fn memory(&self) -> MemoryReport {
        lock(&self.writer).memory()
    }
}
