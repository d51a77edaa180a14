//! A port goes from one process to another, with all that waits in its rings.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::socket::Socket;
use super::{Unfinished, XskPort};
use crate::PortError;

/// A port on its way.
#[derive(Debug)]
pub struct Handed {
    /// A copy of its socket.
    pub socket: OwnedFd,
    /// The queue that it is bound to.
    pub queue: u32,
    /// Elements of each ring.
    pub ring: u32,
    /// Whether it takes and sends frames of several buffers.
    pub scattered: bool,
    /// Whether its owner's calls do the driver's receiving.
    pub busy_poll: bool,
}

impl XskPort {
    /// What another process needs to go on with it.
    pub(super) fn hand_over(&self) -> io::Result<Handed> {
        if self.unfinished.is_some() {
            let what = "a frame of several buffers is not complete; try again";
            return Err(io::Error::other(what));
        }
        Ok(Handed {
            socket: self.socket.copy()?,
            queue: self.queue,
            ring: self.rings.fill.size(),
            scattered: self.scattered,
            busy_poll: self.busy_poll,
        })
    }

    /// A port of `interface` that another process has opened. It must be told when it is this one's
    /// ([`Port::go_on`](crate::Port::go_on)).
    ///
    /// # Errors
    /// [`PortError::System`] with `EBUSY` before Linux 6.4, where nobody else can map the rings.
    pub fn received(interface: &str, handed: Handed) -> Result<Self, PortError> {
        let queue = handed.queue;
        let failed = |action| {
            move |source| PortError::System {
                name: format!("{interface} queue {queue}"),
                action,
                source,
            }
        };
        let socket = Socket::received(handed.socket);
        let rings = socket.map_rings(handed.ring).map_err(failed(
            "map the rings of another process (that needs Linux 6.4)",
        ))?;
        let zero_copy = socket
            .is_zero_copy()
            .map_err(failed("ask whether it copies"))?;
        Ok(Self {
            name: format!("{interface}/{queue}"),
            queue,
            socket: Arc::new(socket),
            rings,
            zero_copy,
            busy_poll: handed.busy_poll,
            scattered: handed.scattered,
            unfinished: Unfinished::default(),
        })
    }

    /// Goes on where the last owner of the rings has stopped.
    pub(super) fn work_on(&mut self) {
        self.rings.rx.consume_on();
        self.rings.completion.consume_on();
        self.rings.tx.produce_on();
        self.rings.fill.produce_on();
    }
}
