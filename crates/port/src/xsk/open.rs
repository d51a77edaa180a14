//! How a port is opened: a socket with its rings, bound to a queue in the best way that the kernel
//! and the driver agree to.

use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::net::xdp::SocketAddrXdpFlags as Flags;

use super::socket::{self, Socket};
use super::{Copying, Memory, Options, Unfinished, XskPort};
use crate::{Burst, Pool, PortError};

/// Does this kernel bind sockets for frames of several buffers (Linux 6.6)?
pub fn can_scatter() -> bool {
    // It looks at the flags first, and no interface has number 0.
    let bound = Socket::open().and_then(|socket| socket.bind(0, 0, Flags::XDP_USE_SG, None));
    bound.is_err_and(|error| error.raw_os_error() == Some(libc::ENODEV))
}

/// With what flags to bind the first socket of a pool, best first: without a copy, then with
/// several buffers. The kernel asked for both says no, or silently copies.
fn attempts(copying: Copying, scattered: bool) -> Vec<Flags> {
    let (zero_copy, copy, several) = (Flags::XDP_ZEROCOPY, Flags::XDP_COPY, Flags::XDP_USE_SG);
    match (copying, scattered) {
        (Copying::Any, false) => vec![Flags::empty()],
        (Copying::Never, false) => vec![zero_copy],
        (Copying::Always, false) => vec![copy],
        (Copying::Any, true) => vec![zero_copy | several, zero_copy, copy | several],
        (Copying::Never, true) => vec![zero_copy | several, zero_copy],
        (Copying::Always, true) => vec![copy | several],
    }
}

/// Would binding in another way fail as well?
fn is_final(error: &PortError) -> bool {
    !matches!(error, PortError::System { source, .. } if !matches!(
        source.raw_os_error(),
        Some(libc::EBUSY | libc::EPERM | libc::ENETDOWN | libc::ENODEV | libc::ENXIO)
    ))
}

impl XskPort {
    /// Opens queue `queue` of `interface` in the calling thread's network namespace, with the
    /// buffers of `pool`. Give all ports of a worker the same `pool` and `memory` (which is
    /// empty at first). Frames come when a steering program has been told of the
    /// port's descriptor ([`AsFd`]).
    ///
    /// # Errors
    /// [`PortError::System`] with the call that failed: `EBUSY` for a queue in use, `EINVAL` for a
    /// queue that is not there or a pool whose chunks are not 2048 or 4096 bytes, `EOPNOTSUPP`
    /// when zero copy was required.
    pub fn open(
        interface: &str,
        queue: u32,
        pool: &mut Pool,
        memory: &mut Memory,
        options: Options,
    ) -> Result<Self, PortError> {
        if memory.first.is_some() {
            // The first socket's choice holds for all.
            let flags = Flags::XDP_SHARED_UMEM;
            return Self::bound(interface, queue, pool, memory, options, flags);
        }
        let scattered = options.scattered && can_scatter();
        let mut attempts = attempts(options.copying, scattered).into_iter();
        loop {
            let flags = attempts.next().unwrap_or(Flags::empty());
            let wakeup = flags | Flags::XDP_USE_NEED_WAKEUP;
            // With a new socket each time: the kernel notes the flags with the memory.
            match Self::bound(interface, queue, pool, memory, options, wakeup) {
                Err(error) if attempts.len() == 0 || is_final(&error) => return Err(error),
                Err(_) => {}
                Ok(port) => {
                    memory.first = Some(Arc::clone(&port.socket));
                    memory.scattered = port.scattered;
                    return Ok(port);
                }
            }
        }
    }

    fn bound(
        interface: &str,
        queue: u32,
        pool: &mut Pool,
        memory: &Memory,
        options: Options,
        flags: Flags,
    ) -> Result<Self, PortError> {
        let failed = |action| {
            move |source| PortError::System {
                name: format!("{interface} queue {queue}"),
                action,
                source,
            }
        };
        let ifindex = socket::interface_index(interface).map_err(failed("find the interface"))?;
        let socket = Socket::open().map_err(failed("open an AF_XDP socket"))?;
        let (start, bytes) = pool.memory();
        if memory.first.is_none() {
            socket
                .register(start, bytes, pool.layout().stride)
                .map_err(failed("register the pool's memory"))?;
        }
        let made = socket.make_rings(options.ring);
        let rings = made.and_then(|()| socket.map_rings(options.ring));
        let rings = rings.map_err(failed("make its rings"))?;
        let mut port = Self {
            name: format!("{interface}/{queue}"),
            queue,
            socket: Arc::new(socket),
            rings,
            zero_copy: false,
            busy_poll: options.busy_poll,
            scattered: memory.scattered || flags.contains(Flags::XDP_USE_SG),
            unfinished: Unfinished::default(),
        };
        // Before the bind: drivers take buffers at once.
        port.fill(pool);
        let first = memory.first.as_ref().map(|socket| socket.as_fd());
        if let Err(error) = port.socket.bind(ifindex, queue, flags, first) {
            // Whoever tries again needs the buffers.
            while let Some(offset) = port.rings.fill.take_back() {
                pool.give_back(offset);
            }
            return Err(failed("bind to the queue")(error));
        }
        port.zero_copy = port
            .socket
            .is_zero_copy()
            .map_err(failed("ask whether it copies"))?;
        port.socket.raise_budget(options.ring);
        if options.busy_poll {
            port.socket
                .busy_poll(20, Burst::CAPACITY as u32)
                .map_err(failed("switch busy polling on"))?;
        }
        Ok(port)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/xsk_open.rs"]
mod tests;
