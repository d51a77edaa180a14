//! Where packets go next: numbers given out by the tables, and the entries behind them.
//!
//! A [`NextHop`] is what a look-up returns. [`NextHopTable`] maps it to a 32-byte [`NextHopEntry`]
//! by way of a slot number, so that an entry is replaced by one store of that number: readers see
//! the old entry or the new one, never half of each. Three arrays, all flat: `slots` (u32, by next
//! hop), `entries` (32 bytes, by slot), `buckets` (u16, the members of groups). They can live in
//! memory-mapped BPF arrays; the C side reads `entries[slots[next_hop]]`.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use crate::memory::MemoryReport;
use crate::quarantine::Quarantine;
use crate::storage::{OutOfMemory, Region, Zeroable};

/// The number of a next hop, as a look-up returns it. 0 is "no route".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct NextHop(pub u16);

impl NextHop {
    /// No route.
    pub const NONE: Self = Self(0);
}

/// What to do with a packet that has this next hop. The numbers are shared with the eBPF programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// No route.
    #[default]
    None = 0,
    /// A neighbour whose link-layer address is known: rewrite and send.
    Adjacency = 1,
    /// Several next hops: choose one of the group's buckets by the flow's hash, and go on with
    /// that.
    Group = 2,
    /// The kernel's to forward: whatever is not plain forwarding.
    Punt = 3,
    /// Drop silently.
    Blackhole = 4,
    /// Drop; the kernel answers "unreachable".
    Unreachable = 5,
    /// Drop; the kernel answers "administratively prohibited".
    Prohibit = 6,
    /// The kernel's: an address of this machine.
    Local = 7,
    /// The kernel's: the Ethernet address of a neighbour is to be found; the egress is known.
    Unresolved = 8,
}

/// All that forwarding to a next hop needs, 32 bytes, shared with the eBPF programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct NextHopEntry {
    /// What to do.
    pub kind: Kind,
    /// For the user of the table; this crate does not read it.
    pub flags: u8,
    /// Longest IP packet the egress takes, in bytes; 0: not checked.
    pub mtu: u16,
    /// Egress: interface index or port number.
    pub port: u32,
    /// The neighbour's link-layer address.
    pub destination_mac: [u8; 6],
    /// The egress port's link-layer address.
    pub source_mac: [u8; 6],
    /// VLAN tag control information to push; 0: untagged.
    pub vlan: u16,
    /// Buckets in the group; 0 unless `kind` is [`Kind::Group`].
    pub group_size: u16,
    /// Index of the group's first bucket.
    pub group_first: u32,
    /// For the user of the table: a version or the like.
    pub stamp: u32,
}

const _: () = assert!(size_of::<NextHopEntry>() == 32 && align_of::<NextHopEntry>() == 4);

/// How many next hops there can be, [`NextHop::NONE`] included.
pub const NEXT_HOPS: usize = 1 << 16;

/// An entry in shared memory: written only while no reader can reach it.
#[derive(Debug)]
#[repr(transparent)]
pub struct EntryCell(UnsafeCell<NextHopEntry>);

// SAFETY: `NextHopTable::set` writes a cell only before its slot number is published or after a
// grace period.
unsafe impl Sync for EntryCell {}
// SAFETY: zero is `Kind::None` and zeroes: the entry of "no route".
unsafe impl Zeroable for EntryCell {}

/// The arrays of a [`NextHopTable`].
#[derive(Clone, Debug)]
pub struct NextHopStorage {
    /// Slot number by next hop: [`NEXT_HOPS`] elements.
    pub slots: Region<AtomicU32>,
    /// Entries by slot number. Slot 0 stays the entry of "no route".
    pub entries: Region<EntryCell>,
    /// Buckets of groups.
    pub buckets: Region<AtomicU16>,
}

impl NextHopStorage {
    /// Arrays in memory of this process, for `entries` entries (twice as many slots, so that every
    /// one can be replaced within one grace period) and `buckets` buckets.
    ///
    /// # Errors
    /// When the system refuses the memory.
    pub fn in_memory(entries: usize, buckets: usize) -> Result<Self, OutOfMemory> {
        Ok(Self {
            slots: Region::in_memory(NEXT_HOPS)?,
            entries: Region::in_memory(entries * 2)?,
            buckets: Region::in_memory(buckets)?,
        })
    }
}

/// Why a next hop could not be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NextHopError {
    /// Next hop 0 is "no route" for ever.
    #[error("next hop 0 means \"no route\" and cannot be set; number next hops from 1")]
    Reserved,
    /// All slots are used or in quarantine.
    #[error("all {capacity} slots for next hops are in use; reclaim, or make the table with more")]
    NoSlot {
        /// How many there are.
        capacity: usize,
    },
    /// No run of free buckets of this length.
    #[error(
        "no {wanted} adjoining free buckets among {capacity}; reclaim, or make the table with more"
    )]
    NoBuckets {
        /// Members of the group asked for.
        wanted: usize,
        /// How many buckets there are.
        capacity: usize,
    },
}

/// The writer of the next-hop arrays. Readers use [`NextHopTable::view`].
#[derive(Debug)]
pub struct NextHopTable {
    view: NextHops,
    free_slots: Vec<u32>,
    unused_slot: u32,
    /// The highest next hop that was ever published: what of `slots` lies above was never written.
    highest: u16,
    bucket_used: Vec<bool>,
    free_buckets: usize,
    /// All buckets below are used.
    first_free: usize,
    quarantine: Quarantine<Retired>,
}

#[derive(Debug)]
enum Retired {
    Slot(u32),
    Buckets { first: u32, size: u16 },
}

/// What readers hold: the arrays, and nothing that is written. Not to be cloned: an entry must not
/// outlive the burst of the reader it was got through.
#[derive(Debug)]
pub struct NextHops {
    storage: NextHopStorage,
}

impl NextHops {
    /// The entry of a next hop. It stays as it is until the caller's grace period ends: do not keep
    /// it longer.
    #[inline]
    pub fn get(&self, next_hop: NextHop) -> &NextHopEntry {
        let slot = self.storage.slots.elements()[usize::from(next_hop.0)].load(Ordering::Acquire);
        let cell = &self.storage.entries.elements()[slot as usize];
        // SAFETY: a published cell is not written before all readers have been quiescent, and a
        // reader that is quiescent holds no entry: `Reader::quiesce` takes `&mut self`,
        // which ends every borrow of an entry.
        unsafe { &*cell.0.get() }
    }

    /// The member of a group for a flow's hash (any 32 bits, evenly spread); [`NextHop::NONE`] for
    /// an empty group.
    #[inline]
    pub fn member(&self, group: &NextHopEntry, hash: u32) -> NextHop {
        let size = u64::from(group.group_size);
        let index = u64::from(group.group_first) + ((u64::from(hash) * size) >> 32);
        match self.storage.buckets.elements().get(index as usize) {
            Some(bucket) if size > 0 => NextHop(bucket.load(Ordering::Relaxed)),
            _ => NextHop::NONE,
        }
    }
}

impl NextHopTable {
    /// An empty table in the arrays given, which must be zero.
    ///
    /// # Panics
    /// When `slots` has not [`NEXT_HOPS`] elements or `entries` is empty: a mistake of the program.
    pub fn new(storage: NextHopStorage) -> Self {
        assert_eq!(
            storage.slots.elements().len(),
            NEXT_HOPS,
            "one slot number for every next hop"
        );
        assert!(
            !storage.entries.elements().is_empty(),
            "slot 0 is the entry of \"no route\""
        );
        let free_buckets = storage.buckets.elements().len();
        let view = NextHops { storage };
        Self {
            view,
            free_slots: Vec::new(),
            unused_slot: 1,
            highest: 0,
            bucket_used: vec![false; free_buckets],
            free_buckets,
            first_free: 0,
            quarantine: Quarantine::default(),
        }
    }

    /// What readers need.
    pub fn view(&self) -> NextHops {
        NextHops {
            storage: self.view.storage.clone(),
        }
    }

    /// The entry as it is now.
    pub fn get(&self, next_hop: NextHop) -> NextHopEntry {
        *self.view.get(next_hop)
    }

    /// Adds or replaces an entry. A group's buckets go with [`NextHopTable::set_group`].
    ///
    /// # Errors
    /// For next hop 0, and when no slot is free; nothing has changed then.
    pub fn set(&mut self, next_hop: NextHop, entry: NextHopEntry) -> Result<(), NextHopError> {
        if next_hop == NextHop::NONE {
            return Err(NextHopError::Reserved);
        }
        let slot = self.write(entry)?;
        self.publish(next_hop, slot);
        Ok(())
    }

    /// Writes an entry to a slot that no next hop has yet.
    fn write(&mut self, entry: NextHopEntry) -> Result<u32, NextHopError> {
        let slot = self.take_slot()?;
        // SAFETY: the slot is unpublished or has passed a grace period: no reader can reach it.
        unsafe { *self.view.storage.entries.elements()[slot as usize].0.get() = entry };
        Ok(slot)
    }

    /// Makes `next_hop` a group of `members`. Give a member several times to give it more of the
    /// flows.
    ///
    /// # Errors
    /// For next hop 0, and when slots or buckets run out; nothing has changed then.
    pub fn set_group(
        &mut self,
        next_hop: NextHop,
        mut entry: NextHopEntry,
        members: &[NextHop],
    ) -> Result<(), NextHopError> {
        let capacity = self.bucket_used.len();
        let too_many = NextHopError::NoBuckets {
            wanted: members.len(),
            capacity,
        };
        let size = u16::try_from(members.len()).map_err(|_| too_many)?;
        let first = self.free_buckets(members.len()).ok_or(too_many)?;
        entry.kind = Kind::Group;
        entry.group_first = first as u32;
        entry.group_size = size;
        for (bucket, member) in self.view.storage.buckets.elements()[first..]
            .iter()
            .zip(members)
        {
            bucket.store(member.0, Ordering::Relaxed);
        }
        self.set(next_hop, entry)?;
        self.bucket_used[first..first + members.len()].fill(true);
        self.free_buckets -= members.len();
        if first == self.first_free {
            self.first_free += members.len();
        }
        Ok(())
    }

    /// Replaces all of a group's entry but its buckets.
    ///
    /// # Errors
    /// When no slot is free; nothing has changed then.
    pub fn set_group_entry(
        &mut self,
        group: NextHop,
        entry: NextHopEntry,
    ) -> Result<(), NextHopError> {
        let old = self.get(group);
        let slot = self.write(NextHopEntry {
            kind: old.kind,
            group_first: old.group_first,
            group_size: old.group_size,
            ..entry
        })?;
        let old_slot =
            self.view.storage.slots.elements()[usize::from(group.0)].swap(slot, Ordering::Release);
        if old_slot != 0 {
            self.quarantine.put(Retired::Slot(old_slot));
        }
        Ok(())
    }

    /// Back to "no route".
    pub fn remove(&mut self, next_hop: NextHop) {
        self.publish(next_hop, 0);
    }

    /// Everything replaced so far may be reused once all readers have reached `epoch`.
    pub fn seal(&mut self, epoch: u64) {
        self.quarantine.seal(epoch);
    }

    /// All readers have reached `epoch`: reuse what was sealed under it or earlier. True when there
    /// was something.
    ///
    /// # Safety
    /// No entry that a view returned before [`NextHopTable::seal`] was called with that epoch may
    /// still be borrowed: its slot is written again.
    pub unsafe fn reclaim(&mut self, epoch: u64) -> bool {
        let Self {
            quarantine,
            free_slots,
            bucket_used,
            free_buckets,
            first_free,
            ..
        } = self;
        let mut any = false;
        quarantine.reclaim(epoch, |retired| {
            any = true;
            match retired {
                Retired::Slot(slot) => free_slots.push(slot),
                Retired::Buckets { first, size } => {
                    let (first, size) = (first as usize, usize::from(size));
                    bucket_used[first..first + size].fill(false);
                    *free_buckets += size;
                    *first_free = (*first_free).min(first);
                }
            }
        });
        any
    }

    /// How many entries and how many buckets are in use, those in quarantine among them.
    pub fn in_use(&self) -> (usize, usize) {
        let entries = self.unused_slot as usize - self.free_slots.len();
        (entries, self.bucket_used.len() - self.free_buckets)
    }

    /// Exact bytes of the arrays.
    pub fn memory(&self) -> MemoryReport {
        let storage = &self.view.storage;
        let used_entries = self.unused_slot as usize * size_of::<NextHopEntry>();
        let used_buckets = self
            .bucket_used
            .iter()
            .rposition(|&used| used)
            .map_or(0, |last| (last + 1) * 2);
        let mut report = MemoryReport::default();
        let used_slots = (usize::from(self.highest) + 1) * size_of::<AtomicU32>();
        report.add("next-hop slots", used_slots, storage.slots.bytes());
        report.add("next-hop entries", used_entries, storage.entries.bytes());
        report.add("group buckets", used_buckets, storage.buckets.bytes());
        report
    }

    fn take_slot(&mut self) -> Result<u32, NextHopError> {
        if let Some(slot) = self.free_slots.pop() {
            return Ok(slot);
        }
        let capacity = self.view.storage.entries.elements().len();
        if self.unused_slot as usize >= capacity {
            return Err(NextHopError::NoSlot { capacity });
        }
        self.unused_slot += 1;
        Ok(self.unused_slot - 1)
    }

    fn publish(&mut self, next_hop: NextHop, slot: u32) {
        let old = self.get(next_hop);
        self.highest = self.highest.max(next_hop.0);
        let old_slot = self.view.storage.slots.elements()[usize::from(next_hop.0)]
            .swap(slot, Ordering::Release);
        if old_slot != 0 {
            self.quarantine.put(Retired::Slot(old_slot));
            if old.kind == Kind::Group && old.group_size > 0 {
                self.quarantine.put(Retired::Buckets {
                    first: old.group_first,
                    size: old.group_size,
                });
            }
        }
    }

    /// First fit: groups change rarely.
    fn free_buckets(&self, wanted: usize) -> Option<usize> {
        if wanted == 0 {
            return Some(0);
        }
        if wanted > self.free_buckets {
            return None;
        }
        let mut run = 0;
        for (index, &used) in self.bucket_used.iter().enumerate().skip(self.first_free) {
            run = if used { 0 } else { run + 1 };
            if run == wanted {
                return Some(index + 1 - wanted);
            }
        }
        None
    }
}

#[cfg(test)]
#[path = "../tests/unit/next_hop.rs"]
mod tests;
