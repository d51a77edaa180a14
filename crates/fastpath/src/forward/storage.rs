//! The arrays of the tables and next hops, laid into memory-mapped maps.
//!
//! Each map is one large value; every table (main, VRFs) has its piece. `fib` writes there through
//! atomics, the program reads the same bytes: publishing a route is a store. The memory is
//! allocated by the kernel when the map is created, all of it, so capacities are chosen by
//! [`Capacity`] and not generous as in the heap.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

use bpf::map::{Map, MappedArray, Plain};
use bpf::program::Loader;
use fib::layout::{LONGEST_NODE, V4_ROOT, V6_ROOT};
use fib::next_hop::{EntryCell, NEXT_HOPS, NextHopStorage};
use fib::storage::{Region, Zeroable};
use fib::table::TableStorage;

use super::answers::Tables;

/// Of `struct link_counters` in the C source.
const LINK_BYTES: u32 = 32;
/// Of a cache line: what a CPU counts in fills whole ones.
const LINE_BYTES: u32 = 64;
/// Of `struct table`, in 64-bit words; the third counts changes, the fourth says what is large.
const TABLE_WORDS: usize = 4;
/// From so many routes of a family on, a table counts as large. The number is chosen, not measured:
/// look-ups in a table of 1,000 do not wait for memory, those in the Internet's do.
const LARGE: usize = 1 << 14;
/// Of what a CPU remembers of sources: bpf/source.h.
const REMEMBERED: usize = 1 << 8;

/// How much room the forwarding state gets; the kernel allocates all of it at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// 64-bit words for IPv4 nodes of the first table.
    pub main_v4: usize,
    /// The same for IPv6.
    pub main_v6: usize,
    /// Further tables (VRFs).
    pub more_tables: usize,
    /// Words for each further table's nodes, per family.
    pub more_words: usize,
    /// Slots for next-hop entries: each entry that changes within a grace period needs one more.
    pub slots: usize,
    /// Buckets of all groups together.
    pub buckets: usize,
    /// VLANs of all ports together.
    pub vlans: usize,
}

impl Default for Capacity {
    /// 55 MiB: four times the Internet's table of 2026 in the first table, and seven VRFs of some
    /// ten thousand routes; every number of a next hop, and room to replace all of them in a grace
    /// period; 16,384 groups of 64 buckets.
    fn default() -> Self {
        Self {
            main_v4: 2 << 20,
            main_v6: 2 << 20,
            more_tables: 7,
            more_words: 64 << 10,
            slots: 128 << 10,
            buckets: 1 << 20,
            vlans: 4096,
        }
    }
}

impl Capacity {
    /// For the kernel's lookup, which needs no tables of ours.
    pub(super) const NONE: Self = Self {
        main_v4: 64,
        main_v6: 64,
        more_tables: 0,
        more_words: 0,
        slots: 1,
        buckets: 1,
        vlans: 4096,
    };

    /// How many tables it is for: the first and those of VRFs.
    pub fn tables(&self) -> usize {
        1 + self.more_tables
    }

    /// Where the nodes of table `index` begin, and how many words it has.
    fn nodes(&self, index: usize, main: usize) -> (usize, usize) {
        if index == 0 {
            (0, main)
        } else {
            (main + (index - 1) * self.more_words, self.more_words)
        }
    }

    /// Sizes the maps and sets the constants that go with them.
    pub(super) fn shape(&self, loader: Loader, cpus: usize) -> bpf::Result<Loader> {
        let more = self.more_tables * self.more_words;
        let (roots4, roots6) = (V4_ROOT * self.tables(), V6_ROOT * self.tables());
        // The program reads as much as the longest node has, wherever a node begins.
        let (nodes4, nodes6) = (self.main_v4 + more + LONGEST_NODE, self.main_v6 + more);
        let bytes = |count: usize, size: usize| (count * size) as u32;
        Ok(loader
            .value_size("tables", bytes(self.tables(), TABLE_WORDS * 8))?
            .constant("TABLES", self.tables() as u64)
            .value_size("remembered", bytes(cpus * REMEMBERED, 16))?
            .constant("REMEMBERED", (cpus * REMEMBERED) as u64)
            .value_size("root4", bytes(roots4, 4))?
            .value_size("root6", bytes(roots6, 8))?
            .value_size("nodes4", bytes(nodes4, 8))?
            .value_size("nodes6", bytes(nodes6, 8))?
            .value_size("slots", 4 << 16)?
            .value_size("next_hops", bytes(self.slots, 32))?
            .constant("SLOTS", self.slots as u64)
            .value_size(
                "vlan_counters",
                (self.vlans as u32 * LINK_BYTES).next_multiple_of(LINE_BYTES),
            )?
            .constant("VLANS", self.vlans as u64)
            .value_size("buckets", bytes(self.buckets, 2).next_multiple_of(8))?
            .constant("ROOTS4", roots4 as u64)
            .constant("ROOTS6", roots6 as u64)
            .constant("NODES4", nodes4 as u64)
            .constant("NODES6", nodes6 as u64)
            .constant("BUCKETS", self.buckets as u64))
    }
}

/// The mapped arrays.
#[derive(Clone, Debug)]
pub(super) struct Arrays {
    capacity: Capacity,
    pub(super) tables: Arc<MappedArray<u64>>,
    root4: Arc<MappedArray<u32>>,
    root6: Arc<MappedArray<u64>>,
    nodes4: Arc<MappedArray<u64>>,
    nodes6: Arc<MappedArray<u64>>,
    slots: Arc<MappedArray<u32>>,
    entries: Arc<MappedArray<[u8; 32]>>,
    buckets: Arc<MappedArray<u16>>,
}

impl Arrays {
    pub(super) fn map(
        capacity: Capacity,
        map: impl Fn(&str) -> bpf::Result<Map>,
    ) -> bpf::Result<Self> {
        Ok(Self {
            capacity,
            tables: Arc::new(map("tables")?.mapped()?),
            root4: Arc::new(map("root4")?.mapped()?),
            root6: Arc::new(map("root6")?.mapped()?),
            nodes4: Arc::new(map("nodes4")?.mapped()?),
            nodes6: Arc::new(map("nodes6")?.mapped()?),
            slots: Arc::new(map("slots")?.mapped()?),
            entries: Arc::new(map("next_hops")?.mapped()?),
            buckets: Arc::new(map("buckets")?.mapped()?),
        })
    }

    /// The arrays of table `index`, which the program finds through `tables` from now on.
    pub(super) fn table(&self, index: usize) -> (TableStorage<u32>, TableStorage<u128>) {
        let (first4, words4) = self.capacity.nodes(index, self.capacity.main_v4);
        let (first6, words6) = self.capacity.nodes(index, self.capacity.main_v6);
        let (root4, root6) = (index * V4_ROOT, index * V6_ROOT);
        // `struct table` of the C source: four u32, seen as two words of a little-endian machine.
        let word = TABLE_WORDS * index;
        self.tables
            .write(word, root4 as u64 | (first4 as u64) << 32);
        self.tables
            .write(word + 1, root6 as u64 | (first6 as u64) << 32);
        self.tables.write(word + 2, 1);
        (
            TableStorage::new(
                region::<u32, AtomicU32>(&self.root4, root4, V4_ROOT),
                region::<u64, AtomicU64>(&self.nodes4, first4, words4),
            ),
            TableStorage::new(
                region::<u64, AtomicU64>(&self.root6, root6, V6_ROOT),
                region::<u64, AtomicU64>(&self.nodes6, first6, words6),
            ),
        )
    }

    /// Says that answers of table `index` have changed, which is now as given: what programs remember of
    /// it ends.
    pub(super) fn changed(&self, index: usize, now: &Tables) {
        let word = TABLE_WORDS * index + 2;
        fence(Ordering::Release);
        self.tables.write(word, self.tables.read(word) + 1);
        let large = u64::from(now.v4.len() >= LARGE) | u64::from(now.v6.len() >= LARGE) << 1;
        self.tables.write(word + 1, large);
    }

    /// The arrays of the next hops.
    pub(super) fn next_hops(&self) -> NextHopStorage {
        NextHopStorage {
            slots: region::<u32, AtomicU32>(&self.slots, 0, NEXT_HOPS),
            entries: region::<[u8; 32], EntryCell>(&self.entries, 0, self.capacity.slots),
            buckets: region::<u16, AtomicU16>(&self.buckets, 0, self.capacity.buckets),
        }
    }

    /// Bytes of the arrays that hold tables and next hops.
    pub(super) fn bytes(&self) -> u64 {
        let size = |length: usize, element: usize| (length * element) as u64;
        size(self.tables.len(), 8)
            + size(self.root4.len(), 4)
            + size(self.root6.len(), 8)
            + size(self.nodes4.len(), 8)
            + size(self.nodes6.len(), 8)
            + size(self.slots.len(), 4)
            + size(self.entries.len(), 32)
            + size(self.buckets.len(), 2)
    }
}

/// A piece of a mapped array as the atomics (or cells) that `fib` works with.
fn region<P: Plain, T: Zeroable>(
    array: &Arc<MappedArray<P>>,
    first: usize,
    length: usize,
) -> Region<T> {
    const { assert!(size_of::<P>() == size_of::<T>()) };
    assert!(first + length <= array.len(), "a piece within the array");
    // The kernel maps whole pages, so any element's alignment up to a page holds for the first, and
    // so for all. SAFETY: the piece lies in the mapping (asserted), elements have the same size
    // (asserted) and T's alignment divides its size; the mapping came zeroed and stays mapped
    // while `array`, the owner, lives. Only the table that gets the region writes there.
    unsafe { Region::from_mapped(array.as_ptr().add(first).cast::<T>(), length, array.clone()) }
}
