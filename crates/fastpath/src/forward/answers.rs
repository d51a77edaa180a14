//! Answers: routes and next hops, how they change under the eyes of the program, and when their
//! memory is used again.

use std::time::{Duration, Instant};

use bpf::features::Redirects;
use fib::next_hop::{Kind, NextHopError};
use fib::table::TableError;
use fib::{Family, NextHop, NextHopEntry, Prefix, Table};

use super::{Forwarder, Target};
use crate::{Error, Result};

/// Changes after which room is looked for without being asked.
const SETTLE_EVERY: u32 = 4096;
const FLAG_NO_REDIRECT: u8 = 1;
const FLAG_ONE_BUFFER: u8 = 8;
const FLAG_UNKNOWN_PORT: u8 = 2;
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
    /// concern, frames see the answer before the first or after the last. Sources may be judged by
    /// what was before until the last is made. When they do not fit, the table's IPv4 is the
    /// kernel's ([`Forwarder::not_carried`]).
    pub fn set_routes_v4(&mut self, table: u32, routes: &[(Prefix<u32>, NextHop)]) {
        self.set_routes(table, false, routes, |tables| &mut tables.v4);
    }

    /// The same for IPv6.
    pub fn set_routes_v6(&mut self, table: u32, routes: &[(Prefix<u128>, NextHop)]) {
        self.set_routes(table, true, routes, |tables| &mut tables.v6);
    }

    fn set_routes<A: Family>(
        &mut self,
        number: u32,
        v6: bool,
        routes: &[(Prefix<A>, NextHop)],
        of: fn(&mut Tables) -> &mut Table<A>,
    ) {
        let Some(place) = self.table(number) else {
            return;
        };
        if self.left.tables.contains_key(&(number, v6)) {
            return;
        }
        let made = self.with_room(true, |this| of(&mut this.tables[place]).insert_all(routes));
        self.arrays.changed(place, &self.tables[place]);
        if made.is_err() {
            // Of these none has fitted; fewer might.
            let might_fit = of(&mut self.tables[place]).len() + routes.len() / 2;
            self.leave_table(number, v6, might_fit);
        }
    }

    /// The content of a next hop that is not a group. `port` is the interface index of the egress,
    /// and `vlan` its tag: of an adjacency, and of [`Kind::Unresolved`], by which sources are
    /// checked; `flags` is ours. Without room, its
    /// frames are the kernel's until there is some ([`Forwarder::not_carried`]).
    ///
    /// # Errors
    /// [`Error::Value`] for next hop 0.
    pub fn set_next_hop(&mut self, id: NextHop, entry: NextHopEntry) -> Result<()> {
        is_given_out(id)?;
        let effective = self.effective(entry);
        let moved = ports_of(&effective) != ports_of(&self.next_hops.get(id));
        self.forget(id);
        self.write_next_hop(id, effective);
        if entry.port != 0 {
            self.adjacencies.insert(id.0, entry);
        }
        if moved {
            self.write_groups_of(id);
        }
        Ok(())
    }

    /// The next hops of a group, one for each bucket, none of them a group. Without room, as
    /// [`Forwarder::set_next_hop`].
    ///
    /// # Errors
    /// [`Error::Value`] for next hop 0.
    pub fn set_group(&mut self, id: NextHop, buckets: &[NextHop]) -> Result<()> {
        is_given_out(id)?;
        self.forget(id);
        self.groups.insert(id.0, buckets.to_vec());
        self.memberships
            .extend(buckets.iter().map(|member| (member.0, id.0)));
        let entry = self.group_entry(buckets);
        // Who comes when others have none does not wait for room.
        let wait = self.left.groups.is_empty();
        let made = self.is_rested(id)
            && self
                .with_room(wait, |this| this.next_hops.set_group(id, entry, buckets))
                .is_ok();
        if !made {
            self.leave_group(id);
        }
        Ok(())
    }

    /// A next hop that no route uses any more. Its number can be given again: frames that were
    /// about to use it find nothing there until they are gone.
    pub fn release(&mut self, id: NextHop) {
        self.forget(id);
        self.next_hops.remove(id);
        self.resting.insert(id.0, self.epoch + 1);
    }

    /// Has every frame gone that could mean what was behind this number before it was released?
    /// Waits for them, unless somebody waits for room already. Else what is to be there finds none
    /// yet.
    fn is_rested(&mut self, id: NextHop) -> bool {
        let waits = !self.left.next_hops.is_empty() || !self.left.groups.is_empty();
        if !waits && self.resting.contains_key(&id.0) {
            let _still_there = self.wait_for_readers();
        }
        !self.resting.contains_key(&id.0)
    }

    fn forget(&mut self, id: NextHop) {
        self.adjacencies.remove(&id.0);
        for member in self.groups.remove(&id.0).unwrap_or_default() {
            self.memberships.remove(&(member.0, id.0));
        }
        self.left.next_hops.remove(&id.0);
        self.left.groups.remove(&id.0);
    }

    fn leave_group(&mut self, id: NextHop) {
        self.next_hops.remove(id);
        self.left.groups.insert(id.0);
    }

    /// A group's entry has a bit for each port that a member leaves by.
    pub(super) fn group_entry(&self, buckets: &[NextHop]) -> NextHopEntry {
        let ports = buckets.iter().fold(0, |ports, &member| {
            ports | ports_of(&self.next_hops.get(member))
        });
        let mut entry = NextHopEntry::default();
        let bytes = ports.to_le_bytes();
        entry.destination_mac.copy_from_slice(&bytes[..6]);
        entry.source_mac[..2].copy_from_slice(&bytes[6..]);
        entry
    }

    /// Writes the groups of this member again, because its port has changed.
    pub(super) fn write_groups_of(&mut self, member: NextHop) {
        let all = (member.0, 0)..=(member.0, u16::MAX);
        let groups = self.memberships.range(all).map(|&(_, group)| group);
        let groups: Vec<_> = groups.collect();
        self.write_groups(&groups);
    }

    /// Writes those of these groups again of which a member's port has changed.
    pub(super) fn write_groups(&mut self, groups: &[u16]) {
        let there = |id: &&u16| !self.left.groups.contains(id);
        let groups = groups.iter().filter(there);
        let buckets = groups.filter_map(|id| self.groups.get_key_value(id));
        let concerned: Vec<_> = buckets
            .map(|(&id, buckets)| (NextHop(id), self.group_entry(buckets)))
            .filter(|&(id, entry)| {
                let now = self.next_hops.get(id);
                (now.destination_mac, now.source_mac) != (entry.destination_mac, entry.source_mac)
            })
            .collect();
        for (id, entry) in concerned {
            let made = self.with_room(true, |this| this.next_hops.set_group_entry(id, entry));
            if made.is_err() {
                self.leave_group(id);
            }
        }
    }

    pub(super) fn write_next_hop(&mut self, id: NextHop, entry: NextHopEntry) {
        let wait = self.left.next_hops.is_empty();
        let made = self.is_rested(id)
            && self
                .with_room(wait, |this| this.next_hops.set(id, entry))
                .is_ok();
        if made {
            self.left.next_hops.remove(&id.0);
        } else {
            self.next_hops.remove(id);
            self.left.next_hops.insert(id.0, entry);
        }
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
        entry.port = number as u32;
        entry.flags = match &self.ports[number] {
            Some(port) if self.target == Target::Ports => flags(port.device.redirects),
            _ => 0,
        };
        entry
    }

    /// Makes a change; when there is no room, waits, if it may, for what was set aside to become
    /// free, and tries once more.
    fn with_room<E: NoRoom>(
        &mut self,
        wait: bool,
        mut change: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.changes += 1;
        if self.changes >= SETTLE_EVERY {
            self.settle();
        }
        match change(self) {
            Err(full) if wait && full.is_no_room() && self.wait_for_readers().is_ok() => {}
            done => return done,
        }
        change(self)
    }

    /// Waits until what was set aside so far is free: programs that run now have ended, and what they
    /// handed to sockets is there; workers have gone on.
    ///
    /// # Errors
    /// The kernel refuses to wait for programs.
    pub fn wait_for_readers(&mut self) -> Result<()> {
        self.settle();
        self.grace.wait(self.epoch)?;
        let patience = Instant::now() + READERS_WAIT;
        while self.domain.reached() < self.epoch && Instant::now() < patience {
            std::thread::sleep(Duration::from_micros(50));
        }
        self.reclaim();
        Ok(())
    }

    /// Ends a batch of changes: what they replaced becomes free when all programs running now have
    /// ended. What had found no room is tried again when there is some.
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
        if std::mem::take(&mut self.has_new_room) {
            self.try_left_again();
        }
        if std::mem::take(&mut self.has_new_vlans) {
            self.write_waiting_vlans();
        }
    }

    fn reclaim(&mut self) {
        let completed = self.grace.completed().min(self.domain.reached());
        self.resting.retain(|_, epoch| *epoch > completed);
        let before = self.resting_vlans.len();
        self.resting_vlans.retain(|_, epoch| *epoch > completed);
        self.has_new_vlans |= self.resting_vlans.len() < before;
        self.has_new_vlans |= self.links.reclaim(completed);
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
        self.has_new_room |= unsafe { self.next_hops.reclaim(completed) };
        self.reclaim_places(completed);
    }

    /// The answer a frame for `address` gets in a table, from the arrays that the program reads.
    pub fn lookup_v4(&self, table: u32, address: u32) -> NextHop {
        let place = self.table_numbers.get(&table);
        let place = place.filter(|_| !self.left.tables.contains_key(&(table, false)));
        place.map_or(NextHop::NONE, |&place| {
            self.tables[place].v4.lookup(address)
        })
    }

    /// The answer a frame for `address` gets in a table, from the arrays that the program reads.
    pub fn lookup_v6(&self, table: u32, address: u128) -> NextHop {
        let place = self.table_numbers.get(&table);
        let place = place.filter(|_| !self.left.tables.contains_key(&(table, true)));
        place.map_or(NextHop::NONE, |&place| {
            self.tables[place].v6.lookup(address)
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

fn is_given_out(id: NextHop) -> Result<()> {
    if id == NextHop::NONE {
        let remedy = "0 is \"no route\": count from 1";
        return Err(Error::value("number of a next hop", 0, remedy));
    }
    Ok(())
}

/// What an egress device does not take.
pub(super) fn flags(redirects: Redirects) -> u8 {
    let flag = |takes, flag| if takes { 0 } else { flag };
    flag(redirects.frames, FLAG_NO_REDIRECT) | flag(redirects.several, FLAG_ONE_BUFFER)
}

/// A bit for the port that an entry, as the program reads it, leaves by untagged.
fn ports_of(entry: &NextHopEntry) -> u64 {
    let leaves = matches!(entry.kind, Kind::Adjacency | Kind::Unresolved);
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
