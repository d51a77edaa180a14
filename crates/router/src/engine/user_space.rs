//! Engines in user space: workers behind sockets, and a program in the kernel that says which
//! frames are theirs.
//!
//! ```text
//! frame -> program --(can be forwarded)--> worker -> socket of the egress port
//!              \--(anything else)--> kernel, under its reason
//! ```
//!
//! The program makes the decisions of the engine `xdp` by the same tables ([`fastpath::forward`]),
//! which the workers read too. So an exception never leaves the kernel, and no frame has to be put
//! back into it. The price is a second look-up for each frame. What kind of sockets there are, and
//! how the program hands frames over, is [`Sockets`].
//!
//! # Who owns what
//! The engine owns the program, the tables and the threads; each thread owns a [`Worker`] with its
//! sockets and its memory. Workers take the last of the allowed cores, because interrupts like the
//! first.
//!
//! # What happens when
//! - A route changes: the store that the program sees, the workers see.
//! - A port's settings change: first the workers act by them, then the program lets frames through.
//! - A port comes, goes or comes back: all sockets are opened anew. Meanwhile every frame is the
//!   kernel's. A port that cannot be set up is left out, and tried again
//!   ([`failed`](super::failed)).
//! - A worker ends, by an error or a panic: its share of the frames is the kernel's from that
//!   moment, because the kernel closes its sockets; [`Engine::check`] notices, and starts all
//!   again, at once or, when it happens over and over, after a pause that grows to a minute, during
//!   which every frame is the kernel's ([`recovery`](super::recovery)).
//! - The engine is dropped: the program lets nothing through any more, what waits in the rings is
//!   sent on, and then the program goes. When the process is killed, the kernel removes program and
//!   sockets; frames in the rings are lost.
//!
//! # What it cannot do
//! A route withdrawn while frames for it wait in a ring costs these frames (`no-route`, dropped).

mod counts;
mod ports;

use std::sync::Arc;
use std::time::Instant;

use bpf::attach::{Attachment, Mode, Request};
use fastpath::forward::{Capacity, Forwarder, PortCounts};
use fib::organisation::TableReader;
use host::{CoreId, allowed_cores};
use port::{Pool, PortError};

use super::failed::Failed;
use super::recovery::Recovery;
use super::workers::Workers;
use super::{Answers, Change, Counters, Engine, EngineError, Port, PortMode, tables};
use crate::user_plane::Worker;

/// What can go wrong while sockets are opened.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// With a socket.
    #[error(transparent)]
    Port(#[from] PortError),
    /// With anything else.
    #[error(transparent)]
    Engine(#[from] EngineError),
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
    /// Whether the workers' own calls do the driver's receiving.
    pub busy_poll: bool,
    /// Whether workers have sockets on it: not while it is down.
    open: bool,
    /// As last told.
    told: Option<Port>,
}

impl Attached {
    fn of(name: &str, attached: fastpath::Result<&Attachment>) -> Result<Self, EngineError> {
        let attached = attached
            .map_err(|error| EngineError::new(format!("attaching to port {name}"), error))?;
        Ok(Self {
            name: name.to_owned(),
            ifindex: attached.ifindex(),
            mode: attached.mode(),
            zero_copy: false,
            busy_poll: false,
            open: false,
            told: None,
        })
    }
}

/// The memory of one worker and its end of each port, in the order of the ports; none for a port
/// that is down.
pub type Opened = (Pool, Vec<Option<Box<dyn port::Port>>>);

/// A kind of sockets.
pub trait Sockets: Send {
    /// The engine's name.
    const NAME: &'static str;
    /// Programs of ours at tc on each port.
    const AT_TC: u32;

    /// The program and the tables, with so much room, for so many workers.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn forwarder(&self, capacity: Capacity, workers: usize) -> fastpath::Result<Forwarder>;

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
pub struct UserSpace<S: Sockets> {
    sockets: S,
    forwarder: Forwarder,
    ports: Vec<Attached>,
    cores: Vec<CoreId>,
    workers: Workers,
    recovery: Recovery,
    failed: Failed,
    /// What workers that have been stopped had counted, by interface index and core.
    past: PortCounts,
}

impl<S: Sockets> UserSpace<S> {
    /// Attaches to the named ports in the calling thread's network namespace, to `all` or to those
    /// that it can, and starts the workers. They forward nothing until told to.
    ///
    /// # Errors
    /// What stands in the way and what to do: another XDP program, a queue that another program
    /// holds, no native mode or no zero copy although required, missing rights.
    pub fn open(
        ports: &[String],
        sockets: S,
        all: bool,
        capacity: Capacity,
    ) -> Result<Self, EngineError> {
        let failed = |error| EngineError::new("starting the engine", error);
        let cores = allowed_cores().map_err(|error| EngineError::new("asking for cores", error))?;
        let mut engine = Self {
            forwarder: sockets.forwarder(capacity, cores.len()).map_err(failed)?,
            sockets,
            ports: Vec::with_capacity(ports.len()),
            cores,
            workers: Workers::default(),
            recovery: Recovery::default(),
            failed: Failed::default(),
            past: PortCounts::new(),
        };
        let mut failed = Failed::default();
        let request = engine.sockets.request();
        failed.start(ports, all, |name, ifindex| {
            let attached = engine.forwarder.attach_at(name, ifindex, request);
            engine.ports.push(Attached::of(name, attached)?);
            Ok(())
        })?;
        engine.failed = failed;
        match engine.start() {
            Err(error) if all || engine.ports.len() == 1 => return Err(error),
            Err(_) => engine.start_one_by_one()?,
            Ok(()) => {}
        }
        Ok(engine)
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
            if let Some(told) = self.ports[at].told.clone() {
                self.let_through(&told)?;
            }
        }
        self.recovery.started();
        Ok(())
    }

    /// Starts the workers after one has ended. What cannot be started rests, and is tried again
    /// later.
    fn start_again(&mut self, now: Instant) -> Result<(), EngineError> {
        self.start().map_err(|error| {
            self.retire();
            let pause = self.recovery.ended(now).as_secs();
            let doing = "starting the workers again";
            EngineError::new(doing, format!("{error}; {}", left_to_kernel(pause)))
        })
    }

    fn open_all(&mut self) -> Result<(), Trouble> {
        if self.ports.is_empty() {
            return Ok(());
        }
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
            let (number, settings) = self.settings(at)?;
            let cells = worker
                .attach(port, number, settings)
                .map_err(|error| doing(&error))?;
            counters.push((self.ports[at].ifindex, cells));
        }
        Ok(self.workers.start(worker, core, counters)?)
    }

    /// Gives all frames to the kernel, stops all workers and keeps their counts; the first reason
    /// for which one had ended by itself.
    fn retire(&mut self) -> Option<String> {
        for at in 0..self.ports.len() {
            if let Some(mut told) = self.ports[at].told.clone() {
                told.settings.enabled = false;
                // A port that is gone lets nothing through either.
                let _gone = self.let_through(&told);
            }
            self.ports[at].open = false;
        }
        // What the program has let through is in the rings, which the workers empty; without that wait
        // some would come to nobody.
        let _kernel_refused = self.forwarder.wait_for_readers();
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
}

/// What is said when the workers rest.
fn left_to_kernel(seconds: u64) -> String {
    format!(
        "all frames are the kernel's for {seconds} s, then the workers are started again; \
         --engine xdp needs no workers"
    )
}

impl<S: Sockets> Drop for UserSpace<S> {
    fn drop(&mut self) {
        let _reason = self.retire();
        for port in &self.ports {
            self.forwarder.detach(port.ifindex);
        }
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
        let (port, gone) = (Self::port, Self::forget);
        tables::apply_all(self, changes, |this| &mut this.forwarder, port, gone)
    }

    fn programs_at_tc(&self, _ifindex: u32) -> u32 {
        S::AT_TC
    }

    fn forwarder(&self) -> Option<&Forwarder> {
        Some(&self.forwarder)
    }

    fn forwarder_mut(&mut self) -> Option<&mut Forwarder> {
        Some(&mut self.forwarder)
    }

    fn check(&mut self) -> Result<(), EngineError> {
        let _in_the_next_turn = self.forwarder.tend();
        let now = Instant::now();
        for port in self.failed.due(now) {
            self.port(&port);
        }
        if self.recovery.is_due(now) {
            return self.start_again(now);
        }
        let Some(core) = self.workers.ended() else {
            return self.failed.next_unsaid();
        };
        let why = self.retire().unwrap_or_default();
        let pause = self.recovery.ended(now);
        let outcome = if pause.is_zero() {
            self.start_again(now)?;
            "all workers have been started again; if this goes on, --engine xdp needs no workers"
                .to_owned()
        } else {
            left_to_kernel(pause.as_secs())
        };
        let doing = format!("the worker of core {core} ended");
        Err(EngineError::new(doing, format!("{why}; {outcome}")))
    }

    fn failed_ports(&self) -> Vec<(String, String)> {
        self.failed.list()
    }

    fn resting(&self) -> Option<String> {
        self.recovery.is_resting().then(|| {
            let ends = self.recovery.ends();
            format!(
                "all ports: the workers of engine {} have ended {ends} times and rest before they \
                 are started again",
                S::NAME
            )
        })
    }

    fn answers(&self) -> &dyn Answers {
        &self.forwarder
    }

    fn counters(&self) -> Result<Counters, EngineError> {
        Ok(counts::add_up(&self.forwarder, &self.workers, &self.past))
    }
}
