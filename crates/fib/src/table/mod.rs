//! Longest-prefix-match tables that are read while they change.
//!
//! [`Table`] is the writer of one family: it knows the routes and keeps one or more copies of the
//! flat arrays that [`crate::layout`] describes. [`View`] is what a reader holds: it takes no lock
//! and writes nothing. For each address a reader sees the answer before a change or the one after
//! it.
//!
//! Memory that a change unlinks waits in quarantine until the caller says that no reader can still
//! be looking at it: [`Table::seal`] after some changes, [`Table::reclaim`] once all readers have
//! moved on. [`crate::organisation`] does that for worker threads; who shares the arrays with an
//! eBPF program does it after an RCU grace period.
//!
//! What it cannot do: two writers at once; more than 65,535 next hops; more than 2^30 words of
//! nodes.

use std::marker::PhantomData;
use std::sync::atomic::AtomicU64;

use crate::layout::{FIRST_NODE, INDEX_MASK};
use crate::memory::MemoryReport;
use crate::next_hop::NextHop;
use crate::prefix::Prefix;
use crate::quarantine::Quarantine;
use crate::storage::{OutOfMemory, Region};

mod ahead;
mod arena;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx512;
mod blocks;
mod encode;
mod entry;
mod family;
mod prefetch;
mod refresh;
mod routes;
mod search;
mod view;

use blocks::Blocks;
pub use entry::Entry;
pub use family::{Below, Family};
use refresh::{Arrays, Transaction};
use routes::Routes;
use search::Arrays as Search;
pub use search::avoid_vector_registers;
pub use view::View;

/// How much room a table gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// 64-bit words for nodes.
    pub node_words: usize,
}

impl Default for Capacity {
    /// 64 MiB of address space; memory is taken only as it is used.
    fn default() -> Self {
        Self {
            node_words: 8 << 20,
        }
    }
}

/// An entry of a family's table, as readers see it.
pub type Cell<A> = <<A as Family>::Entry as Entry>::Cell;

/// The arrays of one copy of a table.
#[derive(Debug)]
pub struct TableStorage<A: Family> {
    /// Entries by the leading bits of the address: [`Family::ROOT`] of them.
    pub root: Region<Cell<A>>,
    /// Nodes.
    pub nodes: Region<AtomicU64>,
    family: PhantomData<A>,
}

impl<A: Family> Clone for TableStorage<A> {
    fn clone(&self) -> Self {
        Self {
            root: self.root.clone(),
            nodes: self.nodes.clone(),
            family: PhantomData,
        }
    }
}

impl<A: Family> TableStorage<A> {
    /// Arrays in memory of this process.
    ///
    /// # Errors
    /// When the system refuses the memory.
    pub fn in_memory(capacity: Capacity) -> Result<Self, OutOfMemory> {
        Ok(Self::new(
            Region::in_memory(A::ROOT)?,
            Region::in_memory(capacity.node_words)?,
        ))
    }

    /// Arrays that the caller has; all zero.
    ///
    /// # Panics
    /// When the root has not [`Family::ROOT`] entries, or there is no room for one node: a mistake
    /// of the program.
    pub fn new(root: Region<Cell<A>>, nodes: Region<AtomicU64>) -> Self {
        assert_eq!(
            root.elements().len(),
            A::ROOT,
            "the root has a fixed number of entries"
        );
        assert!(
            nodes.elements().len() >= FIRST_NODE,
            "the first words are reserved"
        );
        Self {
            root,
            nodes,
            family: PhantomData,
        }
    }
}

/// Why a route could not be changed. The table is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// The node array is full.
    #[error(
        "the node array of {capacity} words is full; reclaim, or make the table with more room"
    )]
    Full {
        /// Words there are.
        capacity: usize,
    },
}

/// The writer of a table.
#[derive(Debug)]
pub struct Table<A: Family> {
    routes: Routes<A>,
    arrays: Arrays<A>,
    transaction: Transaction<A>,
}

impl<A: Family> Table<A> {
    /// An empty table in memory of this process, with room for several Internet tables.
    ///
    /// # Errors
    /// When the system refuses the memory.
    pub fn new() -> Result<Self, OutOfMemory> {
        Ok(Self::in_storage(vec![TableStorage::in_memory(
            Capacity::default(),
        )?]))
    }

    /// An empty table in the arrays given, all of which will hold the same.
    ///
    /// # Panics
    /// When no arrays are given: a mistake of the program.
    pub fn in_storage(copies: Vec<TableStorage<A>>) -> Self {
        let capacity = copies.iter().map(|copy| copy.nodes.elements().len()).min();
        let capacity = capacity
            .expect("a table has one copy at least")
            .min(INDEX_MASK as usize);
        let blocks = Blocks::new(FIRST_NODE as u32, capacity as u32);
        Self {
            routes: Routes::new(),
            arrays: Arrays {
                copies,
                blocks,
                quarantine: Quarantine::default(),
            },
            transaction: Transaction::new(),
        }
    }

    /// What a reader of copy `copy` needs.
    ///
    /// # Panics
    /// When there is no such copy: a mistake of the program.
    pub fn view(&self, copy: usize) -> View<A> {
        View::new(self.arrays.copies[copy].clone())
    }

    /// Adds or replaces a route; [`NextHop::NONE`] removes it. Returns the next hop it had.
    ///
    /// # Errors
    /// When the room is used up: nothing has changed then.
    pub fn insert(
        &mut self,
        prefix: Prefix<A>,
        next_hop: NextHop,
    ) -> Result<Option<NextHop>, TableError> {
        let old = self
            .transaction
            .change(&mut self.routes, &self.arrays, prefix, next_hop);
        self.transaction
            .finish(&mut self.routes, &mut self.arrays)?;
        Ok(Some(old).filter(|&old| old != NextHop::NONE))
    }

    /// Removes a route; returns the next hop it had.
    ///
    /// # Errors
    /// When the room is used up (uncovering a shorter route can need some): nothing has changed
    /// then.
    pub fn remove(&mut self, prefix: Prefix<A>) -> Result<Option<NextHop>, TableError> {
        self.insert(prefix, NextHop::NONE)
    }

    /// Makes many changes at once: each node of the arrays is written once, however many of them it
    /// takes part in. For an address that several of the changes concern, readers see the
    /// answer before the first or after the last.
    ///
    /// # Errors
    /// When the room is used up: no change is made then.
    pub fn insert_all(&mut self, changes: &[(Prefix<A>, NextHop)]) -> Result<(), TableError> {
        self.change_all(changes)
    }

    /// The next hop of exactly this prefix.
    pub fn get(&self, prefix: Prefix<A>) -> Option<NextHop> {
        self.routes.get(prefix)
    }

    /// The next hop of the longest prefix that contains the address.
    pub fn lookup(&self, address: A) -> NextHop {
        Search::of(&self.arrays.copies[0]).lookup(address)
    }

    /// The next hops of as many addresses as the shorter slice has.
    pub fn lookup_burst(&self, addresses: &[A], out: &mut [NextHop]) {
        Search::of(&self.arrays.copies[0]).lookup_burst(addresses, out);
    }

    /// How many routes there are.
    pub fn len(&self) -> usize {
        self.routes.count()
    }

    /// Is the table empty?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `visit` for every route, in no particular order.
    pub fn for_each(&self, mut visit: impl FnMut(Prefix<A>, NextHop)) {
        self.routes.for_each(&mut visit);
    }

    /// Everything unlinked so far may be reused once all readers have reached `epoch`. Epochs grow.
    pub fn seal(&mut self, epoch: u64) {
        self.arrays.quarantine.seal(epoch);
    }

    /// All readers have reached `epoch`: reuse what was sealed under it or earlier.
    ///
    /// # Safety
    /// Every look-up in a view of this table that was under way when [`Table::seal`] was called
    /// with that epoch must be over: blocks that it may still be reading are written again.
    pub unsafe fn reclaim(&mut self, epoch: u64) {
        let Arrays {
            quarantine, blocks, ..
        } = &mut self.arrays;
        quarantine.reclaim(epoch, |(first, words)| blocks.give(first, words));
    }

    /// Exact bytes of the arrays, every copy, and of the routes behind them.
    pub fn memory(&self) -> MemoryReport {
        let used_nodes = self.arrays.blocks.high_water() as usize * size_of::<u64>();
        let mut report = MemoryReport::default();
        for copy in &self.arrays.copies {
            report.add(A::NAMES[0], copy.root.bytes(), copy.root.bytes());
            report.add(A::NAMES[1], used_nodes, copy.nodes.bytes());
        }
        report
    }

    /// Bytes of the control side: the routes themselves, and the lists of free blocks.
    pub fn route_memory(&self) -> MemoryReport {
        let mut report = MemoryReport::default();
        let routes = self.routes.bytes();
        report.add(A::NAMES[2], routes, routes);
        let lists = self.arrays.blocks.list_bytes() + self.arrays.quarantine.bytes();
        report.add(A::NAMES[3], lists, lists);
        report
    }
}

#[cfg(test)]
#[path = "../../tests/unit/table.rs"]
mod tests;
