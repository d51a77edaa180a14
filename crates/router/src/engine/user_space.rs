//! Engines in user space: workers behind sockets, and a program in the kernel that says which frames are theirs.
//!
//! ```text
//! frame -> program --(can be forwarded)--> worker -> socket of the egress port
//!              \--(anything else)--> kernel, under its reason
//! ```
//!
//! The program makes the decisions of the engine `xdp` by the same tables ([`fastpath::forward`]), which the workers read
//! too. So an exception never leaves the kernel, and no frame has to be put back into it. The price is a second look-up
//! for each frame. What kind of sockets there are, and how the program hands frames over, is [`Sockets`].
//!
//! # Who owns what
//! The engine owns the program, the tables and the threads; each thread owns a [`Worker`] with its sockets and its memory.
//! Workers take the last of the allowed cores, because interrupts like the first.
//!
//! # What happens when
//! - A route changes: the store that the program sees, the workers see.
//! - A port's settings change: first the workers act by them, then the program lets frames through.
//! - A port comes, goes or comes back: all sockets are opened anew. Meanwhile every frame is the kernel's.
//! - A worker ends: [`Engine::check`] starts all again.
//! - The engine is dropped: the program goes first, what waits in the rings is sent on. When the process is killed, the kernel
//!   removes program and sockets; frames in the rings are lost.
//!
//! # What it cannot do
//! A route withdrawn while frames for it wait in a ring costs these frames (`no-route`, dropped).

use std::collections::BTreeMap;
use std::sync::Arc;

use fastpath::attach::{Mode, Request};
use fastpath::forward::{Forwarder, TableReader};
use fib::{NextHop, NextHopEntry};
use host::{CoreId, allowed_cores};
use port::{Pool, PortError};
use wire::ethernet::MacAddress;

use super::workers::Workers;
use super::{
    Change, Counters, Engine, EngineError, Port, PortCount, PortMode, ReasonCount, tables,
};
use crate::user_plane::{self, PortSettings, Reason, VlanSettings, Worker};

/// What can go wrong while sockets are opened.
#[derive(Debug)]
pub enum Trouble {
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

impl From<Trouble> for EngineError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Port(error) => Self::new("opening sockets", error),
            Trouble::Engine(error) => error,
        }
    }
}

/// A port that the program is attached to.
#[derive(Debug)]
pub struct Attached {
    /// Its name.
    pub name: String,
    /// Interface index.
    pub ifindex: u32,
    /// Where the program runs.
    pub mode: Mode,
    /// Whether the driver works on the workers' memory.
    pub zero_copy: bool,
    /// Whether workers have sockets on it: not while it is down.
    open: bool,
    /// As last told.
    settings: Option<Port>,
}

/// The memory of one worker and its end of each port, in the order of the ports; none for a port that is down.
pub type Opened = (Pool, Vec<Option<Box<dyn port::Port>>>);

/// A kind of sockets.
pub trait Sockets: Send {
    /// The engine's name.
    const NAME: &'static str;
    /// Programs of ours at tc on each port.
    const AT_TC: u32;

    /// The program and the tables, for so many workers.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn forwarder(&self, workers: usize) -> fastpath::Result<Forwarder>;

    /// How the program is to be attached.
    fn request(&self) -> Request;

    /// How many workers are of use with these ports, at most `cores`.
    ///
    /// # Errors
    /// When a port cannot be asked.
    fn workers(&self, ports: &[Attached], cores: usize) -> Result<usize, Trouble>;

    /// Opens the ports of worker `place` of `of`.
    ///
    /// # Errors
    /// When a socket cannot be opened for another reason than that its port is down.
    fn open(
        &self,
        forwarder: &Forwarder,
        ports: &mut [Attached],
        place: usize,
        of: usize,
    ) -> Result<Opened, Trouble>;

    /// Opening has failed: is there another way to try?
    fn give_way(&mut self) -> bool {
        false
    }

    /// How a port is attached, for people.
    fn mode(port: &Attached) -> &'static str;
}

/// Is this a port that is down or gone?
pub(super) fn is_down(error: &PortError) -> bool {
    match error {
        PortError::Gone { .. } => true,
        PortError::System { source, .. } => matches!(
            source.raw_os_error(),
            Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV)
        ),
        _ => false,
    }
}

/// Workers behind sockets, as long as it lives.
#[derive(Debug)]
pub struct UserSpace<S> {
    sockets: S,
    forwarder: Forwarder,
    ports: Vec<Attached>,
    cores: Vec<CoreId>,
    workers: Workers,
    /// What workers that have been stopped had counted, by interface index and core.
    past: BTreeMap<(u32, u32), user_plane::PortCount>,
}

impl<S: Sockets> UserSpace<S> {
    /// Attaches to the named ports in the calling thread's network namespace and starts the workers. They forward nothing until told to.
    ///
    /// # Errors
    /// What stands in the way and what to do: another XDP program, a queue that another program holds, no native mode or no
    /// zero copy although required, missing rights.
    pub fn open(ports: &[String], sockets: S) -> Result<Self, EngineError> {
        let failed = |error| EngineError::new("starting the engine", error);
        let cores = allowed_cores().map_err(|error| EngineError::new("asking for cores", error))?;
        let mut engine = Self {
            forwarder: sockets.forwarder(cores.len()).map_err(failed)?,
            sockets,
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
            .attach(name, self.sockets.request())
            .map_err(|error| EngineError::new(format!("attaching to port {name}"), error))?;
        self.ports.push(Attached {
            name: name.to_owned(),
            ifindex: attachment.ifindex(),
            mode: attachment.mode(),
            zero_copy: false,
            open: false,
            settings: None,
        });
        Ok(())
    }

    /// Opens all sockets, starts all workers, and lets frames through.
    fn start(&mut self) -> Result<(), EngineError> {
        loop {
            match self.open_all() {
                Ok(()) => break,
                Err(Trouble::Port(_)) if self.sockets.give_way() => {
                    self.retire();
                }
                Err(trouble) => return Err(trouble.into()),
            }
        }
        for at in 0..self.ports.len() {
            if let Some(told) = self.ports[at].settings.clone() {
                self.let_through(&told)?;
            }
        }
        Ok(())
    }

    fn open_all(&mut self) -> Result<(), Trouble> {
        let cores = self.cores.len();
        let workers = self.sockets.workers(&self.ports, cores)?.min(cores);
        for place in 0..workers {
            self.open_one(place, workers, self.cores[cores - workers + place])?;
        }
        Ok(())
    }

    /// Opens the ports of worker `place` of `workers` and starts it.
    fn open_one(&mut self, place: usize, workers: usize, core: CoreId) -> Result<(), Trouble> {
        let ports = &mut self.ports;
        let (pool, opened) = self.sockets.open(&self.forwarder, ports, place, workers)?;
        let doing = |error: &dyn std::fmt::Display| EngineError::new("starting a worker", error);
        let readers = self.forwarder.readers().map_err(|error| doing(&error))?;
        let mut worker: Worker<TableReader> = Worker::new(readers, pool);
        let mut counters = Vec::with_capacity(opened.len());
        for (at, port) in opened.into_iter().enumerate() {
            self.ports[at].open = port.is_some();
            let Some(port) = port else { continue };
            let settings = self.settings(at)?;
            let cells = worker
                .attach(port, settings)
                .map_err(|error| doing(&error))?;
            counters.push((self.ports[at].ifindex, cells));
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

    /// Has the program let the port's frames through to the workers, as far as its settings say.
    fn let_through(&mut self, port: &Port) -> Result<(), EngineError> {
        self.forwarder
            .set_port(port.ifindex, &tables::port_settings(port))
            .map_err(|error| EngineError::new(format!("setting up port {}", port.name), error))
    }

    /// Gives all frames to the kernel, stops all workers and keeps their counts; the first reason for which one had ended by itself.
    fn retire(&mut self) -> Option<String> {
        for at in 0..self.ports.len() {
            if let Some(mut told) = self.ports[at].settings.clone() {
                told.enabled = false;
                // A port that is gone lets nothing through either.
                let _gone = self.let_through(&told);
            }
            self.ports[at].open = false;
        }
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
        if port.enabled && !self.ports[at].open {
            // It was down when sockets were opened.
            self.retire();
            return self.start();
        }
        let settings = self.settings(at)?;
        self.workers.set_port(&[settings]);
        self.let_through(port)
    }
}

impl<S> Drop for UserSpace<S> {
    fn drop(&mut self) {
        for port in &self.ports {
            self.forwarder.detach(port.ifindex);
        }
        self.workers.stop();
    }
}

impl<S: Sockets> Engine for UserSpace<S> {
    fn name(&self) -> &'static str {
        S::NAME
    }

    fn modes(&self) -> Vec<PortMode> {
        self.ports
            .iter()
            .map(|port| PortMode {
                port: port.name.clone(),
                mode: S::mode(port),
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

    fn programs_at_tc(&self) -> u32 {
        S::AT_TC
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
    /// is counted as received where its fate was decided, so the sums close, and those under way are not counted yet. The bytes
    /// of frames that workers lost are not counted.
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
            let lost: Vec<_> = Reason::ALL
                .iter()
                .map(|&reason| (reason.name(), count.of(reason)))
                .chain([("socket-full", count.missed)])
                .filter(|&(_, frames)| frames > 0)
                .collect();
            let dropped: u64 = lost.iter().map(|(_, frames)| frames).sum();
            row(ifindex, core, &|port| {
                port.received += count.forwarded + dropped;
                port.received_bytes += count.forwarded_bytes;
                port.forwarded += count.forwarded;
                port.forwarded_bytes += count.forwarded_bytes;
            });
            counters
                .reasons
                .extend(lost.into_iter().map(|(reason, frames)| ReasonCount {
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
