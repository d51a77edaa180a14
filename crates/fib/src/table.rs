//! Longest-prefix-match tables that are read while they change.

use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, PoisonError, RwLock};

use crate::address::Address;
use crate::golden::GoldenTable;
use crate::memory::MemoryReport;
use crate::next_hop::NextHop;
use crate::prefix::Prefix;
use crate::storage::{OutOfMemory, Region};

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

/// The arrays of one copy of a table.
#[derive(Clone, Debug)]
pub struct TableStorage<A> {
    /// Entries by the leading bits of the address.
    pub root: Region<AtomicU32>,
    /// Nodes.
    pub nodes: Region<AtomicU64>,
    family: std::marker::PhantomData<A>,
}

impl<A: Address> TableStorage<A> {
    /// Arrays in memory of this process.
    ///
    /// # Errors
    /// When the system refuses the memory.
    pub fn in_memory(capacity: Capacity) -> Result<Self, OutOfMemory> {
        Ok(Self::new(
            Region::in_memory(1 << 18)?,
            Region::in_memory(capacity.node_words)?,
        ))
    }

    /// Arrays that the caller has; all zero.
    pub fn new(root: Region<AtomicU32>, nodes: Region<AtomicU64>) -> Self {
        Self {
            root,
            nodes,
            family: std::marker::PhantomData,
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
pub struct Table<A> {
    copies: Vec<TableStorage<A>>,
    routes: Arc<RwLock<GoldenTable<A>>>,
}

/// What readers hold.
#[derive(Clone, Debug)]
pub struct View<A> {
    routes: Arc<RwLock<GoldenTable<A>>>,
}

impl<A: Address> View<A> {
    /// The next hop of an address.
    pub fn lookup(&self, address: A) -> NextHop {
        self.routes
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .lookup(address)
    }

    /// The next hops of as many addresses as the shorter slice has.
    pub fn lookup_burst(&self, addresses: &[A], out: &mut [NextHop]) {
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        for (&address, out) in addresses.iter().zip(out) {
            *out = routes.lookup(address);
        }
    }
}

impl<A: Address> Table<A> {
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
    pub fn in_storage(copies: Vec<TableStorage<A>>) -> Self {
        Self {
            copies,
            routes: Arc::default(),
        }
    }

    /// What a reader of copy `copy` needs.
    ///
    /// # Panics
    /// When there is no such copy: a mistake of the program.
    pub fn view(&self, copy: usize) -> View<A> {
        assert!(
            copy < self.copies.len(),
            "there are {} copies",
            self.copies.len()
        );
        View {
            routes: Arc::clone(&self.routes),
        }
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
        Ok(self
            .routes
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(prefix, next_hop))
    }

    /// Removes a route; returns the next hop it had.
    ///
    /// # Errors
    /// When the room is used up: nothing has changed then.
    pub fn remove(&mut self, prefix: Prefix<A>) -> Result<Option<NextHop>, TableError> {
        self.insert(prefix, NextHop::NONE)
    }

    /// The next hop of exactly this prefix.
    pub fn get(&self, prefix: Prefix<A>) -> Option<NextHop> {
        self.routes
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(prefix)
    }

    /// The next hop of the longest prefix that contains the address.
    pub fn lookup(&self, address: A) -> NextHop {
        self.view(0).lookup(address)
    }

    /// The next hops of as many addresses as the shorter slice has.
    pub fn lookup_burst(&self, addresses: &[A], out: &mut [NextHop]) {
        self.view(0).lookup_burst(addresses, out);
    }

    /// How many routes there are.
    pub fn len(&self) -> usize {
        self.routes
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }

    /// Is the table empty?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Everything unlinked so far may be reused once all readers have reached `epoch`.
    pub fn seal(&mut self, _epoch: u64) {}

    /// All readers have reached `epoch`: reuse what was sealed under it or earlier.
    pub fn reclaim(&mut self, _epoch: u64) {}

    /// Exact bytes of the arrays.
    pub fn memory(&self) -> MemoryReport {
        let mut report = MemoryReport::default();
        for copy in &self.copies {
            report.add("root", copy.root.bytes(), copy.root.bytes());
            report.add("nodes", 0, copy.nodes.bytes());
        }
        report
    }
}
