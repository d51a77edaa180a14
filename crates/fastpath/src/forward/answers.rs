//! Answers: routes and next hops, how they change under the eyes of the program, and when their
//! memory is used again.

use std::time::{Duration, Instant};

use fib::next_hop::{Kind, NextHopError};
use fib::table::TableError;
use fib::{NextHop, NextHopEntry, Prefix, Table};

use super::{Forwarder, Lookup, Target};
use crate::{Error, Result};

/// Changes after which room is looked for without being asked.
const SETTLE_EVERY: u32 = 4096;
pub(super) const FLAG_NO_REDIRECT: u8 = 1;
const FLAG_UNKNOWN_PORT: u8 = 2;
const FLAG_ON_LINK: u8 = 4;
/// A number that no port has.
const NO_PORT: u32 = u32::MAX;
/// How long workers get to end their bursts when memory is short. They need microseconds.
const READERS_WAIT: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Tables {
    pub(super) v4: Table<u32>,
    pub(super) v6: Table<u128>,
}

impl Forwarder {
    /// Our number of the caller's table, which is made when it is first named.
    pub(super) fn table(&mut self, number: u32) -> Result<usize> {
        if self.lookup == Lookup::Kernel {
            return Ok(0);
        }
        if let Some(&index) = self.table_numbers.get(&number) {
            return Ok(index);
        }
        let index = self.table_numbers.len();
        if index >= self.capacity.tables() {
            return Err(Error::Full(format!(
                "table {number} is one more than the {} there is room for; raise \
                 `Capacity::more_tables`",
                self.capacity.tables()
            )));
        }
        self.make_tables(index + 1);
        self.table_numbers.insert(number, index);
        Ok(index)
    }

    /// Makes tables until there are `count`.
    pub(super) fn make_tables(&mut self, count: usize) {
        for index in self.tables.len()..count {
            let (v4, v6) = self.arrays.table(index);
            self.tables.push(Tables {
                v4: Table::in_storage(vec![v4]),
                v6: Table::in_storage(vec![v6]),
            });
        }
    }

    /// Answers for IPv4 prefixes in a table; [`NextHop::NONE`] withdraws one. Many at once are much
    /// faster than one by one: each node is written once. For an address that several of them
    /// concern, frames see the answer before the first or after the last.
    ///
    /// # Errors
    /// [`Error::Full`]; nothing has changed then.
    pub fn set_routes_v4(&mut self, table: u32, routes: &[(Prefix<u32>, NextHop)]) -> Result<()> {
        let table = self.table(table)?;
        self.with_room(|this| this.tables[table].v4.insert_all(routes))
    }

    /// The same for IPv6.
    ///
    /// # Errors
    /// [`Error::Full`]; nothing has changed then.
    pub fn set_routes_v6(&mut self, table: u32, routes: &[(Prefix<u128>, NextHop)]) -> Result<()> {
        let table = self.table(table)?;
        self.with_room(|this| this.tables[table].v6.insert_all(routes))
    }

    /// The content of a next hop that is not a group. `port` is the interface index of the egress,
    /// and `vlan` its tag: of an adjacency, and of what is the kernel's but on a link (a punt of
    /// a connected network), by which sources are checked; `flags` is ours.
    ///
    /// # Errors
    /// [`Error::Full`]; nothing has changed then.
    pub fn set_next_hop(&mut self, id: NextHop, entry: NextHopEntry) -> Result<()> {
        let effective = self.effective(entry);
        let moved = ports_of(&effective) != ports_of(&self.next_hops.get(id));
        self.write_next_hop(id, effective)?;
        if entry.port == 0 {
            self.adjacencies.remove(&id.0);
        } else {
            self.adjacencies.insert(id.0, entry);
        }
        if moved {
            self.write_groups(|buckets| buckets.contains(&id))?;
        }
        Ok(())
    }

    /// The next hops of a group, one for each bucket, none of them a group.
    ///
    /// # Errors
    /// [`Error::Full`]; nothing has changed then.
    pub fn set_group(&mut self, id: NextHop, buckets: &[NextHop]) -> Result<()> {
        self.write_group(id, buckets)?;
        self.adjacencies.remove(&id.0);
        self.groups.insert(id.0, buckets.to_vec());
        Ok(())
    }

    /// A next hop that no route uses any more.
    pub fn release(&mut self, id: NextHop) {
        self.adjacencies.remove(&id.0);
        self.groups.remove(&id.0);
        self.next_hops.remove(id);
    }

    /// Writes a group with a bit for each port that a member leaves by.
    fn write_group(&mut self, id: NextHop, buckets: &[NextHop]) -> Result<()> {
        let ports = buckets.iter().fold(0, |ports, &member| {
            ports | ports_of(&self.next_hops.get(member))
        });
        let mut entry = NextHopEntry::default();
        let bytes = ports.to_le_bytes();
        entry.destination_mac.copy_from_slice(&bytes[..6]);
        entry.source_mac[..2].copy_from_slice(&bytes[6..]);
        self.with_room(|this| this.next_hops.set_group(id, entry, buckets))
    }

    /// Writes those groups again of which a member's port may have changed.
    pub(super) fn write_groups(&mut self, wanted: impl Fn(&[NextHop]) -> bool) -> Result<()> {
        let concerned: Vec<_> = self
            .groups
            .iter()
            .filter(|(_, buckets)| wanted(buckets))
            .map(|(&id, buckets)| (NextHop(id), buckets.clone()))
            .collect();
        for (id, buckets) in concerned {
            self.write_group(id, &buckets)?;
        }
        Ok(())
    }

    pub(super) fn write_next_hop(&mut self, id: NextHop, entry: NextHopEntry) -> Result<()> {
        self.with_room(|this| this.next_hops.set(id, entry))
    }

    /// The entry as the program wants it: the port's place for its interface index, and what stands
    /// in the way.
    pub(super) fn effective(&self, mut entry: NextHopEntry) -> NextHopEntry {
        entry.flags = 0;
        if entry.port == 0 {
            return entry;
        }
        let Ok(number) = self.number_of(entry.port) else {
            entry.port = NO_PORT;
            entry.flags = FLAG_UNKNOWN_PORT;
            return entry;
        };
        if entry.kind != Kind::Adjacency {
            entry.port = number as u32;
            entry.flags = FLAG_ON_LINK;
            return entry;
        }
        let accepts = self.ports[number]
            .as_ref()
            .is_some_and(|port| port.accepts_redirect);
        entry.port = number as u32;
        if self.target == Target::Ports && !accepts {
            entry.flags = FLAG_NO_REDIRECT;
        }
        entry
    }

    /// Makes a change; when there is no room, waits for what was set aside to become free, and
    /// tries once more.
    fn with_room<E: NoRoom>(
        &mut self,
        mut change: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<()> {
        self.changes += 1;
        if self.changes >= SETTLE_EVERY {
            self.settle();
        }
        match change(self) {
            Ok(()) => return Ok(()),
            Err(error) if !error.is_no_room() => return Err(Error::Full(error.to_string())),
            Err(_) => {}
        }
        self.settle();
        self.grace.wait(self.epoch)?;
        let patience = Instant::now() + READERS_WAIT;
        while self.domain.reached() < self.epoch && Instant::now() < patience {
            std::thread::sleep(Duration::from_micros(50));
        }
        self.reclaim();
        change(self).map_err(|error| Error::Full(error.to_string()))
    }

    /// Ends a batch of changes: what they replaced becomes free when all programs running now have
    /// ended.
    pub fn settle(&mut self) {
        self.changes = 0;
        self.epoch = self.domain.advance();
        for table in &mut self.tables {
            table.v4.seal(self.epoch);
            table.v6.seal(self.epoch);
        }
        self.next_hops.seal(self.epoch);
        self.grace.request(self.epoch);
        self.reclaim();
    }

    fn reclaim(&mut self) {
        let completed = self.grace.completed().min(self.domain.reached());
        for table in &mut self.tables {
            // SAFETY: programs that could read what was sealed under these epochs have ended
            // ([`super::grace`]), and every worker's reader has been quiescent since;
            // else only `lookup_v4`, `lookup_v6`, `next_hop` and `buckets` read in this process,
            // they copy their answers, and `&mut self` shows that none is under way.
            unsafe {
                table.v4.reclaim(completed);
                table.v6.reclaim(completed);
            }
        }
        // SAFETY: as above.
        unsafe { self.next_hops.reclaim(completed) };
    }

    /// The answer a frame for `address` gets in a table, from the arrays that the program reads.
    pub fn lookup_v4(&self, table: u32, address: u32) -> NextHop {
        self.table_numbers
            .get(&table)
            .map_or(NextHop::NONE, |&index| {
                self.tables[index].v4.lookup(address)
            })
    }

    /// The answer a frame for `address` gets in a table, from the arrays that the program reads.
    pub fn lookup_v6(&self, table: u32, address: u128) -> NextHop {
        self.table_numbers
            .get(&table)
            .map_or(NextHop::NONE, |&index| {
                self.tables[index].v6.lookup(address)
            })
    }

    /// The content of a next hop, as it was given.
    pub fn next_hop(&self, id: NextHop) -> NextHopEntry {
        self.adjacencies
            .get(&id.0)
            .copied()
            .unwrap_or_else(|| self.next_hops.get(id))
    }

    /// The next hops of a group's buckets; empty when `id` is no group.
    pub fn buckets(&self, id: NextHop) -> Vec<NextHop> {
        let entry = self.next_hops.get(id);
        if entry.kind != Kind::Group {
            return Vec::new();
        }
        let first = entry.group_first as usize;
        self.arrays
            .next_hops()
            .buckets
            .elements()
            .iter()
            .skip(first)
            .take(usize::from(entry.group_size))
            .map(|bucket| NextHop(bucket.load(std::sync::atomic::Ordering::Relaxed)))
            .collect()
    }
}

/// A bit for the port that an entry, as the program reads it, leaves by untagged.
fn ports_of(entry: &NextHopEntry) -> u64 {
    let leaves = entry.kind == Kind::Adjacency || entry.flags & FLAG_ON_LINK != 0;
    if leaves && entry.vlan == 0 {
        1_u64.checked_shl(entry.port).unwrap_or(0)
    } else {
        0
    }
}

/// Errors of `fib`, of which some go away when memory is reused.
trait NoRoom: std::fmt::Display {
    fn is_no_room(&self) -> bool;
}

impl NoRoom for TableError {
    fn is_no_room(&self) -> bool {
        matches!(self, Self::Full { .. })
    }
}

impl NoRoom for NextHopError {
    fn is_no_room(&self) -> bool {
        !matches!(self, Self::Reserved)
    }
}
