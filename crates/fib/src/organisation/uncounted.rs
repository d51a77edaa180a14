//! One table for all workers, as [`Shared`](super::Shared), whose readers do not count: somebody
//! else counts what each next hop carries, or nobody.

use std::sync::Mutex;

use super::{ApplyError, Change, Options, Organisation, Reader, Traffic, Writer, lock};
use crate::memory::MemoryReport;
use crate::next_hop::{NextHop, NextHops};
use crate::prefix::Prefix;
use crate::quiescence::{Quiescent, TooManyReaders};
use crate::storage::OutOfMemory;
use crate::table::View;

/// One table that every worker reads, and nothing else.
#[derive(Debug)]
pub struct Uncounted(Mutex<Writer>);

impl Uncounted {
    /// Empty tables.
    ///
    /// # Errors
    /// When the system refuses the memory.
    pub fn new(options: &Options) -> Result<Self, OutOfMemory> {
        Writer::new(options, 1).map(Mutex::new).map(Self)
    }
}

impl Organisation for Uncounted {
    type Reader = TableReader;

    /// Every call is one of [`Options::workers`] readers; the number does not matter.
    fn reader(&self, _worker: usize) -> Result<TableReader, TooManyReaders> {
        lock(&self.0).reader(0)
    }

    fn apply(&self, changes: &[Change]) -> Result<(), ApplyError> {
        lock(&self.0).apply(changes)
    }

    fn apply_v4(&self, routes: &[(Prefix<u32>, NextHop)]) -> Result<(), ApplyError> {
        lock(&self.0).apply_v4(routes)
    }

    /// None: it does not count.
    fn traffic(&self, _next_hop: NextHop) -> Traffic {
        Traffic::default()
    }

    fn memory(&self) -> MemoryReport {
        lock(&self.0).memory()
    }
}

/// A reader that takes no lock and counts nothing: views of the tables, and its line in the
/// quiescence domain.
#[derive(Debug)]
pub struct TableReader {
    v4: View<u32>,
    v6: View<u128>,
    next_hops: NextHops,
    quiescent: Quiescent,
}

impl TableReader {
    /// Reads these tables, whose writer waits for `quiescent` before it uses memory again.
    pub fn new(v4: View<u32>, v6: View<u128>, next_hops: NextHops, quiescent: Quiescent) -> Self {
        Self {
            v4,
            v6,
            next_hops,
            quiescent,
        }
    }
}

/// Never inlined: organisations that look up one address at a time differ by their locks alone when
/// all call the same code, in whichever crate they are compiled.
impl TableReader {
    /// The next hop of one address.
    #[inline(never)]
    pub(super) fn one_v4(&self, address: u32) -> NextHop {
        self.v4.lookup(address)
    }

    /// The same for IPv6.
    #[inline(never)]
    pub(super) fn one_v6(&self, address: u128) -> NextHop {
        self.v6.lookup(address)
    }
}

impl Reader for TableReader {
    #[inline]
    fn resolve_v4(&mut self, addresses: &[u32], _lengths: &[u16], out: &mut [NextHop]) {
        self.v4.lookup_burst(addresses, out);
    }

    #[inline]
    fn resolve_v6(&mut self, addresses: &[u128], _lengths: &[u16], out: &mut [NextHop]) {
        self.v6.lookup_burst(addresses, out);
    }

    #[inline]
    fn next_hops(&self) -> &NextHops {
        &self.next_hops
    }

    #[inline]
    fn quiescent(&mut self) -> &mut Quiescent {
        &mut self.quiescent
    }
}
