//! The engine `af-xdp`: workers behind `AF_XDP` sockets, one for each core and queue.
//!
//! The XDP program redirects what can be forwarded to the socket of its queue. Worker *w* of *n*
//! serves queues *w*, *w + n*, ... of every port; there are as many workers as the port with the
//! fewest queues has queues. A worker that ends takes its sockets with it, and its queues are the
//! kernel's (`no-worker`).
//!
//! A port whose driver does not work on the workers' memory would cost the kernel a buffer for each
//! frame that leaves. There a burst of 24 frames or more leaves by one run of a program
//! ([`fastpath::forward::Sender`]), and the socket has what that does not take. When the device took
//! nothing, the next bursts are the socket's, and then it is tried again.
//!
//! # What it cannot do
//! - Before Linux 6.3, and without the kernel's description of itself, all frames leave by the socket.
//! - Frames longer than a buffer are the kernel's (`too-big`); with [`SocketOptions::long_frames`] and
//!   Linux 6.6, those longer than [`LONGEST`] bytes.
//! - So are partial checksums (`partial-checksum`).

use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use bpf::attach::{Mode, Request};
use fastpath::forward::{Capacity, Desk, Forwarder, Sender, Way};
use host::card::receive_queues;
use port::xsk::{
    Copying, Detour, HEADROOM, Handed, Memory, Options, Sent, XskInterface, XskPort, can_scatter,
};
use port::{Pool, PortError};

use super::user_space::{
    Attached, Opened, OpenedPort, Received, Sockets, Trouble, Wanted, is_down,
};
use super::{EngineError, SocketOptions};
use crate::log::{Level, log};

/// Bytes of a buffer, the kernel's room in front included; twice as many where frames may have several.
const BUFFER: u16 = 2048;
/// The longest frame in one buffer, in bytes without FCS.
const LONGEST_IN_ONE: u16 = BUFFER - HEADROOM;
/// The longest frame in several, four of them, in bytes without FCS: those of cards are shorter.
const LONGEST: u16 = 14_336;
/// How long a queue may stay taken after its socket was closed.
const BUSY_WAIT: Duration = Duration::from_secs(2);

/// What is said where sockets take no frames of several buffers.
const BEFORE_6_6: &str = "longer frames are the kernel's: sockets take them since Linux 6.6";

/// How program and sockets must be attached.
#[derive(Debug, Default)]
pub(super) struct XskSockets {
    request: Request,
    required: Copying,
    options: SocketOptions,
    /// Workers carry frames of several buffers.
    scattered: bool,
    /// Drivers that cannot all work on our memory get copies.
    copy: bool,
}

impl XskSockets {
    /// The program attached as requested, and the bytes moved as required.
    pub(super) fn new(request: Request, required: Copying, options: SocketOptions) -> Self {
        Self {
            request,
            required,
            options,
            scattered: options.long_frames && can_scatter(),
            copy: required == Copying::Always,
        }
    }

    fn copying(&self) -> Copying {
        if self.copy {
            Copying::Always
        } else {
            self.required
        }
    }
}

impl Sockets for XskSockets {
    const NAME: &'static str = "af-xdp";
    const AT_TC: u32 = 0;
    const FILTERED: bool = false;
    const HANDED_OVER: bool = true;

    fn forwarder(&self, capacity: Capacity, workers: usize) -> fastpath::Result<Forwarder> {
        let longest = if self.scattered {
            LONGEST
        } else {
            LONGEST_IN_ONE
        };
        if self.options.long_frames && !self.scattered {
            log!(
                Level::Info,
                "long-frames",
                engine = Self::NAME,
                longest,
                result = BEFORE_6_6
            );
        }
        Forwarder::for_workers(capacity, workers, longest, self.scattered)
    }

    fn request(&self) -> Request {
        self.request
    }

    fn workers(&self, ports: &[Wanted], _cores: usize) -> Result<usize, Trouble> {
        let counts = ports.iter().map(|port| queues(&port.name));
        let counts = counts.collect::<Result<Vec<_>, _>>()?;
        Ok(counts.into_iter().min().unwrap_or(0) as usize)
    }

    fn open(&self, ports: &[Wanted], place: usize, of: usize) -> Result<Opened, Trouble> {
        let options = self.socket_options();
        let mut ours = Vec::with_capacity(ports.len());
        for port in ports {
            let served: Vec<u32> = (place as u32..queues(&port.name)?).step_by(of).collect();
            ours.push(served);
        }
        let sockets = ours.iter().map(|served| served.len() as u32).sum();
        let mut pool = Pool::shared(options.layout(sockets))?;
        let mut memory = Memory::default();
        let mut opened = Vec::with_capacity(ports.len());
        let desk = desk(ports);
        for (port, served) in ports.iter().zip(ours) {
            let sockets: Result<Vec<_>, _> = served
                .iter()
                .map(|&queue| open_one(&port.name, queue, &mut pool, &mut memory, options))
                .collect();
            let sockets = match sockets {
                Err(error) if is_down(&error) => {
                    opened.push(None);
                    continue;
                }
                Err(error) => return Err(self.explain(error)),
                Ok(sockets) => sockets,
            };
            let sockets = served.into_iter().zip(sockets);
            opened.push(Some(together(port, sockets, desk.as_ref())?));
        }
        Ok((pool, opened))
    }

    fn receive(&self, ports: &[Wanted], worker: Received) -> Result<Opened, Trouble> {
        let wanted = self.socket_options().layout(1).stride;
        if worker.layout.stride != wanted {
            return Err(differs("long-frames").into());
        }
        let pool = Pool::received(worker.layout, worker.memory)?;
        let mut opened = Vec::with_capacity(worker.ports.len());
        let desk = desk(ports);
        for (port, (name, sockets)) in ports.iter().zip(worker.ports) {
            if sockets.is_empty() {
                opened.push(None);
                continue;
            }
            let sockets = self.received(&name, sockets)?.into_iter();
            let port = together(port, sockets, desk.as_ref())?;
            if self.required == Copying::Never && !port.zero_copy {
                return Err(differs("require").into());
            }
            opened.push(Some(port));
        }
        Ok((pool, opened))
    }

    fn give_way(&mut self) -> bool {
        let another = self.required == Copying::Any && !self.copy;
        self.copy = true;
        another
    }

    fn mode(port: &Attached) -> &'static str {
        match (port.mode, port.zero_copy, port.busy_poll) {
            (Mode::Native, true, false) => "native,zero-copy",
            (Mode::Native, true, true) => "native,zero-copy,busy-poll",
            (Mode::Native, false, false) => "native,copy",
            (Mode::Native, false, true) => "native,copy,busy-poll",
            (_, true, false) => "generic,zero-copy",
            (_, true, true) => "generic,zero-copy,busy-poll",
            (_, false, false) => "generic,copy",
            (_, false, true) => "generic,copy,busy-poll",
        }
    }
}

impl XskSockets {
    fn socket_options(&self) -> Options {
        Options {
            copying: self.copying(),
            busy_poll: self.options.busy_poll,
            scattered: self.scattered,
            ..Options::default()
        }
    }

    /// The queues of a port that another process has opened.
    fn received(&self, name: &str, handed: Vec<Handed>) -> Result<Vec<(u32, XskPort)>, Trouble> {
        let mut sockets = Vec::with_capacity(handed.len());
        for one in handed {
            if one.busy_poll != self.options.busy_poll {
                return Err(differs("busy-poll").into());
            }
            sockets.push((one.queue, XskPort::received(name, one)?));
        }
        Ok(sockets)
    }

    fn explain(&self, error: PortError) -> Trouble {
        if self.required != Copying::Never {
            return Trouble::Port(error);
        }
        let remedy = "zero copy was required: drop the requirement to let the kernel copy";
        EngineError::new("opening sockets", format!("{error}; {remedy}")).into()
    }
}

/// Sends bursts by runs of a program.
#[derive(Debug)]
struct Runs(Sender);

impl Detour for Runs {
    fn send(&mut self, frames: &mut dyn Iterator<Item = &[u8]>) -> Sent {
        let sent = self.0.send(frames);
        Sent {
            given: sent.given,
            refused: sent.refused,
        }
    }
}

/// What one worker lays its bursts on.
fn desk(ports: &[Wanted]) -> Option<Desk> {
    let mut ways = ports.iter().filter_map(|port| port.way.as_ref());
    ways.find_map(Way::desk)
}

/// The queues of a port as one, and a descriptor of each.
fn together(
    wanted: &Wanted,
    sockets: impl Iterator<Item = (u32, XskPort)>,
    desk: Option<&Desk>,
) -> Result<OpenedPort, Trouble> {
    let (mut queues, mut ports) = (Vec::new(), Vec::new());
    for (queue, socket) in sockets {
        let copy = socket.as_fd().try_clone_to_owned();
        queues.push((queue, copy.map_err(|error| doing(&error))?));
        ports.push(socket);
    }
    let mut interface = XskInterface::new(&wanted.name, ports)?;
    let zero_copy = interface.is_zero_copy();
    if let (Some(way), Some(desk), false) = (&wanted.way, desk, zero_copy) {
        interface = interface.with_detour(Runs(way.sender(desk)));
    }
    Ok(OpenedPort {
        queues,
        zero_copy,
        busy_poll: interface.is_busy_polling()?,
        port: Box::new(interface),
    })
}

fn differs(option: &str) -> EngineError {
    let why = format!("the running router has another {option}; give the same, or restart it");
    EngineError::new("taking sockets over", why)
}

fn doing(error: &dyn std::fmt::Display) -> EngineError {
    EngineError::new("opening sockets", error)
}

fn queues(port: &str) -> Result<u32, EngineError> {
    receive_queues(port)
        .map_err(|error| EngineError::new(format!("counting the queues of port {port}"), error))
}

/// Opens a socket; a queue whose last socket was closed just now is taken for a moment.
fn open_one(
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
