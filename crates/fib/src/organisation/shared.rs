//! Tables that workers read without a lock and without a write, changed in place while they read:
//! one for all, or a copy for each. One writer keeps the routes and makes each store in every copy,
//! so a copy costs its arrays and a few stores for each change, not a second table of routes.

use std::sync::Mutex;

use super::{
    ApplyError, Change, Options, Organisation, Reader, TableReader, Traffic, TrafficCells, Writer,
    lock,
};
use crate::memory::MemoryReport;
use crate::next_hop::{NextHop, NextHops};
use crate::prefix::Prefix;
use crate::quiescence::{Quiescent, TooManyReaders};
use crate::storage::OutOfMemory;

/// One table that every worker reads.
pub type Shared = Snapshots<false>;
/// As many copies of the tables as workers.
pub type PerCore = Snapshots<true>;

/// Tables that every worker reads, with counters for each; with `COPIES`, in a copy of its own.
#[derive(Debug)]
pub struct Snapshots<const COPIES: bool> {
    writer: Mutex<Writer>,
    traffic: Vec<TrafficCells>,
}

impl<const COPIES: bool> Snapshots<COPIES> {
    /// Empty tables.
    ///
    /// # Errors
    /// When the system refuses the memory.
    pub fn new(options: &Options) -> Result<Self, OutOfMemory> {
        let copies = if COPIES { options.workers.max(1) } else { 1 };
        let cells = (0..options.workers).map(|_| TrafficCells::new());
        Ok(Self {
            traffic: cells.collect::<Result<_, _>>()?,
            writer: Mutex::new(Writer::new(options, copies)?),
        })
    }
}

impl<const COPIES: bool> Organisation for Snapshots<COPIES> {
    type Reader = SnapshotReader;

    fn reader(&self, worker: usize) -> Result<SnapshotReader, TooManyReaders> {
        let cells = self.traffic.get(worker).ok_or(TooManyReaders {
            capacity: self.traffic.len(),
        })?;
        Ok(SnapshotReader {
            tables: lock(&self.writer).reader(if COPIES { worker } else { 0 })?,
            traffic: cells.clone(),
        })
    }

    fn apply(&self, changes: &[Change]) -> Result<(), ApplyError> {
        lock(&self.writer).apply(changes)
    }

    fn apply_v4(&self, routes: &[(Prefix<u32>, NextHop)]) -> Result<(), ApplyError> {
        lock(&self.writer).apply_v4(routes)
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

    #[inline]
    fn quiescent(&mut self) -> &mut Quiescent {
        self.tables.quiescent()
    }
}
