//! Ways for workers to share tables, behind one trait.
//!
//! - [`Locked`]: tables: one; a worker's look-up: takes one mutex for each frame, around look-up
//!   and counters; a route change: takes the same mutex
//! - [`Shared`]: tables: one; a worker's look-up: reads; counts in memory of its own; a route
//!   change: in place, while all read
//! - [`PerCore`]: tables: a copy for each worker; a worker's look-up: reads its own copy; counts in
//!   memory of its own; a route change: in place, in every copy
//! - [`OneByOne`]: as `Shared`, but looks up one address at a time, as `Locked` does
//! - [`LockedPerCore`]: tables: a copy for each worker; a worker's look-up: takes the mutex of its
//!   copy for each frame; a route change: takes every mutex
//! - [`Uncounted`]: as `Shared`, and nobody counts: what the router's workers read
//!
//! `Locked` is how the first routers for two cores were built, and exists to be measured against.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::memory::MemoryReport;
use crate::next_hop::{
    NextHop, NextHopEntry, NextHopError, NextHopStorage, NextHopTable, NextHops,
};
use crate::prefix::Prefix;
use crate::quiescence::{Domain, Quiescent, TooManyReaders};
use crate::storage::OutOfMemory;
use crate::table::{Capacity, Table, TableError, TableStorage};

mod locked;
mod shared;
mod singles;
mod traffic;
mod uncounted;

pub use locked::{Locked, LockedReader};
pub use shared::{PerCore, Shared, SnapshotReader, Snapshots};
pub use singles::{LockedPerCore, OneByOne, SingleReader, Singles};
pub use traffic::{Traffic, TrafficCells};
pub use uncounted::{TableReader, Uncounted};

/// How workers share tables and count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableOrganisation {
    /// One table and its counters under one mutex, taken for every frame.
    Locked,
    /// One table that all read and none writes.
    Shared,
    /// A copy for every worker.
    PerCore,
    /// One table that all read and none writes, one address at a time.
    OneByOne,
    /// A copy for every worker behind a mutex of its own, taken for every frame.
    LockedPerCore,
}

impl TableOrganisation {
    /// All of them: from the worst to the best, then those that tell the price of the lock apart.
    pub const ALL: [Self; 5] = [
        Self::Locked,
        Self::Shared,
        Self::PerCore,
        Self::OneByOne,
        Self::LockedPerCore,
    ];

    /// The name people see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Locked => "locked",
            Self::Shared => "shared",
            Self::PerCore => "per-core",
            Self::OneByOne => "one-by-one",
            Self::LockedPerCore => "locked-per-core",
        }
    }
}

/// One change to the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// An IPv4 route; [`NextHop::NONE`] withdraws it.
    V4(Prefix<u32>, NextHop),
    /// An IPv6 route; [`NextHop::NONE`] withdraws it.
    V6(Prefix<u128>, NextHop),
    /// The entry behind a next hop; one of kind `None` removes it.
    NextHop(NextHop, NextHopEntry),
    /// A group: its entry, and its members.
    Group(NextHop, NextHopEntry, Box<[NextHop]>),
}

/// Why a change was not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// The table is full.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The next-hop table is full, or next hop 0 was named.
    #[error(transparent)]
    NextHop(#[from] NextHopError),
}

/// Some changes were not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("change {applied} of the batch failed, those before it are made: {reason}")]
pub struct ApplyError {
    /// How many changes, from the first, are in effect.
    pub applied: usize,
    /// Why the next one is not.
    #[source]
    pub reason: ChangeError,
}

/// How many readers, and how much room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Workers: readers at once, and copies of a per-core organisation.
    pub workers: usize,
    /// Room in the IPv4 table.
    pub v4: Capacity,
    /// Room in the IPv6 table.
    pub v6: Capacity,
    /// Next hops that can be set at once.
    pub next_hops: usize,
    /// Buckets of groups.
    pub buckets: usize,
}

impl Options {
    /// Room for the Internet's tables several times over; memory is taken only as it is used.
    pub fn for_workers(workers: usize) -> Self {
        Self {
            workers,
            v4: Capacity::default(),
            v6: Capacity::default(),
            next_hops: crate::next_hop::NEXT_HOPS,
            buckets: 1 << 18,
        }
    }
}

/// Tables and their readers.
pub trait Organisation: Send + Sync {
    /// What a worker looks up with.
    type Reader: Reader;

    /// The reader of worker `worker`, counted from 0.
    ///
    /// # Errors
    /// When there are more workers than the organisation was made for.
    fn reader(&self, worker: usize) -> Result<Self::Reader, TooManyReaders>;

    /// Makes changes in the order given; each is seen by every reader from some moment on. Any
    /// thread may call this.
    ///
    /// # Errors
    /// When a table is full: those before are made, and the table is as if the failing one had not
    /// been tried.
    fn apply(&self, changes: &[Change]) -> Result<(), ApplyError>;

    /// The same for IPv4 routes alone, for who has them as the tables take them; [`NextHop::NONE`]
    /// withdraws one.
    ///
    /// # Errors
    /// As [`Organisation::apply`].
    fn apply_v4(&self, routes: &[(Prefix<u32>, NextHop)]) -> Result<(), ApplyError> {
        let change = |&(prefix, next_hop): &_| Change::V4(prefix, next_hop);
        self.apply(&routes.iter().map(change).collect::<Vec<_>>())
    }

    /// Frames and bytes resolved to a next hop by all workers since the start.
    fn traffic(&self, next_hop: NextHop) -> Traffic;

    /// Bytes of all arrays, all copies.
    fn memory(&self) -> MemoryReport;
}

/// One worker's access. Not shared between threads.
pub trait Reader: Send {
    /// Looks up a burst and counts it: `out[i]` is the next hop of `addresses[i]`, whose frame has
    /// `lengths[i]` bytes. As many as the shortest of the three slices.
    fn resolve_v4(&mut self, addresses: &[u32], lengths: &[u16], out: &mut [NextHop]);

    /// The same for IPv6.
    fn resolve_v6(&mut self, addresses: &[u128], lengths: &[u16], out: &mut [NextHop]);

    /// The entries of next hops. What [`NextHops::get`] returns must be dropped before
    /// [`Reader::quiesce`].
    fn next_hops(&self) -> &NextHops;

    /// The entry of one next hop.
    #[inline]
    fn next_hop(&self, next_hop: NextHop) -> &NextHopEntry {
        self.next_hops().get(next_hop)
    }

    /// Its line in the quiescence domain.
    fn quiescent(&mut self) -> &mut Quiescent;

    /// The end of a burst: this reader holds nothing.
    #[inline]
    fn quiesce(&mut self) {
        self.quiescent().quiesce();
    }

    /// Before sleeping for long: this reader holds nothing and will not look until
    /// [`Reader::online`].
    fn offline(&mut self) {
        self.quiescent().offline();
    }

    /// After sleeping, before looking again.
    fn online(&mut self) {
        self.quiescent().online();
    }
}

/// The writing side that `Shared` and `PerCore` have in common.
#[derive(Debug)]
struct Writer {
    v4: Table<u32>,
    v6: Table<u128>,
    next_hops: Vec<NextHopTable>,
    domain: Domain,
    /// Routes of a batch, on their way to a table.
    routes_v4: Vec<(Prefix<u32>, NextHop)>,
    routes_v6: Vec<(Prefix<u128>, NextHop)>,
}

/// Routes that go to a table at once.
const AT_ONCE: usize = 256;
/// Changes of a batch after which what they have freed is taken back, if the readers have moved on:
/// a table that is filled in one batch would else leave behind every version of the nodes that it
/// writes again.
const RECLAIM_AFTER: usize = 64 * AT_ONCE;

impl Writer {
    fn new(options: &Options, copies: usize) -> Result<Self, OutOfMemory> {
        let (mut v4, mut v6, mut next_hops) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..copies {
            v4.push(TableStorage::in_memory(options.v4)?);
            v6.push(TableStorage::in_memory(options.v6)?);
            let storage = NextHopStorage::in_memory(options.next_hops, options.buckets)?;
            next_hops.push(NextHopTable::new(storage));
        }
        Ok(Self {
            v4: Table::in_storage(v4),
            v6: Table::in_storage(v6),
            next_hops,
            domain: Domain::new(options.workers),
            routes_v4: Vec::with_capacity(AT_ONCE),
            routes_v6: Vec::with_capacity(AT_ONCE),
        })
    }

    /// One more reader, of that copy.
    fn reader(&self, copy: usize) -> Result<TableReader, TooManyReaders> {
        Ok(TableReader::new(
            self.v4.view(copy),
            self.v6.view(copy),
            self.next_hops[copy].view(),
            self.domain.reader()?,
        ))
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), ApplyError> {
        self.reclaim();
        let (mut applied, mut reclaimed) = (0, 0);
        while applied < changes.len() {
            if applied - reclaimed >= RECLAIM_AFTER {
                self.seal();
                self.reclaim();
                reclaimed = applied;
            }
            applied += match self.apply_routes(&changes[applied..]) {
                0 => self
                    .apply_one(&changes[applied])
                    .map(|()| 1)
                    .map_err(|reason| ApplyError { applied, reason })?,
                routes => routes,
            };
        }
        self.seal();
        self.reclaim();
        Ok(())
    }

    /// IPv4 routes, which need not be copied first.
    fn apply_v4(&mut self, routes: &[(Prefix<u32>, NextHop)]) -> Result<(), ApplyError> {
        let mut applied = 0;
        for part in routes.chunks(RECLAIM_AFTER) {
            self.reclaim();
            for routes in part.chunks(AT_ONCE) {
                if self.v4.insert_all(routes).is_ok() {
                    applied += routes.len();
                    continue;
                }
                for &(prefix, next_hop) in routes {
                    self.apply_one(&Change::V4(prefix, next_hop))
                        .map_err(|reason| ApplyError { applied, reason })?;
                    applied += 1;
                }
            }
            self.seal();
        }
        self.reclaim();
        Ok(())
    }

    /// Makes the routes of one family that `changes` begins with, at once. Returns how many: none
    /// if there are not two, or the table would be full.
    fn apply_routes(&mut self, changes: &[Change]) -> usize {
        let changes = &changes[..changes.len().min(AT_ONCE)];
        self.routes_v4.clear();
        self.routes_v4
            .extend(changes.iter().map_while(|change| match *change {
                Change::V4(prefix, next_hop) => Some((prefix, next_hop)),
                _ => None,
            }));
        self.routes_v6.clear();
        self.routes_v6
            .extend(changes.iter().map_while(|change| match *change {
                Change::V6(prefix, next_hop) => Some((prefix, next_hop)),
                _ => None,
            }));
        match (self.routes_v4.len(), self.routes_v6.len()) {
            (count @ 2.., _) if self.v4.insert_all(&self.routes_v4).is_ok() => count,
            (_, count @ 2..) if self.v6.insert_all(&self.routes_v6).is_ok() => count,
            _ => 0,
        }
    }

    fn apply_one(&mut self, change: &Change) -> Result<(), ChangeError> {
        if self.change(change).is_ok() {
            return Ok(());
        }
        // What this batch has freed may be enough, if the readers have moved on.
        self.seal();
        self.reclaim();
        self.change(change)
    }

    fn change(&mut self, change: &Change) -> Result<(), ChangeError> {
        match change {
            Change::V4(prefix, next_hop) => self.v4.insert(*prefix, *next_hop).map(drop)?,
            Change::V6(prefix, next_hop) => self.v6.insert(*prefix, *next_hop).map(drop)?,
            Change::NextHop(id, entry) => {
                for table in &mut self.next_hops {
                    set_or_remove(table, *id, entry)?;
                }
            }
            Change::Group(id, entry, members) => {
                for table in &mut self.next_hops {
                    table.set_group(*id, *entry, members)?;
                }
            }
        }
        Ok(())
    }

    fn seal(&mut self) {
        let epoch = self.domain.advance();
        self.v4.seal(epoch);
        self.v6.seal(epoch);
        for table in &mut self.next_hops {
            table.seal(epoch);
        }
    }

    fn reclaim(&mut self) {
        let epoch = self.domain.reached();
        // SAFETY: views exist only inside readers of this domain, whose look-ups and borrowed
        // entries end before they announce an epoch.
        unsafe {
            self.v4.reclaim(epoch);
            self.v6.reclaim(epoch);
            for table in &mut self.next_hops {
                table.reclaim(epoch);
            }
        }
    }

    fn memory(&self) -> MemoryReport {
        let mut report = self.v4.memory();
        report.extend(self.v6.memory());
        for table in &self.next_hops {
            report.extend(table.memory());
        }
        report
    }
}

fn set_or_remove(
    table: &mut NextHopTable,
    id: NextHop,
    entry: &NextHopEntry,
) -> Result<(), NextHopError> {
    if entry.kind == crate::next_hop::Kind::None {
        table.remove(id);
        return Ok(());
    }
    table.set(id, *entry)
}

/// A panic while the lock was held leaves the table as it was between two stores, which is a table
/// readers may see.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
