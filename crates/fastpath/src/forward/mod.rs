//! The forwarder: routes, next hops and ports for the XDP program that forwards between them.
//!
//! The tables lie in memory that the kernel maps into this process; `fib` changes them in place, and the program, running on any
//! core, sees the answer before a change or the one after. No change costs a system call, except to ports.
//!
//! # Who reads what, and when memory is reused
//! The program reads a slot number, an entry, a node; the writer unlinks and replaces by single stores, and puts what it unlinked
//! aside. [`Forwarder::settle`] marks the end of a batch of changes: what was set aside is sealed under an epoch, a grace period is
//! asked for (a thread waits for all running programs: [`grace`](self)), and what earlier grace periods freed is used again. When room
//! runs out in the middle of a batch, the forwarder waits for the grace period instead of failing.
//!
//! # Ports
//! Each port has its own copy of the program with the port's number as a constant. A port forwards only while
//! [`Forwarder::set_port`] says so; attached and not enabled, all of its frames are the kernel's. Everything that is not plain
//! forwarding is the kernel's too, under a counted [`reason`].
//!
//! # What it cannot do
//! - Ports are at most 64, VLANs 4096 over all ports.
//! - A tag that the receiving device has taken out of the frame (VLAN offload) is not seen by XDP: the frame would be routed as
//!   untagged. Where tagged frames are to be expected, switch it off: `ethtool -K PORT rxvlan off`; for a veth, `ethtool -K PEER
//!   txvlan off`.
//! - Frames with partial checksums (veth, virtio and tap peers with offloads on) are recognised and left to the kernel, which completes
//!   them: right, at the kernel's speed. `ethtool -K PEER tx off` brings them to the fast path.
//! - A veth takes redirected frames only while its peer has an XDP program or GRO (`ethtool -K PEER gro on`). The forwarder asks the
//!   kernel whether a port does, and leaves frames to the kernel as long as it does not ([`Forwarder::refresh_ports`]).

mod counters;
mod grace;
pub mod reason;
mod storage;

use std::collections::{BTreeMap, HashMap};

use fib::next_hop::{Kind, NextHopError};
use fib::table::TableError;
use fib::{NextHop, NextHopEntry, NextHopTable, Prefix, Table};

use crate::attach::{Attachment, Mode, Request};
use crate::map::{Map, MappedArray, possible_cpus};
use crate::program::{Loaded, Loader, Program};
use crate::sys::RunResult;
use crate::{Error, Result, attach, features};

pub use counters::{Carried, PortCounters};
use grace::Grace;
use storage::Arrays;
pub use storage::Capacity;

const OBJECT: &[u8] = include_bytes!("../../bpf/built/forward.bpf.o");
/// Changes after which room is looked for without being asked.
const SETTLE_EVERY: u32 = 4096;
const FLAG_NO_REDIRECT: u8 = 1;
const FLAG_UNKNOWN_PORT: u8 = 2;
const STATION_ENABLED: u64 = 1 << 48;
/// Maps that every port's program shares.
const SHARED: [&str; 14] = [
    "tables",
    "root4",
    "root6",
    "nodes4",
    "nodes6",
    "slots",
    "next_hops",
    "buckets",
    "ports",
    "vlans",
    "egresses",
    "out",
    "counters",
    "carried",
];

/// Whose table answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Ours, in memory-mapped arrays.
    Own,
    /// The kernel's, by its helper: routes and next hops given to the forwarder are not used.
    Kernel,
}

/// How a port receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSettings {
    /// False: leave every frame to the kernel.
    pub enabled: bool,
    /// Frames for this address are routed.
    pub mac: [u8; 6],
    /// Table (the caller's number) for untagged frames.
    pub table: u32,
    /// Tagged frames that are routed.
    pub vlans: Vec<VlanSettings>,
}

/// How one VLAN of a port receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlanSettings {
    /// VLAN identifier.
    pub vid: u16,
    /// Interface index of the sub-interface (for the kernel's lookup; 0 otherwise).
    pub ifindex: u32,
    /// Table (the caller's number).
    pub table: u32,
    /// Frames for this address are routed.
    pub mac: [u8; 6],
}

#[derive(Debug)]
struct Port {
    ifindex: u32,
    program: Program,
    attachment: Attachment,
    accepts_redirect: bool,
    vlans: Vec<VlanSettings>,
}

#[derive(Debug)]
struct Tables {
    v4: Table<u32>,
    v6: Table<u128>,
}

/// `struct port` and `struct egress` of the C source as words.
type PortWords = [u64; 2];

/// The forwarder. Its methods are for one thread, in the ports' network namespace; the program runs by itself.
#[derive(Debug)]
pub struct Forwarder {
    lookup: Lookup,
    capacity: Capacity,
    arrays: Arrays,
    tables: Vec<Tables>,
    /// The caller's table number to ours.
    table_numbers: HashMap<u32, usize>,
    next_hops: NextHopTable,
    /// Adjacencies as the caller gave them, for when a port changes.
    adjacencies: BTreeMap<u16, NextHopEntry>,
    ports: Vec<Option<Port>>,
    maps: HashMap<&'static str, Map>,
    port_words: MappedArray<u64>,
    counters: MappedArray<u64>,
    carried: MappedArray<u64>,
    cpus: usize,
    grace: Grace,
    epoch: u64,
    changes: u32,
}

impl Forwarder {
    /// Creates the maps and empty tables.
    ///
    /// # Errors
    /// The loader's: no permission, no memory, a kernel that is too old for memory-mapped arrays ([`Error::CreateMap`]).
    pub fn new(lookup: Lookup, capacity: Capacity) -> Result<Self> {
        let capacity = match lookup {
            Lookup::Own => capacity,
            Lookup::Kernel => Capacity::NONE,
        };
        let cpus = possible_cpus()?;
        let loaded = Self::load(lookup, &capacity, cpus, 0, Mode::Native, &HashMap::new())?;
        let mut maps = HashMap::new();
        for name in SHARED {
            maps.insert(name, loaded.map(name)?);
        }
        let arrays = Arrays::map(capacity, |name| loaded.map(name))?;
        let next_hops = NextHopTable::new(arrays.next_hops());
        Ok(Self {
            lookup,
            capacity,
            tables: Vec::new(),
            table_numbers: HashMap::new(),
            next_hops,
            adjacencies: BTreeMap::new(),
            ports: Vec::new(),
            port_words: loaded.map("ports")?.mapped()?,
            counters: counters::rows(&loaded.map("counters")?)?,
            carried: loaded.map("carried")?.mapped()?,
            maps,
            arrays,
            cpus,
            grace: Grace::start()?,
            epoch: 0,
            changes: 0,
        })
    }

    fn load(
        lookup: Lookup,
        capacity: &Capacity,
        cpus: usize,
        port: usize,
        mode: Mode,
        maps: &HashMap<&'static str, Map>,
    ) -> Result<Loaded> {
        let mut loader = Loader::new(OBJECT)?
            .constant("PORT", port as u64)
            .constant("GENERIC", u64::from(mode == Mode::Generic))
            .constant("PARTIAL", 1)
            .constant("KERNEL_FIB", u64::from(lookup == Lookup::Kernel))
            .entries("counters", cpus as u32)?
            .entries("carried", cpus as u32)?
            .accept_fragments();
        for (name, map) in maps {
            loader = loader.share(name, map.clone());
        }
        capacity.shape(loader)?.load()
    }

    /// Attaches to an interface of the calling thread's network namespace. It forwards nothing yet: [`Forwarder::set_port`] comes next.
    ///
    /// # Errors
    /// [`Error::Refused`] when the kernel does not take the program, else as [`Attachment::new`]; [`Error::Value`] when all 64 places
    /// are taken.
    pub fn attach(&mut self, interface: &str, request: Request) -> Result<&Attachment> {
        let ifindex = attach::index_of(interface)?;
        self.detach(ifindex);
        let number = self
            .ports
            .iter()
            .position(Option::is_none)
            .unwrap_or(self.ports.len());
        if number >= counters::PORTS {
            return Err(Error::Value {
                what: "number of ports",
                value: (number + 1).to_string(),
                remedy: format!("at most {}", counters::PORTS),
            });
        }
        self.write_port(number, 0, 0, ifindex);
        let load = |mode| {
            Self::load(
                self.lookup,
                &self.capacity,
                self.cpus,
                number,
                mode,
                &self.maps,
            )
            .and_then(|loaded| loaded.program("forward"))
        };
        let native = Request::Native;
        let mut program = load(Mode::Native)?;
        let attachment = match request {
            Request::Generic => None,
            _ => match Attachment::new(&program, interface, native) {
                Ok(attachment) => Some(attachment),
                Err(Error::NotNative { .. }) if request == Request::Any => None,
                Err(error) => return Err(error),
            },
        };
        let attachment = if let Some(attachment) = attachment {
            attachment
        } else {
            program = load(Mode::Generic)?;
            Attachment::new(&program, interface, Request::Generic)?
        };
        self.maps["out"].set(number as u32, &ifindex)?;
        let port = Port {
            ifindex,
            program,
            attachment,
            accepts_redirect: features::accepts_redirect(ifindex).unwrap_or(true),
            vlans: Vec::new(),
        };
        if number == self.ports.len() {
            self.ports.push(Some(port));
        } else {
            self.ports[number] = Some(port);
        }
        self.port_changed(number)?;
        // Just filled.
        self.ports[number]
            .as_ref()
            .map(|port| &port.attachment)
            .ok_or(Error::NoPort(ifindex))
    }

    /// Takes the program off a port; its frames are the kernel's. Nothing happens when it is no port.
    pub fn detach(&mut self, ifindex: u32) {
        let Ok(number) = self.number_of(ifindex) else {
            return;
        };
        self.write_port(number, 0, 0, 0);
        if let Some(port) = self.ports[number].take() {
            for vlan in &port.vlans {
                let _gone = self.maps["vlans"].remove((number as u32) << 16 | u32::from(vlan.vid));
            }
        }
        let _gone = self.maps["out"].remove(number as u32);
        let _rewritten = self.port_changed(number);
    }

    fn number_of(&self, ifindex: u32) -> Result<usize> {
        self.ports
            .iter()
            .position(|port| port.as_ref().is_some_and(|port| port.ifindex == ifindex))
            .ok_or(Error::NoPort(ifindex))
    }

    /// The table first, so that no frame is looked up in the wrong one.
    fn write_port(&self, number: usize, station: u64, table: usize, ifindex: u32) {
        self.port_words
            .write(2 * number + 1, table as u64 | u64::from(ifindex) << 32);
        self.port_words.write(2 * number, station);
    }

    /// Says how a port receives. A change of table disables the port for a moment; other frames are not lost by it, they take the
    /// kernel's way.
    ///
    /// # Errors
    /// [`Error::NoPort`], [`Error::Full`] when there is no room for another table, [`Error::Map`].
    pub fn set_port(&mut self, ifindex: u32, settings: &PortSettings) -> Result<()> {
        let number = self.number_of(ifindex)?;
        let table = self.table(settings.table)?;
        let mut vlans = Vec::with_capacity(settings.vlans.len());
        for vlan in &settings.vlans {
            let words: PortWords = [
                station(vlan.mac),
                self.table(vlan.table)? as u64 | u64::from(vlan.ifindex) << 32,
            ];
            vlans.push(((number as u32) << 16 | u32::from(vlan.vid), words));
        }
        self.write_port(number, 0, table, ifindex);
        let Some(port) = self.ports[number].as_mut() else {
            return Err(Error::NoPort(ifindex));
        };
        let old = std::mem::replace(&mut port.vlans, settings.vlans.clone());
        for vlan in old {
            if !settings.vlans.iter().any(|new| new.vid == vlan.vid) {
                self.maps["vlans"].remove((number as u32) << 16 | u32::from(vlan.vid))?;
            }
            if vlan.ifindex != 0 && !settings.vlans.iter().any(|new| new.ifindex == vlan.ifindex) {
                self.maps["egresses"].remove(vlan.ifindex)?;
            }
        }
        for (key, words) in vlans {
            self.maps["vlans"].set(key, &words)?;
        }
        self.write_egresses(number)?;
        let enabled = if settings.enabled { STATION_ENABLED } else { 0 };
        self.write_port(number, station(settings.mac) | enabled, table, ifindex);
        Ok(())
    }

    /// For the kernel's lookup: which port a frame for an interface of the kernel leaves by.
    fn write_egresses(&self, number: usize) -> Result<()> {
        let Some(port) = &self.ports[number] else {
            return Ok(());
        };
        let flags = if port.accepts_redirect {
            0
        } else {
            FLAG_NO_REDIRECT
        };
        let words = |vlan: u16| number as u64 | u64::from(vlan) << 32 | u64::from(flags) << 48;
        self.maps["egresses"].set(port.ifindex, &words(0))?;
        for vlan in port.vlans.iter().filter(|vlan| vlan.ifindex != 0) {
            self.maps["egresses"].set(vlan.ifindex, &words(vlan.vid))?;
        }
        Ok(())
    }

    /// Asks the kernel again which ports take redirected frames; call it when a link changes, and now and then.
    ///
    /// # Errors
    /// [`Error::Map`], [`Error::Full`].
    pub fn refresh_ports(&mut self) -> Result<()> {
        for number in 0..self.ports.len() {
            let Some(port) = &mut self.ports[number] else {
                continue;
            };
            // A port that is gone keeps its state until it is detached.
            let now = features::accepts_redirect(port.ifindex).unwrap_or(port.accepts_redirect);
            if now != port.accepts_redirect {
                port.accepts_redirect = now;
                self.port_changed(number)?;
            }
        }
        Ok(())
    }

    /// Writes every adjacency again that leaves by this port or could not leave by any.
    fn port_changed(&mut self, number: usize) -> Result<()> {
        self.write_egresses(number)?;
        let concerned: Vec<_> = self
            .adjacencies
            .iter()
            .map(|(&id, &entry)| (NextHop(id), self.effective(entry)))
            .filter(|&(id, entry)| self.next_hops.get(id) != entry)
            .collect();
        for (id, entry) in concerned {
            self.write_next_hop(id, entry)?;
        }
        self.settle();
        Ok(())
    }

    /// Our number of the caller's table, which is made when it is first named.
    fn table(&mut self, number: u32) -> Result<usize> {
        if self.lookup == Lookup::Kernel {
            return Ok(0);
        }
        if let Some(&index) = self.table_numbers.get(&number) {
            return Ok(index);
        }
        let index = self.tables.len();
        if index >= self.capacity.tables() {
            return Err(Error::Full(format!(
                "table {number} is one more than the {} there is room for; raise `Capacity::more_tables`",
                self.capacity.tables()
            )));
        }
        let (v4, v6) = self.arrays.table(index);
        self.tables.push(Tables {
            v4: Table::in_storage(vec![v4]),
            v6: Table::in_storage(vec![v6]),
        });
        self.table_numbers.insert(number, index);
        Ok(index)
    }

    /// Answers for IPv4 prefixes in a table; [`NextHop::NONE`] withdraws one. Many at once are much faster than one by one: each node
    /// is written once. For an address that several of them concern, frames see the answer before the first or after the last.
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

    /// The content of a next hop that is not a group. In an adjacency, `port` is the interface index of the egress; `flags` is ours.
    ///
    /// # Errors
    /// [`Error::Full`]; nothing has changed then.
    pub fn set_next_hop(&mut self, id: NextHop, entry: NextHopEntry) -> Result<()> {
        self.write_next_hop(id, self.effective(entry))?;
        if entry.kind == Kind::Adjacency {
            self.adjacencies.insert(id.0, entry);
        } else {
            self.adjacencies.remove(&id.0);
        }
        Ok(())
    }

    /// The next hops of a group, one for each bucket, none of them a group.
    ///
    /// # Errors
    /// [`Error::Full`]; nothing has changed then.
    pub fn set_group(&mut self, id: NextHop, buckets: &[NextHop]) -> Result<()> {
        self.adjacencies.remove(&id.0);
        self.with_room(|this| {
            this.next_hops
                .set_group(id, NextHopEntry::default(), buckets)
        })
    }

    /// A next hop that no route uses any more.
    pub fn release(&mut self, id: NextHop) {
        self.adjacencies.remove(&id.0);
        self.next_hops.remove(id);
    }

    fn write_next_hop(&mut self, id: NextHop, entry: NextHopEntry) -> Result<()> {
        self.with_room(|this| this.next_hops.set(id, entry))
    }

    /// The entry as the program wants it: the port's place for its interface index, and what stands in the way.
    fn effective(&self, mut entry: NextHopEntry) -> NextHopEntry {
        entry.flags = 0;
        if entry.kind == Kind::Adjacency {
            match self.number_of(entry.port) {
                Ok(number) => {
                    let accepts = self.ports[number]
                        .as_ref()
                        .is_some_and(|port| port.accepts_redirect);
                    entry.port = number as u32;
                    entry.flags = if accepts { 0 } else { FLAG_NO_REDIRECT };
                }
                Err(_) => entry.flags = FLAG_UNKNOWN_PORT,
            }
        }
        entry
    }

    /// Makes a change; when there is no room, waits for what was set aside to become free, and tries once more.
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
        self.reclaim();
        change(self).map_err(|error| Error::Full(error.to_string()))
    }

    /// Ends a batch of changes: what they replaced becomes free when all programs running now have ended.
    pub fn settle(&mut self) {
        self.changes = 0;
        self.epoch += 1;
        for table in &mut self.tables {
            table.v4.seal(self.epoch);
            table.v6.seal(self.epoch);
        }
        self.next_hops.seal(self.epoch);
        self.grace.request(self.epoch);
        self.reclaim();
    }

    fn reclaim(&mut self) {
        let completed = self.grace.completed();
        for table in &mut self.tables {
            // SAFETY: programs that could read what was sealed under these epochs have ended ([`Grace`]); in this process only
            // `lookup_v4`, `lookup_v6`, `next_hop` and `buckets` read, they copy their answers, and `&mut self` shows that none is
            // under way.
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

    /// The attachments, in the order in which they were made.
    pub fn attachments(&self) -> impl Iterator<Item = &Attachment> {
        self.ports.iter().flatten().map(|port| &port.attachment)
    }

    /// Counters by port and CPU.
    pub fn port_counters(&self) -> Vec<PortCounters> {
        self.ports
            .iter()
            .enumerate()
            .filter_map(|(number, port)| Some((number, port.as_ref()?)))
            .flat_map(|(number, port)| {
                (0..self.cpus)
                    .map(move |cpu| counters::port(&self.counters, cpu, number, port.ifindex))
            })
            .collect()
    }

    /// Counters by next hop. With the kernel's lookup everything is under number 0.
    pub fn carried(&self) -> Vec<Carried> {
        counters::carried(&self.carried, self.cpus)
    }

    /// Bytes of forwarding state: tables and next hops.
    pub fn memory(&self) -> u64 {
        self.arrays.bytes()
    }

    /// Runs a port's program on one frame by hand, `repeat` times; nothing is sent.
    ///
    /// # Errors
    /// [`Error::NoPort`], [`Error::Run`].
    pub fn run(&self, ifindex: u32, frame: &[u8], repeat: u32) -> Result<RunResult> {
        self.ports[self.number_of(ifindex)?]
            .as_ref()
            .ok_or(Error::NoPort(ifindex))?
            .program
            .run(frame, 0, repeat)
    }
}

/// A MAC address as the program compares it: six bytes as they lie in memory.
fn station(mac: [u8; 6]) -> u64 {
    u64::from_le_bytes([mac[0], mac[1], mac[2], mac[3], mac[4], mac[5], 0, 0])
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
