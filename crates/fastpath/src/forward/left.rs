//! What finds no room: it is the kernel's, and is tried again when room comes back.
//!
//! A next hop or a group without room has the entry of "no route", which takes none: the prefixes
//! that answer with it still cover what they covered, and their frames are the kernel's. A table
//! that finds no place, or a family of it that does not fit, is the kernel's for every port and
//! VLAN that looks up there, by their bits; what it holds then is not kept up to date, so it stays
//! like that until its owner has it emptied ([`Forwarder::forget_table`]) and filled again. A VLAN
//! without room is one that the program does not know.

use std::collections::{BTreeMap, BTreeSet};

use fib::{NextHop, NextHopEntry, Prefix, Table};

use super::port::{Accepts, Port};
use super::{Capacity, Forwarder, Lookup};
use crate::Result;

/// Groups without room that are tried in vain before the others wait for the next time.
const TRIES: usize = 8;

/// How much is the kernel's because it found no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotCarried {
    /// Next hops that are not groups.
    pub next_hops: usize,
    /// Groups.
    pub groups: usize,
    /// Families of tables: a table without a place counts twice.
    pub tables: usize,
    /// VLANs of ports.
    pub vlans: usize,
}

impl NotCarried {
    /// Each kind, with its name in output and metrics.
    pub fn kinds(&self) -> [(&'static str, usize); 4] {
        [
            ("next-hops", self.next_hops),
            ("groups", self.groups),
            ("tables", self.tables),
            ("vlans", self.vlans),
        ]
    }
}

/// How much of the room for something is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Its name in output and metrics.
    pub what: &'static str,
    /// What is taken.
    pub used: usize,
    /// What there is.
    pub size: usize,
}

/// What found no room.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// As the program would read them.
    pub(super) next_hops: BTreeMap<u16, NextHopEntry>,
    pub(super) groups: BTreeSet<u16>,
    /// By the caller's number, and whether it is IPv6: how many routes might fit.
    pub(super) tables: BTreeMap<(u32, bool), usize>,
}

impl Forwarder {
    /// How much is the kernel's because it found no room.
    pub fn not_carried(&self) -> NotCarried {
        let ports = self.ports.iter().flatten();
        NotCarried {
            next_hops: self.left.next_hops.len(),
            groups: self.left.groups.len(),
            tables: self.left.tables.len(),
            vlans: ports.map(|port| port.vlans_left).sum(),
        }
    }

    /// How much of what room there is is taken; what was given back counts until nobody can be
    /// looking at it.
    pub fn room(&self) -> [Room; 4] {
        let Capacity {
            slots,
            buckets,
            vlans,
            ..
        } = self.capacity;
        let (entries, taken) = self.next_hops.in_use();
        let places = self.capacity.tables() - self.free_places.len();
        let known = self.ports.iter().flatten().map(Port::vlans);
        let row = |what, used, size| Room { what, used, size };
        [
            row("next-hop-entries", entries, slots),
            row("group-buckets", taken, buckets),
            row("tables", places, self.capacity.tables()),
            row("vlans", known.sum(), vlans),
        ]
    }

    /// Is what a frame gets in this family of a table by this next hop as it was given? Else it is
    /// the kernel's for want of room.
    pub fn carries(&self, table: u32, v6: bool, id: NextHop) -> bool {
        let left = &self.left;
        let members = self.groups.get(&id.0).into_iter().flatten();
        !left.tables.contains_key(&(table, v6))
            && !left.groups.contains(&id.0)
            && members
                .chain([&id])
                .all(|id| !left.next_hops.contains_key(&id.0))
    }

    /// Tables that are the kernel's for want of room, of which that may be over: `size` says how
    /// many routes a family of them has now.
    pub fn tables_with_room(&self, size: impl Fn(u32, bool) -> usize) -> Vec<u32> {
        let mut places = self.free_places.len() + self.retired_places.len();
        let mut found: Vec<u32> = Vec::new();
        for (&(number, v6), &might_fit) in &self.left.tables {
            let has_room = if found.last() == Some(&number) {
                false
            } else if self.table_numbers.contains_key(&number) {
                size(number, v6) <= might_fit
            } else {
                let one = places > 0;
                places = places.saturating_sub(1);
                one
            };
            if has_room {
                found.push(number);
            }
        }
        found
    }

    /// Our place of the caller's table, which gets one when it is first named; none when all are
    /// taken: then it is the kernel's.
    pub(super) fn table(&mut self, number: u32) -> Option<usize> {
        if self.lookup == Lookup::Kernel {
            return Some(0);
        }
        if let Some(&place) = self.table_numbers.get(&number) {
            return Some(place);
        }
        if self.left.tables.contains_key(&(number, false)) {
            return None;
        }
        if self.free_places.is_empty() && !self.retired_places.is_empty() {
            // What is left of them is the same when this fails.
            let _failed = self.wait_for_readers();
        }
        let Some(place) = self.free_places.pop() else {
            for v6 in [false, true] {
                self.left.tables.insert((number, v6), 0);
            }
            return None;
        };
        self.make_tables(place + 1);
        self.table_numbers.insert(number, place);
        Some(place)
    }

    /// Forgets the routes of a table. One that no port or VLAN looks up in gives its place to
    /// another. One that ports do look up in, and that is the kernel's for want of room, is filled
    /// from now on by what is set, and is used from the next [`Forwarder::set_port`] on.
    ///
    /// # Errors
    /// When the kernel does not say whether programs have ended; nothing has changed then.
    pub fn forget_table(&mut self, number: u32) -> Result<()> {
        let place = self.table_numbers.get(&number).copied();
        let Some(place) = place else {
            self.left.tables.retain(|(left, _), _| *left != number);
            return Ok(());
        };
        if self.ports_of(number).next().is_none() {
            self.left.tables.retain(|(left, _), _| *left != number);
            self.table_numbers.remove(&number);
            self.settle();
            self.retired_places.push((self.epoch, place));
            return Ok(());
        }
        // Frames that came before it was left may still be on their way through it.
        self.wait_for_readers()?;
        if self.left.tables.remove(&(number, false)).is_some() {
            empty(&mut self.tables[place].v4);
        }
        if self.left.tables.remove(&(number, true)).is_some() {
            empty(&mut self.tables[place].v6);
        }
        self.arrays.changed(place, &self.tables[place]);
        Ok(())
    }

    /// Nobody looks at these places any more.
    pub(super) fn reclaim_places(&mut self, completed: u64) {
        let over = |retired: &mut (u64, usize)| retired.0 <= completed;
        for (_, place) in self.retired_places.extract_if(.., over) {
            empty(&mut self.tables[place].v4);
            empty(&mut self.tables[place].v6);
            self.arrays.changed(place, &self.tables[place]);
            self.free_places.push(place);
        }
    }

    /// A family of a table did not fit: it is the kernel's from now on.
    pub(super) fn leave_table(&mut self, number: u32, v6: bool, might_fit: usize) {
        self.left.tables.insert((number, v6), might_fit);
        for port in self.ports_of(number).collect::<Vec<_>>() {
            self.write_settings(port);
        }
    }

    /// What of that can be carried, when it is looked up in this table.
    pub(super) fn carried_of(&self, accepts: Accepts, table: u32) -> Accepts {
        let fits = |v6| !self.left.tables.contains_key(&(table, v6));
        Accepts {
            v4: accepts.v4 && fits(false),
            v6: accepts.v6 && fits(true),
            ..accepts
        }
    }

    /// The ports that look up in a table, themselves or by a VLAN.
    fn ports_of(&self, table: u32) -> impl Iterator<Item = usize> {
        let ports = self.ports.iter().enumerate();
        ports.filter_map(move |(number, port)| {
            let settings = &port.as_ref()?.settings;
            let mut all = settings.vlans.iter().map(|vlan| vlan.table);
            (settings.table == table || all.any(|other| other == table)).then_some(number)
        })
    }

    /// Room has come back: tries what had found none.
    pub(super) fn try_left_again(&mut self) {
        while let Some((&id, &entry)) = self.left.next_hops.first_key_value() {
            let id = NextHop(id);
            if self.resting.contains_key(&id.0) || self.next_hops.set(id, entry).is_err() {
                break;
            }
            self.left.next_hops.remove(&id.0);
            self.write_groups_of(id);
        }
        let mut tries = TRIES;
        for id in self.left.groups.clone() {
            let buckets = self.groups.get(&id).cloned().unwrap_or_default();
            let entry = self.group_entry(&buckets);
            let rests = self.resting.contains_key(&id);
            if !rests
                && self
                    .next_hops
                    .set_group(NextHop(id), entry, &buckets)
                    .is_ok()
            {
                self.left.groups.remove(&id);
            } else {
                tries -= 1;
            }
            if tries == 0 {
                break;
            }
        }
    }
}

/// Removes every route. It takes no room: nothing is left to be written.
fn empty<A: fib::Family>(table: &mut Table<A>) {
    let mut all: Vec<(Prefix<A>, NextHop)> = Vec::with_capacity(table.len());
    table.for_each(|prefix, _| all.push((prefix, NextHop::NONE)));
    let _emptied = table.insert_all(&all);
}
