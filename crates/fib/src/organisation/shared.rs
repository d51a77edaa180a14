//! One table for all workers: read by each without a write, changed in place while they read.

use std::sync::Mutex;

use super::{
    ApplyError, Change, Options, Organisation, Reader, TableReader, Traffic, TrafficCells, Writer,
    lock,
};
use crate::memory::MemoryReport;
use crate::next_hop::{NextHop, NextHops};
use crate::quiescence::TooManyReaders;
use crate::storage::OutOfMemory;

/// One table that every worker reads.
#[derive(Debug)]
pub struct Shared {
    writer: Mutex<Writer>,
    traffic: Vec<TrafficCells>,
}

impl Shared {
    /// Empty tables.
    ///
    /// # Errors
    /// When the system refuses the memory.
    pub fn new(options: &Options) -> Result<Self, OutOfMemory> {
        let traffic = (0..options.workers)
            .map(|_| TrafficCells::new())
            .collect::<Result<_, _>>()?;
        Ok(Self {
            writer: Mutex::new(Writer::new(options, 1)?),
            traffic,
        })
    }
}

impl Organisation for Shared {
    type Reader = SnapshotReader;

    fn name(&self) -> &'static str {
        "shared"
    }

    fn reader(&self, worker: usize) -> Result<SnapshotReader, TooManyReaders> {
        SnapshotReader::new(&lock(&self.writer), 0, &self.traffic, worker)
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

/// A reader that takes no lock, with counters of its own.
#[derive(Debug)]
pub struct SnapshotReader {
    tables: TableReader,
    traffic: TrafficCells,
}

impl SnapshotReader {
    pub(super) fn new(
        writer: &Writer,
        copy: usize,
        traffic: &[TrafficCells],
        worker: usize,
    ) -> Result<Self, TooManyReaders> {
        let traffic = traffic.get(worker).ok_or(TooManyReaders {
            capacity: traffic.len(),
        })?;
        Ok(Self {
            tables: writer.reader(copy)?,
            traffic: traffic.clone(),
        })
    }

    #[inline]
    fn count(&self, addresses: usize, lengths: &[u16], out: &[NextHop]) {
        for (&next_hop, &length) in out.iter().zip(&lengths[..lengths.len().min(addresses)]) {
            self.traffic.count(next_hop, length);
        }
    }
}

impl Reader for SnapshotReader {
    fn resolve_v4(&mut self, addresses: &[u32], lengths: &[u16], out: &mut [NextHop]) {
        self.tables.resolve_v4(addresses, lengths, out);
        self.count(addresses.len(), lengths, out);
    }

    fn resolve_v6(&mut self, addresses: &[u128], lengths: &[u16], out: &mut [NextHop]) {
        self.tables.resolve_v6(addresses, lengths, out);
        self.count(addresses.len(), lengths, out);
    }

    fn next_hops(&self) -> &NextHops {
        self.tables.next_hops()
    }

    fn quiesce(&mut self) {
        self.tables.quiesce();
    }

    fn offline(&mut self) {
        self.tables.offline();
    }

    fn online(&mut self) {
        self.tables.online();
    }
}
