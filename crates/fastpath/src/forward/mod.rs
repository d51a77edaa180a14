//! The forwarder: routes, next hops and ports for the XDP program that forwards between them.
//!
//! The tables lie in memory that the kernel maps into this process; `fib` changes them in place,
//! and the program, running on any core, sees the answer before a change or the one after. No
//! change costs a system call, except to ports.
//!
//! # Who reads what, and when memory is reused
//! The program reads a slot number, an entry, a node; the writer unlinks and replaces by single
//! stores, and puts what it unlinked aside. [`Forwarder::settle`] marks the end of a batch of
//! changes: what was set aside is sealed under an epoch, a grace period is asked for (a thread
//! waits for all running programs: [`grace`](self)), and what earlier grace periods freed is used
//! again. When room runs out in the middle of a batch, the forwarder waits for the grace period
//! before it gives up. What finds none then is the kernel's until there is room
//! ([`Forwarder::not_carried`]).
//!
//! # Ports
//! Each port has its own copy of the program with the port's number as a constant. A port forwards
//! only while [`Forwarder::set_port`] says so; attached and not enabled, all of its frames are the
//! kernel's. Everything that is not plain forwarding is the kernel's too, under a counted
//! [`Reason`]. A thread attaches and detaches, which waits for whoever changes links
//! ([`Forwarder::attach_soon`]).
//!
//! Who follows the kernel's routes may vouch for them some times a second: when it falls silent,
//! all frames are the kernel's ([`Forwarder::vouch`]).
//!
//! # What it cannot do
//! - Ports are at most 64. How much room there is for all else is settled at the start
//!   ([`Capacity`]): maps do not grow.
//! - A port whose device takes VLAN tags out of frames (VLAN offload), while nobody tells the
//!   program of them, is the kernel's ([`Forwarder::hides_tags`]): `ethtool -K PORT rxvlan off`.
//! - An XDP program leaves frames with partial checksums (veth, virtio and tap peers with offloads
//!   on) to the kernel, which completes them: right, at the kernel's speed. At tc they are
//!   forwarded, and segments whole ([`Place::Tc`]).
//! - A veth takes frames that XDP redirects only while its peer has an XDP program or GRO
//!   (`ethtool -K PEER gro on`). The forwarder asks the kernel whether a port does, and leaves
//!   frames to the kernel as long as it does not ([`Forwarder::set_device`]).

mod ahead;
mod answers;
mod attacher;
pub mod capture;
mod counters;
mod discard;
mod flows;
mod grace;
mod hand_over;
mod left;
mod links;
mod place;
mod port;
mod ports;
mod punts;
mod reason;
mod refusals;
mod rehearse;
mod remedy;
mod send;
mod step;
mod storage;
mod tags;
mod tracepoints;
mod variant;
mod vlans;
mod vouch;
mod workers;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use ahead::Ahead;
use answers::Tables;
use attacher::{Attacher, Coming};
use bpf::attach::{Attachment, Mode};
use bpf::btf::Btf;
use bpf::map::{Map, MappedArray, possible_cpus};
use bpf::program::{Loaded, Loader, Program};
use bpf::sys::{RunResult, SocketBuffer};
pub use capture::Capturing;
use capture::Shows;
pub use counters::{Carried, PortCount, PortCounts};
use fib::quiescence::Domain;
use fib::{NextHop, NextHopEntry, NextHopTable};
pub use flows::{FlowFields, Flows};
use grace::Grace;
pub use hand_over::Counted;
use left::Left;
pub use left::{NotCarried, Room};
pub use links::LinkCount;
use links::Links;
pub use place::{Place, Suits};
use port::Port;
pub use port::{Accepts, Device, PortSettings, ReversePath, VlanSettings};
pub use punts::{ALLOWED as PUNT_LIMITS_ALLOWED, PuntLimits};
pub use reason::Reason;
use rehearse::Rehearsal;
pub use rehearse::Rehearsed;
use send::Sends;
pub use send::{Desk, MOST_SENT, Sender, Sent, Way};
pub use step::Step;
use storage::Arrays;
pub use storage::Capacity;
use tags::{Teller, Tellers};
use tracepoints::AtTracepoints;
use vouch::Vouch;

use crate::Result;
use crate::packed::{Packed, packed};

const OBJECT: Packed = packed!("forward");
/// Where the kernel describes itself, if it does.
const TYPES: &str = "/sys/kernel/btf/vmlinux";
const SEGMENT: Packed = packed!("segment");
const TAKE: Packed = packed!("take");
/// The names of programs that forwarders have at tc.
pub const PROGRAMS_AT_TC: [&str; 2] = ["segment", "take"];
/// Maps that every port's program shares.
const SHARED: [&str; 21] = [
    "tables",
    "remembered",
    "root4",
    "root6",
    "nodes4",
    "nodes6",
    "slots",
    "next_hops",
    "buckets",
    "ports",
    "vlans",
    "own4",
    "egresses",
    "out",
    "sockets",
    "counters",
    "vlan_counters",
    "carried",
    "arrived",
    "policers",
    "unresolved",
];

/// Of `own4`: a bit for each place of bpf/source.h.
const OWN_BYTES: u32 = 1 << 15;

/// Whose table answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Ours, in memory-mapped arrays.
    Own,
    /// The kernel's, by its helper: routes and next hops given to the forwarder are not used.
    Kernel,
}

/// Who gets a frame that can be forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// The port that it leaves by.
    Ports,
    /// The `AF_XDP` socket of its queue, up to this length in bytes, in several buffers if they are
    /// taken.
    Sockets { longest: u16, scattered: bool },
    /// A packet socket, which had a copy before; up to this length in bytes.
    Copies { longest: u16 },
}

/// What a program is loaded for.
#[derive(Clone, Copy)]
struct Load {
    lookup: Lookup,
    target: Target,
    capacity: Capacity,
    cpus: usize,
    port: usize,
    mode: Mode,
    teller: Teller,
    /// Whether it searches for frames that wait, too.
    ahead: Option<Ahead>,
    /// To be run by hand.
    rehearsed: bool,
}

impl Load {
    /// The program of a port that forwards, or gives to sockets what can be forwarded.
    fn load(&self, maps: &HashMap<&'static str, Map>) -> bpf::Result<Program> {
        if self.mode == Mode::Tc {
            let loader = self.loader_at_tc(&SEGMENT.bytes(), maps)?;
            return loader.load()?.program("segment");
        }
        self.loader(&OBJECT.bytes(), maps)?
            .load()?
            .program("forward")
    }

    /// For the object of the forwarder at tc, or one that is compiled from the same source.
    fn loader_at_tc(
        &self,
        object: &[u8],
        maps: &HashMap<&'static str, Map>,
    ) -> bpf::Result<Loader> {
        let loader = Loader::new(object)?
            .constant("PORT", self.port as u64)
            .constant("REHEARSED", self.rehearsed.into())
            .value_size("own4", OWN_BYTES)?;
        self.capacity.shape(shared(loader, maps), self.cpus)
    }

    /// For the forwarder's object, or one that is compiled from the same source.
    fn loader(&self, object: &[u8], maps: &HashMap<&'static str, Map>) -> bpf::Result<Loader> {
        let (longest, scattered) = match self.target {
            Target::Ports | Target::Copies { .. } => (0, false),
            Target::Sockets { longest, scattered } => (longest, scattered),
        };
        let mut loader = Loader::new(object)?
            .constant("PORT", self.port as u64)
            .constant("GENERIC", u64::from(self.mode == Mode::Generic))
            .constant("KERNEL_FIB", u64::from(self.lookup == Lookup::Kernel))
            .constant("SOCKETS", u64::from(longest))
            .constant("SCATTERED", u64::from(scattered))
            .value_size("own4", OWN_BYTES)?
            .entries("counters", self.cpus as u32)?
            .entries("vlan_counters", self.cpus as u32)?
            .entries("carried", self.cpus as u32)?
            // Ports are interfaces, too.
            .entries("egresses", (self.capacity.vlans + counters::PORTS) as u32)?;
        if longest == 0 {
            // Kernels without AF_XDP do not know the kind that sockets need.
            loader = loader.unused("sockets")?;
        }
        loader = Ahead::shape(self.ahead, shared(loader, maps), self.cpus)?;
        Ok(self.teller.shape(self.capacity.shape(loader, self.cpus)?))
    }

    /// The program at tc in front of packet sockets.
    fn load_take(&self, longest: u16, maps: &HashMap<&'static str, Map>) -> bpf::Result<Loaded> {
        let loader = TAKE
            .loader()?
            .constant("PORT", self.port as u64)
            .constant("LONGEST", u64::from(longest))
            .constant("REHEARSED", self.rehearsed.into());
        self.capacity.shape(shared(loader, maps), self.cpus)?.load()
    }
}

fn shared(loader: Loader, maps: &HashMap<&'static str, Map>) -> Loader {
    let share = |loader: Loader, (name, map): (&&str, &Map)| loader.share(name, map.clone());
    maps.iter().fold(loader, share)
}

/// The forwarder. Its methods are for one thread, in the ports' network namespace; the program runs
/// by itself.
#[derive(Debug)]
pub struct Forwarder {
    lookup: Lookup,
    target: Target,
    capacity: Capacity,
    arrays: Arrays,
    tables: Vec<Tables>,
    /// The caller's table number to our place for it.
    table_numbers: HashMap<u32, usize>,
    /// The last is the next to be taken.
    free_places: Vec<usize>,
    /// Free when readers have reached the epoch.
    retired_places: Vec<(u64, usize)>,
    next_hops: NextHopTable,
    /// Next hops by a port and groups as the caller gave them, for when a port changes.
    adjacencies: BTreeMap<u16, NextHopEntry>,
    ports: Vec<Option<Port>>,
    /// By interface index.
    coming: BTreeMap<u32, Coming>,
    attacher: Attacher,
    /// For ports on a veth.
    ahead: Option<Ahead>,
    maps: HashMap<&'static str, Map>,
    groups: BTreeMap<u16, Vec<NextHop>>,
    /// Members of these groups, each with its group.
    memberships: BTreeSet<(u16, u16)>,
    /// Numbers that were released, until readers have reached the epoch: one may still be about to
    /// look up what is behind them.
    resting: HashMap<u16, u64>,
    left: Left,
    port_words: MappedArray<u64>,
    vlan_words: MappedArray<u64>,
    /// VLANs that went, by port and identifier, until readers have reached the epoch.
    resting_vlans: HashMap<u32, u64>,
    own: MappedArray<u64>,
    policers: MappedArray<u64>,
    vouch: Vouch,
    refusals: Option<AtTracepoints>,
    sends: Option<Sends>,
    counters: MappedArray<u64>,
    links: Links,
    carried: MappedArray<u64>,
    cpus: usize,
    grace: Grace,
    /// Workers that read the arrays beside the program.
    domain: Domain,
    /// The latest that was begun, as the domain counts: from 1.
    epoch: u64,
    changes: u32,
    /// Next hops or buckets became free since this was last asked.
    has_new_room: bool,
    /// VLANs that went are forgotten since this was last asked, or their places are free.
    has_new_vlans: bool,
    /// What other forwarders have counted of the same ports before.
    before: Counted,
    /// Made when somebody asks first.
    rehearsal: Option<Rehearsal>,
    /// While somebody captures, or wants samples.
    shows: Option<Shows>,
}

impl Forwarder {
    /// Creates the maps and empty tables, for ports in the calling thread's network namespace.
    ///
    /// # Errors
    /// The loader's: no permission, no memory, a kernel that is too old for memory-mapped arrays
    /// ([`bpf::Error::CreateMap`]).
    pub fn new(lookup: Lookup, capacity: Capacity) -> Result<Self> {
        let capacity = match lookup {
            Lookup::Own => capacity,
            Lookup::Kernel => Capacity::NONE,
        };
        Self::create(lookup, Target::Ports, capacity, 0)
    }

    fn create(lookup: Lookup, target: Target, capacity: Capacity, readers: usize) -> Result<Self> {
        let cpus = possible_cpus()?;
        let loaded = Load {
            lookup,
            target,
            capacity,
            cpus,
            port: 0,
            mode: Mode::Native,
            teller: Teller::Nobody,
            ahead: None,
            rehearsed: false,
        }
        .loader(&OBJECT.bytes(), &HashMap::new())?
        .maps()?;
        let mut maps = HashMap::new();
        for name in SHARED {
            maps.insert(name, loaded.map(name)?);
        }
        let arrays = Arrays::map(capacity, |name| loaded.map(name))?;
        let next_hops = NextHopTable::new(arrays.next_hops());
        let vouch = Vouch::load(&maps)?;
        let types = Btf::read(Path::new(TYPES));
        let refusals = match target {
            Target::Ports => refusals::watch(types.as_ref(), &maps)?,
            Target::Sockets { .. } | Target::Copies { .. } => None,
        };
        let desks = readers / capacity.tables().max(1);
        let sends = match target {
            // They are slower without, and no less right.
            Target::Sockets { .. } => Sends::watch(types.as_ref(), desks).ok().flatten(),
            Target::Ports | Target::Copies { .. } => None,
        };
        let forwarder = Self {
            lookup,
            target,
            capacity,
            tables: Vec::new(),
            table_numbers: HashMap::new(),
            free_places: (0..capacity.tables()).rev().collect(),
            retired_places: Vec::new(),
            next_hops,
            adjacencies: BTreeMap::new(),
            groups: BTreeMap::new(),
            memberships: BTreeSet::new(),
            resting: HashMap::new(),
            left: Left::default(),
            ports: Vec::new(),
            coming: BTreeMap::new(),
            attacher: Attacher::start(Tellers::of(types.as_ref()))?,
            ahead: match lookup {
                Lookup::Own => types.as_ref().and_then(Ahead::of),
                Lookup::Kernel => None,
            },
            port_words: loaded.map("ports")?.mapped()?,
            vlan_words: loaded.map("vlans")?.mapped()?,
            resting_vlans: HashMap::new(),
            own: loaded.map("own4")?.mapped()?,
            policers: loaded.map("policers")?.mapped()?,
            vouch,
            refusals,
            sends,
            counters: counters::rows(&loaded.map("counters")?)?,
            links: Links::new(loaded.map("vlan_counters")?.mapped()?, cpus, capacity.vlans),
            carried: loaded.map("carried")?.mapped()?,
            maps,
            arrays,
            cpus,
            grace: Grace::start()?,
            domain: Domain::new(readers),
            epoch: 1,
            changes: 0,
            has_new_room: false,
            has_new_vlans: false,
            before: Counted::default(),
            rehearsal: None,
            shows: None,
        };
        forwarder.vouch(None)?;
        Ok(forwarder)
    }

    /// The attachments, in the order in which they were made.
    pub fn attachments(&self) -> impl Iterator<Item = &Attachment> {
        self.ports.iter().flatten().map(|port| &port.attachment)
    }

    /// What each port and CPU has counted since the program was loaded, and before
    /// ([`Forwarder::count_on`]).
    pub fn port_counters(&self) -> PortCounts {
        let mut counts = self.own_counters();
        for (place, count) in &mut counts {
            if let Some(before) = self.before.ports.get(place) {
                *count += before;
            }
        }
        counts
    }

    /// What a next hop carried. With the kernel's lookup everything is under number 0.
    pub fn carried(&self, next_hop: NextHop) -> Carried {
        counters::carried(&self.carried, self.cpus, next_hop)
    }

    /// Bytes of forwarding state: tables and next hops.
    pub fn memory(&self) -> u64 {
        self.arrays.bytes()
    }

    /// Runs a port's program on one frame by hand, `repeat` times; nothing is sent.
    ///
    /// # Errors
    /// [`crate::Error::NoPort`], [`bpf::Error::Run`].
    pub fn run(&self, ifindex: u32, frame: &[u8], repeat: u32) -> Result<RunResult> {
        Ok(self.dry(ifindex)?.run(frame, 0, repeat)?)
    }

    /// Runs the program of a port at tc once on a frame and what the kernel knows beside it.
    ///
    /// # Errors
    /// As [`Forwarder::run`].
    pub fn run_buffer(
        &self,
        ifindex: u32,
        frame: &[u8],
        buffer: &mut SocketBuffer,
    ) -> Result<RunResult> {
        Ok(self.dry(ifindex)?.run_buffer(frame, buffer)?)
    }
}
