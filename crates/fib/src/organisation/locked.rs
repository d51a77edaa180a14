//! One table and its counters under one mutex, taken for every frame: the organisation that does
//! not scale, and the reason why this project exists.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::{
    ApplyError, Change, Options, Organisation, Reader, TableReader, Traffic, Writer, lock,
};
use crate::memory::MemoryReport;
use crate::next_hop::{NEXT_HOPS, NextHop, NextHops};
use crate::quiescence::{Quiescent, TooManyReaders};
use crate::storage::OutOfMemory;

/// Everything that the lock guards.
#[derive(Debug)]
struct Guarded {
    writer: Writer,
    traffic: Vec<Traffic>,
}

/// One table, one mutex.
#[derive(Debug)]
pub struct Locked {
    state: Arc<Mutex<Guarded>>,
    workers: usize,
}

impl Locked {
    /// What a profiler may call the mutex.
    pub const LOCK_NAME: &'static str = "fib::organisation::Locked (table and counters)";

    /// Empty tables.
    ///
    /// # Errors
    /// When the system refuses the memory.
    pub fn new(options: &Options) -> Result<Self, OutOfMemory> {
        let guarded = Guarded {
            writer: Writer::new(options, 1)?,
            traffic: vec![Traffic::default(); NEXT_HOPS],
        };
        Ok(Self {
            state: Arc::new(Mutex::new(guarded)),
            workers: options.workers,
        })
    }

    /// Where the mutex is: the futex that waiters sleep on lies in this range of addresses, whose
    /// start is [`Locked::lock_address`].
    pub fn lock_range(&self) -> Range<usize> {
        let first = self.lock_address();
        first..first + size_of::<Mutex<Guarded>>()
    }

    /// The address of the mutex.
    pub fn lock_address(&self) -> usize {
        Arc::as_ptr(&self.state).addr()
    }
}

impl Organisation for Locked {
    type Reader = LockedReader;

    fn reader(&self, worker: usize) -> Result<LockedReader, TooManyReaders> {
        if worker >= self.workers {
            return Err(TooManyReaders {
                capacity: self.workers,
            });
        }
        let guarded = lock(&self.state);
        Ok(LockedReader {
            state: Arc::clone(&self.state),
            tables: guarded.writer.reader(0)?,
        })
    }

    /// Takes the lock for each change, as the workers do for each frame.
    fn apply(&self, changes: &[Change]) -> Result<(), ApplyError> {
        for (applied, change) in changes.iter().enumerate() {
            let result = lock(&self.state).writer.apply(std::slice::from_ref(change));
            result.map_err(|error| ApplyError { applied, ..error })?;
        }
        Ok(())
    }

    fn traffic(&self, next_hop: NextHop) -> Traffic {
        lock(&self.state).traffic[usize::from(next_hop.0)]
    }

    fn memory(&self) -> MemoryReport {
        lock(&self.state).writer.memory()
    }
}

/// A reader that takes the lock for every frame.
#[derive(Debug)]
pub struct LockedReader {
    state: Arc<Mutex<Guarded>>,
    /// Asked while the lock is held.
    tables: TableReader,
}

impl LockedReader {
    #[inline]
    fn resolve<A: Copy>(
        &self,
        addresses: &[A],
        lengths: &[u16],
        out: &mut [NextHop],
        lookup: impl Fn(&TableReader, A) -> NextHop,
    ) {
        for ((&address, &length), out) in addresses.iter().zip(lengths).zip(out) {
            let mut guarded = lock(&self.state);
            let next_hop = lookup(&self.tables, address);
            let traffic = &mut guarded.traffic[usize::from(next_hop.0)];
            traffic.frames += 1;
            traffic.bytes += u64::from(length);
            *out = next_hop;
        }
    }
}

impl Reader for LockedReader {
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
