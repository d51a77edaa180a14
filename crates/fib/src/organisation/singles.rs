//! Look-ups of one address at a time, without a lock and with a lock of each worker's own: what
//! stands between [`Locked`](super::Locked), which looks up so too, and tables read in bursts. The
//! price of a lock is told apart from that of giving up bursts.

use std::sync::{Arc, Mutex};

use super::{
    ApplyError, Change, Options, Organisation, Reader, TableReader, Traffic, TrafficCells, Writer,
    lock,
};
use crate::memory::MemoryReport;
use crate::next_hop::{NextHop, NextHops};
use crate::quiescence::{Quiescent, TooManyReaders};
use crate::storage::OutOfMemory;

/// One table that all read, one address at a time.
pub type OneByOne = Singles<false>;
/// A copy for each worker behind a mutex of its own, taken for each frame.
pub type LockedPerCore = Singles<true>;

/// A worker's mutex, on a line (and its neighbour, which is fetched with it) of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Guard(Mutex<()>);

/// Tables read one address at a time; with `LOCKS`, each worker's copy behind its own mutex.
#[derive(Debug)]
pub struct Singles<const LOCKS: bool> {
    writer: Mutex<Writer>,
    traffic: Vec<TrafficCells>,
    guards: Vec<Arc<Guard>>,
}

impl<const LOCKS: bool> Singles<LOCKS> {
    /// Empty tables.
    ///
    /// # Errors
    /// When the system refuses the memory.
    pub fn new(options: &Options) -> Result<Self, OutOfMemory> {
        let copies = if LOCKS { options.workers.max(1) } else { 1 };
        let cells = (0..options.workers).map(|_| TrafficCells::new());
        Ok(Self {
            traffic: cells.collect::<Result<_, _>>()?,
            guards: (0..options.workers).map(|_| Arc::default()).collect(),
            writer: Mutex::new(Writer::new(options, copies)?),
        })
    }
}

impl<const LOCKS: bool> Organisation for Singles<LOCKS> {
    type Reader = SingleReader<LOCKS>;

    fn reader(&self, worker: usize) -> Result<SingleReader<LOCKS>, TooManyReaders> {
        let capacity = self.guards.len();
        let (Some(guard), Some(cells)) = (self.guards.get(worker), self.traffic.get(worker)) else {
            return Err(TooManyReaders { capacity });
        };
        Ok(SingleReader {
            tables: lock(&self.writer).reader(if LOCKS { worker } else { 0 })?,
            traffic: cells.clone(),
            guard: Arc::clone(guard),
        })
    }

    /// With locks it holds every worker's for each change.
    fn apply(&self, changes: &[Change]) -> Result<(), ApplyError> {
        let mut writer = lock(&self.writer);
        if !LOCKS {
            return writer.apply(changes);
        }
        for (applied, change) in changes.iter().enumerate() {
            let _held: Vec<_> = self.guards.iter().map(|guard| lock(&guard.0)).collect();
            let result = writer.apply(std::slice::from_ref(change));
            result.map_err(|error| ApplyError { applied, ..error })?;
        }
        Ok(())
    }

    fn traffic(&self, next_hop: NextHop) -> Traffic {
        self.traffic.iter().map(|cells| cells.get(next_hop)).sum()
    }

    fn memory(&self) -> MemoryReport {
        lock(&self.writer).memory()
    }
}

/// A reader that looks up one address at a time, with counters of its own.
#[derive(Debug)]
pub struct SingleReader<const LOCKS: bool> {
    tables: TableReader,
    traffic: TrafficCells,
    guard: Arc<Guard>,
}

impl<const LOCKS: bool> SingleReader<LOCKS> {
    #[inline]
    fn resolve<A: Copy>(
        &self,
        addresses: &[A],
        lengths: &[u16],
        out: &mut [NextHop],
        lookup: impl Fn(&TableReader, A) -> NextHop,
    ) {
        for ((&address, &length), out) in addresses.iter().zip(lengths).zip(out) {
            let _held = LOCKS.then(|| lock(&self.guard.0));
            *out = lookup(&self.tables, address);
            self.traffic.count(*out, length);
        }
    }
}

impl<const LOCKS: bool> Reader for SingleReader<LOCKS> {
    fn resolve_v4(&mut self, addresses: &[u32], lengths: &[u16], out: &mut [NextHop]) {
        self.resolve(addresses, lengths, out, TableReader::one_v4);
    }

    fn resolve_v6(&mut self, addresses: &[u128], lengths: &[u16], out: &mut [NextHop]) {
        self.resolve(addresses, lengths, out, TableReader::one_v6);
    }

    fn next_hops(&self) -> &NextHops {
        self.tables.next_hops()
    }

    #[inline]
    fn quiescent(&mut self) -> &mut Quiescent {
        self.tables.quiescent()
    }
}
