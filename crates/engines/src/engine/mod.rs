//! What the control plane asks of whatever moves the frames.
//!
//! An engine owns its forwarding state (tables, next hops, buckets, ports) and the thing that uses
//! it: an XDP program, user-space workers, or, in tests, nothing at all. The control plane owns the
//! truth and hands down [`Change`]s in an order that is always safe to apply one at a time: a next
//! hop is written before a route points to it, and it is released only after the last route has
//! left it.
//!
//! An engine forwards only what a table answers with an adjacency or a group of them. Every other
//! answer, and every frame that needs more than a look-up and a rewrite, belongs to the kernel
//! ("punt").

pub mod af_packet;
pub mod hand_over;
pub mod plain_sockets;
pub mod user_space;

mod af_xdp;
mod failed;
mod in_kernel;
mod open;
mod recovery;
mod tables;
pub(crate) mod workers;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use fastpath::forward::{
    Device, Forwarder, LinkCount, NotCarried, PortCounts, PortSettings, PuntLimits, Room,
};
use fib::{NextHop, NextHopEntry, Prefix};

pub use open::{EngineKind, Require, SocketOptions, open, open_elsewhere, remove_left};

/// The kernel's main table, in which ports outside any VRF look addresses up.
pub const MAIN_TABLE: u32 = 254;

/// Next hops whose number and meaning never change. The control plane writes them before anything
/// else.
pub mod fixed {
    use fib::NextHop;

    /// Hand the frame to the kernel.
    pub const PUNT: NextHop = NextHop(1);
    /// Drop silently.
    pub const BLACKHOLE: NextHop = NextHop(2);
    /// The kernel answers "host unreachable".
    pub const UNREACHABLE: NextHop = NextHop(3);
    /// The kernel answers "administratively prohibited".
    pub const PROHIBIT: NextHop = NextHop(4);
    /// An address of this machine: hand the frame to the kernel.
    pub const LOCAL: NextHop = NextHop(5);
    /// The first number given to anything else.
    pub const FIRST_FREE: u16 = 6;
}

/// One step from the forwarding state of before to that of after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The answer for an IPv4 prefix in a table; [`NextHop::NONE`] withdraws it.
    RouteV4 {
        /// Kernel table number: [`MAIN_TABLE`] or that of a VRF.
        table: u32,
        /// The prefix.
        prefix: Prefix<u32>,
        /// Where it goes.
        next_hop: NextHop,
    },
    /// The answer for an IPv6 prefix in a table; [`NextHop::NONE`] withdraws it.
    RouteV6 {
        /// Kernel table number: [`MAIN_TABLE`] or that of a VRF.
        table: u32,
        /// The prefix.
        prefix: Prefix<u128>,
        /// Where it goes.
        next_hop: NextHop,
    },
    /// The content of a next hop that is not a group.
    NextHop {
        /// Its number.
        id: NextHop,
        /// What to do with a frame.
        entry: NextHopEntry,
    },
    /// The content of a next hop that spreads flows: bucket `hash % buckets.len()` names the next
    /// hop of a flow.
    Group {
        /// Its number.
        id: NextHop,
        /// One next hop (never a group) for each bucket.
        buckets: Vec<NextHop>,
    },
    /// A next hop that no route uses any more. Its number comes back later for something else.
    Release {
        /// Its number.
        id: NextHop,
    },
    /// No port looks up in this table any more, or what is there is the kernel's for want of room:
    /// its routes are forgotten.
    TableGone {
        /// Kernel table number.
        table: u32,
    },
    /// A port and how it receives.
    Port(Port),
    /// An interface is no port any more: nothing stays attached to it.
    PortGone {
        /// The kernel's name.
        name: String,
        /// Interface index.
        ifindex: u32,
    },
    /// The IPv4 addresses of the network namespace, all of them: as sources they are the kernel's.
    OwnAddresses(Vec<u32>),
}

/// One port as the engine must treat it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Port {
    /// The kernel's interface index.
    pub ifindex: u32,
    /// The kernel's name.
    pub name: String,
    /// Largest IP packet that leaves by it, in bytes.
    pub mtu: u32,
    /// How it receives: disabled when it is not there, down, or kept by policy; tables are the
    /// kernel's.
    pub settings: PortSettings,
}

impl Port {
    /// Is there an interface of this name and index in the calling thread's network namespace?
    pub(crate) fn is_there(&self) -> bool {
        bpf::attach::index_of(&self.name).is_ok_and(|index| index == self.ifindex)
    }
}

/// How an engine is attached to a port: what `ready` and `corelane show engine` print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortMode {
    /// The port's name.
    pub port: String,
    /// Where the program runs: `native`, `generic`, `tc`; with sockets, `,zero-copy` or `,copy`
    /// behind it, and `,busy-poll`.
    pub mode: &'static str,
}

/// Frames that one port received and this engine did not forward, by the one reason each has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReasonCount {
    /// Interface index.
    pub ifindex: u32,
    /// Core that handled the frames.
    pub core: u32,
    /// The reason's name, the same in source, output and metrics.
    pub reason: &'static str,
    /// True when the kernel got the frame, false when it was dropped.
    pub punted: bool,
    /// How many.
    pub frames: u64,
}

/// Everything an engine has counted. `received = forwarded + sum of reasons` holds for every port
/// and core.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    /// By interface index and core. Why frames were not forwarded stands in `reasons`, by fate.
    pub ports: PortCounts,
    /// By port, core and reason; zero counts may be left out.
    pub reasons: Vec<ReasonCount>,
    /// By the interface index of a VLAN sub-interface.
    pub vlans: BTreeMap<u32, LinkCount>,
    /// By the kernel's number of the table.
    pub tables: BTreeMap<u32, LinkCount>,
}

/// Why an engine could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[error("{doing}: {cause}")]
pub struct EngineError {
    /// What was asked, for people.
    pub doing: String,
    /// What went wrong and what to do about it.
    pub cause: String,
    /// How many of the changes that were asked for hold.
    pub done: usize,
}

impl EngineError {
    /// An error with its context.
    pub fn new(doing: impl Into<String>, cause: impl fmt::Display) -> Self {
        Self {
            doing: doing.into(),
            cause: cause.to_string(),
            done: 0,
        }
    }
}

/// The state that frames are forwarded by, as they see it now: what `show` prints and `verify`
/// compares.
pub trait Answers {
    /// The answer a frame for `address` would get in `table`.
    fn lookup_v4(&self, table: u32, address: u32) -> NextHop;

    /// The answer a frame for `address` would get in `table`.
    fn lookup_v6(&self, table: u32, address: u128) -> NextHop;

    /// The content of a next hop.
    fn next_hop(&self, id: NextHop) -> NextHopEntry;

    /// The next hops of a group's buckets; empty when `id` is not a group.
    fn buckets(&self, id: NextHop) -> Vec<NextHop>;

    /// Is what a frame for a family (IPv6 or not) of a table gets by a next hop as it was asked
    /// for? Else it is the kernel's for want of room.
    fn carries(&self, _table: u32, _v6: bool, _id: NextHop) -> bool {
        true
    }

    /// Bytes of forwarding state, exact, for `show engine`.
    fn memory(&self) -> u64;

    /// What a frame can get by a next hop: the entries of a group's members, each once, or its own.
    fn entries(&self, id: NextHop) -> BTreeMap<NextHop, NextHopEntry> {
        let mut members = self.buckets(id);
        if members.is_empty() {
            members.push(id);
        }
        let entry = |id| (id, self.next_hop(id));
        members.into_iter().map(entry).collect()
    }
}

/// What moves the frames. Dropping an engine detaches it: from then on the kernel forwards by
/// itself.
pub trait Engine: Send {
    /// As in [`EngineKind::name`].
    fn name(&self) -> &'static str;

    /// How each port is attached that is.
    fn modes(&self) -> Vec<PortMode>;

    /// False when the engine asks the kernel for every packet and keeps no table: it is sent ports
    /// only.
    fn keeps_table(&self) -> bool {
        true
    }

    /// Applies the changes in their order. Each is visible to the next frame as a whole or not at
    /// all. What finds no room is the kernel's ([`Engine::not_carried`]), and so is a port that
    /// cannot be set up ([`Engine::failed_ports`]); both are tried again.
    ///
    /// # Errors
    /// When a change cannot be made, which is not for want of room. Changes before it hold
    /// ([`EngineError::done`]), those after it are not tried.
    fn apply(&mut self, changes: &[Change]) -> Result<(), EngineError>;

    /// How many programs of its own it has at tc on a port, where others' programs would be
    /// gone past.
    fn programs_at_tc(&self, _ifindex: u32) -> u32 {
        0
    }

    /// Does all that it sends pass the queueing disciplines of the ports and programs at tc there?
    fn passes_disciplines(&self) -> bool {
        false
    }

    /// The programs in the kernel and their state, for an engine that has them.
    fn forwarder(&self) -> Option<&Forwarder> {
        None
    }

    /// The same, to be changed.
    fn forwarder_mut(&mut self) -> Option<&mut Forwarder> {
        None
    }

    /// The same of workers that can go from one process to another.
    fn hand_over(&mut self) -> Option<&mut dyn hand_over::HandOver> {
        None
    }

    /// What the device of a port does with frames, as it said now.
    fn set_device(&mut self, ifindex: u32, device: Device) {
        if let Some(forwarder) = self.forwarder_mut() {
            forwarder.set_device(ifindex, device);
        }
    }

    /// Can frames have come by a port with a VLAN tag that the engine does not see? Then the port
    /// is the kernel's, unless its settings trust the sender.
    fn hides_tags(&self, ifindex: u32) -> bool {
        let forwarder = self.forwarder();
        forwarder.is_some_and(|forwarder| forwarder.hides_tags(ifindex))
    }

    /// Looks whether everything still runs, and mends what does not; called some times a second.
    ///
    /// # Errors
    /// What had gone wrong, and what was done about it. Frames that concern it have been the
    /// kernel's meanwhile.
    fn check(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    /// How much is the kernel's because it found no room.
    fn not_carried(&self) -> NotCarried {
        let forwarder = self.forwarder();
        forwarder.map_or_else(NotCarried::default, Forwarder::not_carried)
    }

    /// How much of the room for each kind of thing is taken.
    fn room(&self) -> Vec<Room> {
        let forwarder = self.forwarder().into_iter();
        forwarder.flat_map(Forwarder::room).collect()
    }

    /// Tables that are the kernel's for want of room, of which that may be over; `size` says how
    /// many answers a family of a table (IPv6 or not) has now. Each is emptied
    /// ([`Change::TableGone`]), filled again, and used once the ports have been told again.
    fn tables_with_room(&self, size: &dyn Fn(u32, bool) -> usize) -> Vec<u32> {
        let forwarder = self.forwarder().into_iter();
        let tables = forwarder.flat_map(|forwarder| forwarder.tables_with_room(size));
        tables.collect()
    }

    /// Ports that could not be set up, each with the cause. They are the kernel's, and tried again
    /// by [`Engine::check`].
    fn failed_ports(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Its state is the kernel's as of now. When that is not said again within `bound`, every frame
    /// is the kernel's until it is (reason `stale`); without a bound, the state holds for ever.
    ///
    /// # Errors
    /// When the kernel refuses; what was said before holds.
    fn vouch(&mut self, bound: Option<Duration>) -> Result<(), EngineError> {
        let forwarder = self.forwarder();
        let vouched = forwarder.map_or(Ok(()), |forwarder| forwarder.vouch(bound));
        vouched.map_err(|error| EngineError::new("vouching for the routes", error))
    }

    /// From now on the kernel gets so many punts of each class from each port; before, all.
    fn set_punt_limits(&mut self, limits: &PuntLimits) {
        if let Some(forwarder) = self.forwarder_mut() {
            forwarder.set_punt_limits(limits);
        }
    }

    /// Why it leaves every frame to the kernel for the time being, if it does.
    fn resting(&self) -> Option<String> {
        None
    }

    /// The forwarding state, for those who only look.
    fn answers(&self) -> &dyn Answers;

    /// The counts so far.
    ///
    /// # Errors
    /// When the counters cannot be read.
    fn counters(&self) -> Result<Counters, EngineError>;

    /// Frames that a next hop carried so far.
    fn carried(&self, next_hop: NextHop) -> u64 {
        let forwarder = self.forwarder();
        forwarder.map_or(0, |forwarder| forwarder.carried(next_hop).frames)
    }
}
