//! What came by each VLAN, and what was looked up in each table.
//!
//! The program counts frames by port, and those with a tag by VLAN, too. What came without a tag is
//! the difference; what was looked up in a table is the sum of the ports and VLANs that look up
//! there, added up for good whenever one of them goes or looks up elsewhere. So a frame without a
//! tag costs nothing for it.

use std::collections::{BTreeMap, HashMap};
use std::ops::AddAssign;

use bpf::map::MappedArray;

use super::{Forwarder, PortSettings, Reason, VlanSettings, counters, vlans};

/// 64-bit words of `struct link_counters`.
const WORDS: usize = 4;

/// Frames that came by one interface, or were looked up in one table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCount {
    /// Frames.
    pub received: u64,
    /// Their bytes, without FCS.
    pub received_bytes: u64,
    /// Those of them that were handed to the device of the way out, or to a worker. What these did
    /// not take is among them ([`Reason::EgressRefused`]).
    pub forwarded: u64,
    /// Their bytes, without FCS.
    pub forwarded_bytes: u64,
}

impl LinkCount {
    fn fields(&mut self) -> [&mut u64; WORDS] {
        let Self {
            received,
            received_bytes,
            forwarded,
            forwarded_bytes,
        } = self;
        [received, received_bytes, forwarded, forwarded_bytes]
    }

    fn since(mut self, mut earlier: Self) -> Self {
        for (now, then) in self.fields().into_iter().zip(earlier.fields()) {
            *now = now.wrapping_sub(*then);
        }
        self
    }
}

impl AddAssign for LinkCount {
    fn add_assign(&mut self, mut other: Self) {
        for (sum, more) in self.fields().into_iter().zip(other.fields()) {
            *sum = sum.wrapping_add(*more);
        }
    }
}

/// One port without its VLANs, or one VLAN.
#[derive(Debug, Default)]
struct Link {
    /// What had been counted when it came.
    base: LinkCount,
    /// What had been counted when it was last added to its table's sum.
    settled: LinkCount,
    table: u32,
    /// Of a VLAN: the index of its sub-interface, and its place among the counters.
    ifindex: u32,
    place: usize,
}

/// Who keeps the sums.
#[derive(Debug)]
pub(super) struct Links {
    rows: MappedArray<u64>,
    cpus: usize,
    /// Places of VLANs, the next to be taken last.
    free: Vec<usize>,
    /// Places given back, free when programs have reached the epoch.
    retired: Vec<(u64, usize)>,
    /// By port and VLAN identifier, as in the program's map.
    vlans: HashMap<u32, Link>,
    ports: HashMap<usize, Link>,
    /// Of what has gone, and of what was settled.
    tables: BTreeMap<u32, LinkCount>,
}

impl Links {
    pub(super) fn new(rows: MappedArray<u64>, cpus: usize, places: usize) -> Self {
        Self {
            rows,
            cpus,
            free: (0..places).rev().collect(),
            retired: Vec::new(),
            vlans: HashMap::new(),
            ports: HashMap::new(),
            tables: BTreeMap::new(),
        }
    }

    fn row(&self, place: usize) -> LinkCount {
        let mut sum = LinkCount::default();
        for cpu in 0..self.cpus {
            let at = self.rows.len() / self.cpus * cpu + place * WORDS;
            for (word, field) in sum.fields().into_iter().enumerate() {
                *field = field.wrapping_add(self.rows.read(at + word));
            }
        }
        sum
    }

    fn of_vlan(&self, vlan: &Link) -> LinkCount {
        self.row(vlan.place).since(vlan.base)
    }

    /// The place of a VLAN, if there was one left.
    pub(super) fn place(&self, key: u32) -> Option<usize> {
        self.vlans.get(&key).map(|vlan| vlan.place)
    }

    /// Are there places that will come back?
    pub(super) fn has_retired(&self) -> bool {
        !self.retired.is_empty()
    }

    /// Programs have reached this epoch. True when places came back.
    pub(super) fn reclaim(&mut self, completed: u64) -> bool {
        let over = |retired: &mut (u64, usize)| retired.0 <= completed;
        let before = self.free.len();
        let free = self.retired.extract_if(.., over).map(|(_, place)| place);
        self.free.extend(free);
        self.free.len() > before
    }

    fn vlans_of(&self, number: usize) -> impl Iterator<Item = (&u32, &Link)> {
        let vlans = self.vlans.iter();
        vlans.filter(move |(key, _)| vlans::port_of(**key) == number)
    }

    /// What came by each VLAN of a port, by its key, and by the port without a tag; `total` is what
    /// came by it in all.
    fn counts(&self, number: usize, total: LinkCount) -> Vec<(Option<u32>, LinkCount)> {
        let vlans = self.vlans_of(number);
        let mut counts: Vec<_> = vlans
            .map(|(&key, vlan)| (Some(key), self.of_vlan(vlan)))
            .collect();
        if let Some(port) = self.ports.get(&number) {
            let tagged = counts.iter().map(|(_, count)| *count);
            counts.push((None, tagged.fold(total.since(port.base), LinkCount::since)));
        }
        counts
    }

    /// Adds to the tables what has come since that was done last.
    fn settle(&mut self, number: usize, total: LinkCount) {
        for (key, count) in self.counts(number, total) {
            let link = match key {
                Some(key) => self.vlans.get_mut(&key),
                None => self.ports.get_mut(&number),
            };
            if let Some(link) = link {
                *self.tables.entry(link.table).or_default() += count.since(link.settled);
                link.settled = count;
            }
        }
    }

    /// VLANs of a port that are not among `wanted`, and whether another looks up elsewhere now.
    fn changes(&self, number: usize, wanted: &[VlanSettings]) -> (Vec<u32>, bool) {
        let key = |vlan: &VlanSettings| vlans::key(number, vlan.vid);
        let stay = wanted
            .iter()
            .map(|vlan| ((key(vlan), vlan.ifindex), vlan.table));
        let stay: HashMap<_, _> = stay.collect();
        let (mut gone, mut moved) = (Vec::new(), false);
        for (&key, link) in self.vlans_of(number) {
            match stay.get(&(key, link.ifindex)) {
                Some(&table) => moved |= table != link.table,
                None => gone.push(key),
            }
        }
        (gone, moved)
    }

    /// A port has these VLANs from now on, without those that are `gone`, after all was settled;
    /// from `epoch` on nobody counts for these.
    fn keep_vlans(&mut self, number: usize, wanted: &[VlanSettings], gone: Vec<u32>, epoch: u64) {
        let key = |vlan: &VlanSettings| vlans::key(number, vlan.vid);
        for key in gone {
            let Some(vlan) = self.vlans.remove(&key) else {
                continue;
            };
            // What it counted came with a tag.
            let count = self.of_vlan(&vlan);
            if let Some(port) = self.ports.get_mut(&number) {
                port.base += count;
            }
            self.retired.push((epoch, vlan.place));
        }
        for vlan in wanted {
            if let Some(link) = self.vlans.get_mut(&key(vlan)) {
                link.table = vlan.table;
            } else if let Some(place) = self.free.pop() {
                let link = Link {
                    base: self.row(place),
                    table: vlan.table,
                    ifindex: vlan.ifindex,
                    place,
                    ..Link::default()
                };
                self.vlans.insert(key(vlan), link);
            }
        }
    }
}

impl Forwarder {
    /// What came by each VLAN, by the index of its sub-interface, since it was set up.
    pub fn vlan_counts(&self) -> BTreeMap<u32, LinkCount> {
        let mut counts = BTreeMap::new();
        for (number, port) in self.ports.iter().enumerate() {
            for vlan in port.iter().flat_map(|port| &port.settings.vlans) {
                let key = vlans::key(number, vlan.vid);
                if let Some(link) = self.links.vlans.get(&key) {
                    let mut count = self.links.of_vlan(link);
                    if let Some(before) = self.before.vlans.get(&vlan.ifindex) {
                        count += *before;
                    }
                    counts.insert(vlan.ifindex, count);
                }
            }
        }
        counts
    }

    /// What was looked up in each table (the caller's number), or would have been: each frame that
    /// came by a port or VLAN counts where this looked up then.
    pub fn table_counts(&self) -> BTreeMap<u32, LinkCount> {
        let mut tables = self.links.tables.clone();
        for (table, before) in &self.before.tables {
            *tables.entry(*table).or_default() += *before;
        }
        for number in 0..self.ports.len() {
            for (key, count) in self.links.counts(number, self.total(number)) {
                let link = match key {
                    Some(key) => self.links.vlans.get(&key),
                    None => self.links.ports.get(&number),
                };
                if let Some(link) = link {
                    *tables.entry(link.table).or_default() += count.since(link.settled);
                }
            }
        }
        tables
    }

    fn total(&self, number: usize) -> LinkCount {
        let mut total = LinkCount::default();
        for cpu in 0..self.cpus {
            let count = counters::port(&self.counters, cpu, number);
            total += LinkCount {
                received: count.received,
                received_bytes: count.received_bytes,
                forwarded: count.forwarded + count.of(Reason::EgressRefused),
                forwarded_bytes: count.forwarded_bytes,
            };
        }
        total
    }

    /// From now on a port and its VLANs look up where `settings` say, and it has no other VLANs;
    /// what came so far is added to the tables of before.
    pub(super) fn count_by(&mut self, number: usize, settings: &PortSettings) {
        let (gone, moved) = self.links.changes(number, &settings.vlans);
        let known = self.links.ports.get(&number).map(|port| port.table);
        if moved || !gone.is_empty() || known != Some(settings.table) {
            let total = self.total(number);
            self.links.settle(number, total);
            let port = self.links.ports.entry(number).or_insert_with(|| Link {
                base: total,
                ..Link::default()
            });
            port.table = settings.table;
        }
        let epoch = self.epoch + 1;
        self.links.keep_vlans(number, &settings.vlans, gone, epoch);
    }

    /// A port goes, and its VLANs.
    pub(super) fn forget_counts(&mut self, number: usize) {
        let total = self.total(number);
        self.links.settle(number, total);
        let (gone, _) = self.links.changes(number, &[]);
        self.links.keep_vlans(number, &[], gone, self.epoch + 1);
        self.links.ports.remove(&number);
    }
}
