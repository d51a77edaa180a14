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
//! - A port comes, goes or comes back: a thread ([`opener`]) opens all sockets anew. Meanwhile every
//!   frame is the kernel's, and routes are followed. A port that cannot be set up is left out, and
//!   tried again ([`failed`](super::failed)).
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
//!
//! [`Worker`]: crate::user_plane::Worker

mod counts;
mod hand_over;
mod opener;
mod ports;
mod restart;

use std::os::fd::OwnedFd;
use std::time::Instant;

use bpf::attach::{Attachment, Mode, Request};
use fastpath::forward::{Capacity, Forwarder, PortCounts};
use host::{CoreId, allowed_cores};
use opener::Opener;
use port::{Pool, PortError};

use super::failed::Failed;
use super::hand_over::HandOver;
use super::recovery::Recovery;
use super::workers::{Cells, Workers};
use super::{Answers, Change, Counters, Engine, EngineError, Port, PortMode, tables};

pub use hand_over::Received;
pub use opener::Wanted;

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

/// A port of one worker.
pub struct OpenedPort {
    /// The worker's end of it.
    pub port: Box<dyn port::Port>,
    /// The receive queues whose frames it gets, each with its socket; none where the kernel knows by
    /// itself.
    pub queues: Vec<(u32, OwnedFd)>,
    /// Whether the driver works on the worker's memory.
    pub zero_copy: bool,
    /// Whether the worker's own calls do the driver's receiving.
    pub busy_poll: bool,
}

/// The memory of one worker and its end of each port, in the order of the ports; none for a port
/// that is down.
pub type Opened = (Pool, Vec<Option<OpenedPort>>);

/// A kind of sockets.
pub trait Sockets: Send {
    /// The engine's name.
    const NAME: &'static str;
    /// Programs of ours at tc on each port.
    const AT_TC: u32;
    /// Whether sockets get what the port's filter lets through ([`Wanted::filter`]).
    const FILTERED: bool;
    /// Whether they can go from one process to another.
    const HANDED_OVER: bool = false;

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
    fn workers(&self, ports: &[Wanted], cores: usize) -> Result<usize, Trouble>;

    /// Opens the ports of worker `place` of `of`.
    ///
    /// # Errors
    /// When a socket cannot be opened for another reason than that its port is down.
    fn open(&self, ports: &[Wanted], place: usize, of: usize) -> Result<Opened, Trouble>;

    /// The ports of a worker of another process, in the order of `ports`.
    ///
    /// # Errors
    /// When they do not fit: what to do.
    fn receive(&self, _ports: &[Wanted], worker: Received) -> Result<Opened, Trouble> {
        let port = worker.ports.first().map_or("", |(name, _)| name);
        let why = format!("port {port}: engine {} cannot take it over", Self::NAME);
        Err(EngineError::new("taking sockets over", why).into())
    }

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
    forwarder: Forwarder,
    request: Request,
    kind: std::marker::PhantomData<S>,
    ports: Vec<Attached>,
    cores: Vec<CoreId>,
    workers: Workers,
    opener: Opener,
    /// What the thread that opens sockets is at, if anything.
    opening: Option<restart::Opening>,
    recovery: Recovery,
    failed: Failed,
    /// What workers count that are being stopped.
    leaving: Vec<Cells>,
    /// What workers that have been stopped had counted, by interface index and core.
    past: PortCounts,
    /// Another process knows the sockets as they are.
    is_described: bool,
    /// Workers in the place of another process's, which have not begun.
    received: Vec<restart::Ready>,
}

impl<S: Sockets + 'static> UserSpace<S> {
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
        let mut engine = Self::empty(sockets, capacity)?;
        let mut failed = Failed::default();
        failed.start(ports, all, |name, ifindex| {
            let request = engine.request;
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

    /// Without ports.
    fn empty(sockets: S, capacity: Capacity) -> Result<Self, EngineError> {
        let failed = |error| EngineError::new("starting the engine", error);
        let cores = allowed_cores().map_err(|error| EngineError::new("asking for cores", error))?;
        Ok(Self {
            forwarder: sockets.forwarder(capacity, cores.len()).map_err(failed)?,
            request: sockets.request(),
            kind: std::marker::PhantomData,
            ports: Vec::new(),
            cores,
            workers: Workers::default(),
            opener: Opener::start(sockets)?,
            opening: None,
            recovery: Recovery::default(),
            failed: Failed::default(),
            leaving: Vec::new(),
            past: PortCounts::new(),
            is_described: false,
            received: Vec::new(),
        })
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
        self.hold_back();
        self.workers.stop();
        for port in &self.ports {
            self.forwarder.detach(port.ifindex);
        }
    }
}

impl<S: Sockets + 'static> Engine for UserSpace<S> {
    fn name(&self) -> &'static str {
        S::NAME
    }

    fn modes(&self) -> Vec<PortMode> {
        // One whose sockets are opened for the first time is coming.
        let comes = self.joining();
        self.ports
            .iter()
            .filter(|port| Some(port.ifindex) != comes)
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

    fn hand_over(&mut self) -> Option<&mut dyn HandOver> {
        S::HANDED_OVER.then_some(self)
    }

    fn check(&mut self) -> Result<(), EngineError> {
        let _in_the_next_turn = self.forwarder.tend();
        let now = Instant::now();
        if let Some(outcome) = self.opener.outcome() {
            self.opened(outcome);
        }
        for port in self.failed.due(now) {
            self.port(&port);
        }
        if self.opening.is_none() && self.recovery.is_due(now) {
            self.restart();
        }
        let Some((core, why)) = self.workers.take_ended() else {
            return self.failed.next_unsaid();
        };
        let pause = self.recovery.ended(now);
        let outcome = if pause.is_zero() {
            self.restart();
            "all workers are started again; if this goes on, --engine xdp needs no workers"
                .to_owned()
        } else {
            self.rest();
            left_to_kernel(pause.as_secs())
        };
        let doing = format!("the worker of core {core} ended");
        Err(EngineError::new(doing, format!("{why}; {outcome}")))
    }

    fn failed_ports(&self) -> Vec<(String, String)> {
        self.failed.list()
    }

    fn resting(&self) -> Option<String> {
        let rests = self.recovery.is_resting() && !self.recovery.is_due(Instant::now());
        rests.then(|| {
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
        Ok(counts::add_up(
            &self.forwarder,
            self.workers.counters().chain(self.leaving.iter().cloned()),
            &self.past,
        ))
    }
}
