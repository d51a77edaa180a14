//! Workers go from one process to another, with their sockets, rings and memory.
//!
//! ```text
//!  old process                                  new process
//!  describe                              ->     receive: maps rings and memory, makes workers,
//!                                               which do nothing yet
//!  hold: workers stop between two bursts ->     take_up: where the rings are, and what is free
//!  let_go, or go_on                      ->     begin, or it ends
//! ```
//!
//! At each moment one process uses the rings: the old one until it has let go. What arrives in
//! between waits in them. The new one has touched nothing before, so that its death costs nothing.
//!
//! # What it cannot do
//! - A port that the new process does not want, another number of workers, other buffers: it takes
//!   all as it is, or nothing.
//! - Linux before 6.4 lets nobody map the rings of a socket that is bound.

use std::os::fd::OwnedFd;

use fastpath::forward::PortCounts;
use serde::{Deserialize, Serialize};

use super::EngineError;

/// Which [`Worker`]s are understood. It goes up when what they say is not enough any more.
pub const FORM: u32 = 1;

/// A worker, as the other process must know it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Worker {
    /// Buffers of its memory.
    pub buffers: u32,
    /// Bytes from one to the next.
    pub stride: u32,
    /// Bytes in front of a frame.
    pub headroom: u16,
    /// What it has of each port.
    pub ports: Vec<Port>,
}

/// The sockets of a port.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Port {
    /// Interface index.
    pub ifindex: u32,
    /// One for each queue.
    pub sockets: Vec<Socket>,
}

/// A socket.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Socket {
    /// Receive queue.
    pub queue: u32,
    /// Elements of each ring.
    pub ring: u32,
    /// It takes frames of several buffers.
    pub scattered: bool,
    /// The worker does the driver's receiving.
    pub busy_poll: bool,
}

/// Workers, and the descriptors of each: its memory, then its sockets in their order.
#[derive(Debug)]
pub struct Handed {
    /// One by one.
    pub workers: Vec<Worker>,
    /// Of all of them.
    pub descriptors: Vec<OwnedFd>,
}

/// An engine whose workers can go from one process to another.
pub trait HandOver {
    /// What another process needs to work in their place. They go on.
    ///
    /// # Errors
    /// When they cannot be handed over, or not just now.
    fn describe(&mut self) -> Result<Handed, EngineError>;

    /// They stop between two bursts; what they have counted, less what the next owner of a socket
    /// reads from it.
    ///
    /// # Errors
    /// When sockets have been opened since they were described, and when a worker does not answer.
    fn hold(&mut self) -> Result<PortCounts, EngineError>;

    /// Those that are held go on.
    fn go_on(&mut self);

    /// Those that are held end, and their rings are another's.
    fn let_go(&mut self);

    /// Makes workers in the place of another process's. They do not begin.
    ///
    /// # Errors
    /// When they do not fit: what to do.
    fn receive(&mut self, handed: Handed) -> Result<(), EngineError>;

    /// They know where to begin. The others are held.
    ///
    /// # Errors
    /// When what the others have left is no list of free buffers.
    fn take_up(&mut self) -> Result<(), EngineError>;

    /// They begin, and count on.
    ///
    /// # Errors
    /// When one cannot be started.
    fn begin(&mut self, counted: PortCounts) -> Result<(), EngineError>;
}
