//! The engine in user space: workers behind `AF_XDP` sockets, one for each core and queue.
//!
//! ```text
//! frame -> XDP program --(can be forwarded)--> socket of its queue -> worker -> socket of the egress port
//!              \--(anything else)--> kernel, under its reason
//! ```
//!
//! The program is that of the engine `xdp`, told to give what it could forward to sockets ([`fastpath::forward`]); it and
//! the workers read the same tables. So an exception never leaves the kernel, and no frame has to be put back into it. The
//! price is a second look-up for each frame.
//!
//! # Who owns what
//! The engine owns the program, the tables and the threads; each thread owns a [`Worker`] with its sockets and its memory.
//! Worker *w* of *n* serves queues *w*, *w + n*, ... of every port; there are as many workers as the port with the fewest
//! queues has queues, and no more than cores. They take the last of the allowed cores, because interrupts like the first.
//!
//! # What happens when
//! - A route changes: the store that the program sees, the workers see.
//! - A port's settings change: first the workers act by them, then the program lets frames through.
//! - A port comes, goes or comes back: all sockets are opened anew. Meanwhile every frame is the kernel's.
//! - A worker ends: its sockets close, its queues are the kernel's (`no-worker`), and [`Engine::check`] starts all again.
//! - The engine is dropped: the program goes first, what waits in the rings is sent on. When the process is killed, the kernel
//!   removes program and sockets; frames in the rings are lost, at most a ring for each queue.
//!
//! # What it cannot do
//! Frames longer than [`LONGEST`] bytes are the kernel's (`too-big`), and so are partial checksums (`partial-checksum`). A
//! route withdrawn while frames for it wait in a ring costs these frames (`no-route`, dropped).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use fastpath::attach::{Mode, Request};
use fastpath::forward::{Capacity, Forwarder, TableReader};
use fib::{NextHop, NextHopEntry};
use host::{CoreId, allowed_cores};
use port::xsk::{Copying, HEADROOM, Memory, Options, XskInterface, XskPort, receive_queues};
use port::{Pool, PortError};
use wire::ethernet::MacAddress;

use super::workers::Workers;
use super::{
    Change, Counters, Engine, EngineError, Port, PortCount, PortMode, ReasonCount, tables,
};
use crate::user_plane::{self, PortSettings, Reason, VlanSettings, Worker};

/// Bytes of a buffer, the kernel's room in front included.
const BUFFER: u16 = 2048;
/// The longest frame that a socket takes, in bytes without FCS.
pub const LONGEST: u16 = BUFFER - HEADROOM;
/// How long a queue may stay taken after its socket was closed.
const BUSY_WAIT: Duration = Duration::from_secs(2);

/// How sockets and program must be attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requirement {
    /// Where the program runs.
    pub program: Request,
    /// Who moves the bytes between driver and worker.
    pub copying: Copying,
}

#[derive(Debug)]
struct Attached {
    name: String,
    ifindex: u32,
    mode: Mode,
    zero_copy: bool,
    /// As last told.
    settings: Option<Port>,
}

/// Workers behind `AF_XDP` sockets, as long as it lives.
#[derive(Debug)]
pub struct AfXdp {
    forwarder: Forwarder,
    requirement: Requirement,
    ports: Vec<Attached>,
    cores: Vec<CoreId>,
    workers: Workers,
    /// What workers that have been stopped had counted, by interface index and core.
    past: BTreeMap<(u32, u32), user_plane::PortCount>,
}

impl AfXdp {
    /// Attaches to the named ports in the calling thread's network namespace and starts the workers. They forward nothing until told to.
    ///
    /// # Errors
    /// What stands in the way and what to do: another XDP program, a queue that another program holds, no native mode or no
    /// zero copy although required, missing rights.
    pub fn open(ports: &[String], requirement: Requirement) -> Result<Self, EngineError> {
        let failed = |error| EngineError::new("starting the engine", error);
        let cores = allowed_cores().map_err(|error| EngineError::new("asking for cores", error))?;
        let forwarder =
            Forwarder::for_workers(Capacity::default(), cores.len(), LONGEST).map_err(failed)?;
        let mut engine = Self {
            forwarder,
            requirement,
            ports: Vec::with_capacity(ports.len()),
            cores,
            workers: Workers::default(),
            past: BTreeMap::new(),
        };
        for name in ports {
            engine.attach(name)?;
        }
        engine.start()?;
        Ok(engine)
    }

    fn attach(&mut self, name: &str) -> Result<(), EngineError> {
        let attachment = self
            .forwarder
            .attach(name, self.requirement.program)
            .map_err(|error| EngineError::new(format!("attaching to port {name}"), error))?;
        self.ports.push(Attached {
            name: name.to_owned(),
            ifindex: attachment.ifindex(),
            mode: attachment.mode(),
            zero_copy: false,
            settings: None,
        });
        Ok(())
    }

    /// Opens all sockets and starts all workers; drivers that cannot all work on our memory get copies, unless forbidden.
    fn start(&mut self) -> Result<(), EngineError> {
        let failed = |error: PortError| EngineError::new("opening sockets", error);
        match self.open_all(self.requirement.copying) {
            Err(Trouble::Port(_)) if self.requirement.copying == Copying::Any => {
                self.retire();
                self.open_all(Copying::Always)
            }
            outcome => outcome,
        }
        .map_err(|trouble| match trouble {
            Trouble::Port(error) if self.requirement.copying == Copying::Never => EngineError::new(
                "opening sockets",
                format!(
                    "{error}; zero copy was required: drop the requirement to let the kernel copy"
                ),
            ),
            Trouble::Port(error) => failed(error),
            Trouble::Engine(error) => error,
        })
    }

    fn open_all(&mut self, copying: Copying) -> Result<(), Trouble> {
        let mut queues = Vec::with_capacity(self.ports.len());
        for port in &self.ports {
            let doing = || format!("counting the queues of port {}", port.name);
            let count = receive_queues(&port.name);
            queues.push(count.map_err(|error| EngineError::new(doing(), error))?);
        }
        let fewest = queues.iter().copied().min().unwrap_or(0) as usize;
        let workers = fewest.min(self.cores.len());
        let first = self.cores.len() - workers;
        for place in 0..workers {
            let core = self.cores[first + place];
            self.open_one(place, workers, core, &queues, copying)?;
        }
        Ok(())
    }

    /// Opens the queues of worker `place` of `workers` and starts it.
    fn open_one(
        &mut self,
        place: usize,
        workers: usize,
        core: CoreId,
        queues: &[u32],
        copying: Copying,
    ) -> Result<(), Trouble> {
        let options = Options {
            copying,
            ..Options::default()
        };
        let ours = |count: u32| (place as u32..count).step_by(workers);
        let sockets = queues.iter().map(|&count| ours(count).count() as u32).sum();
        let mut pool = Pool::new(options.layout(sockets))?;
        let mut memory = Memory::default();
        let mut interfaces = Vec::with_capacity(self.ports.len());
        for (port, &count) in self.ports.iter().zip(queues) {
            let mut opened = Vec::new();
            for queue in ours(count) {
                let socket = open_socket(&port.name, queue, &mut pool, &mut memory, options)?;
                self.forwarder
                    .set_socket(port.ifindex, queue, &socket)
                    .map_err(|error| EngineError::new("opening sockets", error))?;
                opened.push(socket);
            }
            interfaces.push(XskInterface::new(&port.name, opened)?);
        }
        let doing = |error: &dyn std::fmt::Display| EngineError::new("starting a worker", error);
        let readers = self.forwarder.readers().map_err(|error| doing(&error))?;
        let mut worker: Worker<TableReader> = Worker::new(readers, pool);
        let mut counters = Vec::with_capacity(interfaces.len());
        for (at, interface) in interfaces.into_iter().enumerate() {
            let settings = self.settings(at)?;
            let port = &mut self.ports[at];
            port.zero_copy = interface.is_zero_copy();
            let cells = worker
                .attach(Box::new(interface), settings)
                .map_err(|error| doing(&error))?;
            counters.push((port.ifindex, cells));
        }
        Ok(self.workers.start(worker, core, counters)?)
    }

    /// The settings of the port at `at` as workers want them. What is to be forwarded at all is the program's decision.
    fn settings(&mut self, at: usize) -> Result<PortSettings, EngineError> {
        let port = &self.ports[at];
        let failed = |error| EngineError::new("setting up a port", error);
        let number = self.forwarder.place(port.ifindex).map_err(failed)?;
        let Some(told) = port.settings.clone() else {
            return Ok(PortSettings {
                number,
                enabled: false,
                mac: MacAddress([0; 6]),
                table: 0,
                vlans: Vec::new(),
            });
        };
        let mut place = |table| self.forwarder.table_place(table).map_err(failed);
        let mut vlans = Vec::with_capacity(told.vlans.len());
        for vlan in &told.vlans {
            vlans.push(VlanSettings {
                identifier: vlan.vid,
                mac: MacAddress(vlan.mac),
                table: place(vlan.table)?,
            });
        }
        Ok(PortSettings {
            number,
            enabled: true,
            mac: MacAddress(told.mac),
            table: place(told.table)?,
            vlans,
        })
    }

    /// Stops all workers and keeps their counts; the first reason for which one had ended by itself.
    fn retire(&mut self) -> Option<String> {
        let cells: Vec<_> = self
            .workers
            .counters()
            .map(|(ifindex, core, cells)| (ifindex, core, Arc::clone(cells)))
            .collect();
        let reason = self.workers.stop();
        for (ifindex, core, cells) in cells {
            *self.past.entry((ifindex, core)).or_default() += &cells.read();
        }
        reason
    }

    fn port(&mut self, port: &Port) -> Result<(), EngineError> {
        let known = self.ports.iter().position(|one| one.name == port.name);
        let attached = known.map(|at| self.ports[at].ifindex);
        if attached != Some(port.ifindex) {
            if let Some(old) = attached {
                self.forwarder.detach(old);
                self.ports.retain(|one| one.name != port.name);
            }
            if !port.enabled {
                return Ok(());
            }
            // Sockets are opened for the ports as they are now; until then all frames are the kernel's.
            self.retire();
            self.attach(&port.name)?;
            if let Some(at) = known {
                let last = self.ports.len() - 1;
                self.ports[at..=last].rotate_right(1);
            }
            self.start()?;
        }
        let Some(at) = self.ports.iter().position(|one| one.name == port.name) else {
            return Ok(());
        };
        if self.ports[at].settings.as_ref() == Some(port) {
            return Ok(());
        }
        self.ports[at].settings = Some(port.clone());
        let settings = self.settings(at)?;
        self.workers.set_port(&[settings]);
        self.forwarder
            .set_port(port.ifindex, &tables::port_settings(port))
            .map_err(|error| EngineError::new(format!("setting up port {}", port.name), error))
    }
}

/// What can go wrong while sockets are opened.
enum Trouble {
    /// With a socket.
    Port(PortError),
    /// With anything else.
    Engine(EngineError),
}

impl From<PortError> for Trouble {
    fn from(error: PortError) -> Self {
        Self::Port(error)
    }
}

impl From<EngineError> for Trouble {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

/// Opens a socket; a queue whose last socket was closed just now is taken for a moment.
fn open_socket(
    name: &str,
    queue: u32,
    pool: &mut Pool,
    memory: &mut Memory,
    options: Options,
) -> Result<XskPort, PortError> {
    let patience = Instant::now() + BUSY_WAIT;
    loop {
        match XskPort::open(name, queue, pool, memory, options) {
            Err(PortError::System { source, .. })
                if source.raw_os_error() == Some(libc::EBUSY) && Instant::now() < patience =>
            {
                thread::sleep(Duration::from_millis(5));
            }
            outcome => return outcome,
        }
    }
}

impl Drop for AfXdp {
    fn drop(&mut self) {
        for port in &self.ports {
            self.forwarder.detach(port.ifindex);
        }
        self.workers.stop();
    }
}

impl Engine for AfXdp {
    fn name(&self) -> &'static str {
        "af-xdp"
    }

    fn modes(&self) -> Vec<PortMode> {
        self.ports
            .iter()
            .map(|port| PortMode {
                port: port.name.clone(),
                mode: match (port.mode, port.zero_copy) {
                    (Mode::Native, true) => "native,zero-copy",
                    (Mode::Native, false) => "native,copy",
                    (Mode::Generic, true) => "generic,zero-copy",
                    (Mode::Generic, false) => "generic,copy",
                },
            })
            .collect()
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), EngineError> {
        let mut rest = changes;
        while let Some(first) = rest.first() {
            let done = match first {
                Change::Port(port) => self.port(port).map(|()| 1)?,
                _ => tables::apply(&mut self.forwarder, rest)?,
            };
            rest = &rest[done..];
        }
        self.forwarder.settle();
        Ok(())
    }

    fn check(&mut self) -> Result<(), EngineError> {
        let Some(core) = self.workers.ended() else {
            return Ok(());
        };
        let why = self.retire().unwrap_or_default();
        self.start()?;
        Err(EngineError::new(
            format!("the worker of core {core} ended"),
            format!("{why}; all workers have been started again"),
        ))
    }

    fn lookup_v4(&self, table: u32, address: u32) -> NextHop {
        self.forwarder.lookup_v4(table, address)
    }

    fn lookup_v6(&self, table: u32, address: u128) -> NextHop {
        self.forwarder.lookup_v6(table, address)
    }

    fn next_hop(&self, id: NextHop) -> NextHopEntry {
        self.forwarder.next_hop(id)
    }

    fn buckets(&self, id: NextHop) -> Vec<NextHop> {
        self.forwarder.buckets(id)
    }

    /// The program counts what stays in the kernel, on the core that received it; workers count the rest, on theirs. A frame
    /// is counted as received where its fate was decided, so the sums close, and those under way are not counted yet.
    fn counters(&self) -> Result<Counters, EngineError> {
        let mut counters = Counters::default();
        let mut ports: BTreeMap<(u32, u32), PortCount> = BTreeMap::new();
        let mut row = |ifindex, core, add: &dyn Fn(&mut PortCount)| {
            add(ports.entry((ifindex, core)).or_insert(PortCount {
                ifindex,
                core,
                ..PortCount::default()
            }));
        };
        for count in self.forwarder.port_counters() {
            let kept: u64 = count.reasons.iter().sum();
            row(count.ifindex, count.cpu, &|port| {
                port.received += kept;
                port.received_bytes += count.received_bytes.saturating_sub(count.forwarded_bytes);
            });
            counters.reasons.extend(tables::reasons(&count));
        }
        let mut worked = self.past.clone();
        for (ifindex, core, cells) in self.workers.counters() {
            *worked.entry((ifindex, core)).or_default() += &cells.read();
        }
        for (&(ifindex, core), count) in &worked {
            row(ifindex, core, &|port| {
                port.received += count.forwarded + count.not_forwarded() + count.missed;
                port.received_bytes += count.received_bytes;
                port.forwarded += count.forwarded;
                port.forwarded_bytes += count.forwarded_bytes;
            });
            let lost = Reason::ALL
                .iter()
                .map(|&reason| (reason.name(), count.of(reason)))
                .chain([("socket-full", count.missed)])
                .filter(|&(_, frames)| frames > 0);
            counters
                .reasons
                .extend(lost.map(|(reason, frames)| ReasonCount {
                    ifindex,
                    core,
                    reason,
                    // The kernel has given them away.
                    punted: false,
                    frames,
                }));
        }
        counters.ports = ports.into_values().collect();
        counters.next_hops.extend(tables::carried(&self.forwarder));
        Ok(counters)
    }

    fn memory(&self) -> u64 {
        self.forwarder.memory()
    }
}
