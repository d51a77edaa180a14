//! `AF_XDP`: frames to and from one queue of an interface without the kernel's network stack
//! between.
//!
//! # How it works
//! The worker's [`Pool`] is registered with the kernel as UMEM: memory that both sides write frames
//! into. Four rings of descriptors go with a socket. On **FILL** we lend the kernel empty buffers;
//! it writes arriving frames into them and returns them on **RX**. On **TX** we lend it frames to
//! send; it returns their buffers on **COMPLETION**. An XDP program on the interface (crate
//! `fastpath`, `steer`) decides which frames come here at all and which stay the kernel's.
//!
//! # Who owns which memory
//! The pool must be cut with [`Layout::chunks`] in 2048 or 4096 bytes, and must outlive its ports:
//! give both to the same worker. A buffer is in exactly one place: free in the pool, a [`Frame`](crate::Frame) in
//! somebody's hand, or lent to the kernel by way of FILL or TX. The rings are the ledger of what is
//! lent. Ports of one worker share its pool: the first port registers it, the others join
//! ([`Memory`]), so a frame received on one is sent by another without a copy. A port that is
//! dropped keeps the buffers that it had lent: they are lost to the pool.
//!
//! # How it stays fast
//! FILL is full before the first frame comes and is filled again with every burst. The kernel says
//! when it sleeps and has to be woken (`need_wakeup`): as long as it runs by itself, neither
//! direction costs a system call. In copy mode, sending always costs one for each burst, and the kernel
//! a buffer for each frame: an interface can have another way out for whole bursts ([`Detour`]). With busy
//! polling ([`Options::busy_poll`]) our calls do the driver's work on our core, so that worker and
//! interrupt do not take it from each other.
//!
//! # Frames longer than a buffer
//! With [`Options::scattered`] they come and go in several buffers, each with a descriptor that says
//! whether the frame goes on (`XDP_PKT_CONTD`). The pool puts them together without a copy
//! ([`Pool::join`]). A burst may end within a frame: its beginning waits for the next call. Frames
//! leave with all their buffers or not at all. A burst without such a frame costs one comparison.
//!
//! # Another process can go on
//! A socket and its rings outlive the process that made them as long as another has a copy of the
//! descriptor. That one maps the rings ([`XskPort::received`]), and goes on at the places that the
//! indices in them say ([`Port::go_on`]), once the first one leaves them alone. The pool must be in
//! memory that both can have ([`Pool::shared`]).
//!
//! # What it cannot do
//! - A frame must fit one buffer, the chunk less 256 bytes that the kernel keeps in front: without
//!   that option, before Linux 6.6, and where a driver has zero copy only for such frames.
//! - A port hears only its own queue. A veth sends by queue number *sending core modulo queues*; a
//!   network card by its own hash (`ethtool -L`, `-X`). Open a port for every queue or frames go
//!   where nobody listens.
//! - After a socket is closed its queue stays taken for a moment; opening it again at once can give
//!   `EBUSY`.
//! - Partial checksums (veth, virtio and tap peers with offloads on) arrive as they are.

mod detour;
mod hand_over;
mod interface;
mod open;
mod ring;
mod scattered;
mod socket;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

pub use detour::{Detour, Sent};
pub use hand_over::Handed;
pub use interface::XskInterface;
pub use open::can_scatter;
use scattered::Unfinished;
pub use socket::Statistics;
use socket::{Rings, Socket};

use crate::pool::Layout;
use crate::{Burst, Pool, Port, PortError};

/// Bytes that the kernel keeps free in front of each frame it receives (`XDP_PACKET_HEADROOM`).
pub const HEADROOM: u16 = 256;
/// Most kicks for one burst before the rest is left for the next call.
const KICKS: usize = 8;

/// Who moves the bytes between the driver and our memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Copying {
    /// The driver works on our memory if it can, else the kernel copies; [`XskPort::is_zero_copy`]
    /// says which.
    #[default]
    Any,
    /// The driver, or opening fails.
    Never,
    /// The kernel copies.
    Always,
}

/// How a port is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Who moves the bytes.
    pub copying: Copying,
    /// Elements of each ring, a power of two; FILL takes as many buffers of the pool.
    pub ring: u32,
    /// Do the driver's receive work in our own calls (`SO_PREFER_BUSY_POLL`, `SO_BUSY_POLL`,
    /// `SO_BUSY_POLL_BUDGET`, Linux 5.11). The driver's interrupts keep out of it only with
    /// `/sys/class/net/PORT/napi_defer_hard_irqs` (2) and `gro_flush_timeout` (200000).
    pub busy_poll: bool,
    /// Take and send frames of several buffers (`XDP_USE_SG`, Linux 6.6) where kernel and driver
    /// can; [`XskPort::is_scattered`] says whether. Zero copy comes first.
    pub scattered: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            copying: Copying::Any,
            ring: 2048,
            busy_poll: false,
            scattered: false,
        }
    }
}

impl Options {
    /// A layout for a worker with `ports` ports opened like this: what the rings can hold, and some
    /// bursts in hand.
    pub const fn layout(&self, ports: u32) -> Layout {
        // The kernel pays for each piece of a frame.
        let stride = if self.scattered { 4096 } else { 2048 };
        let buffers = ports * 2 * self.ring + 4 * Burst::CAPACITY as u32;
        Layout::chunks(buffers, stride, HEADROOM)
    }
}

/// A pool's registration as UMEM, kept by the ports that use it.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    first: Option<Arc<Socket>>,
    /// Whether its ports take frames of several buffers.
    scattered: bool,
}

/// One queue of an interface.
pub struct XskPort {
    name: String,
    queue: u32,
    socket: Arc<Socket>,
    rings: Rings,
    zero_copy: bool,
    busy_poll: bool,
    scattered: bool,
    unfinished: Unfinished,
}

impl std::fmt::Debug for XskPort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("XskPort")
            .field("name", &self.name)
            .field("zero_copy", &self.zero_copy)
            .finish_non_exhaustive()
    }
}

impl XskPort {
    /// Does the driver work on our memory, without a copy by the kernel?
    pub fn is_zero_copy(&self) -> bool {
        self.zero_copy
    }

    /// Does it take and send frames of several buffers?
    pub fn is_scattered(&self) -> bool {
        self.scattered
    }

    /// Do our own calls drive the driver's receive loop, as the kernel sees it?
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn is_busy_polling(&self) -> Result<bool, PortError> {
        self.socket
            .is_busy_polling()
            .map_err(|source| self.system("ask whether it polls", source))
    }

    /// Has the kernel taken all that was sent?
    fn is_drained(&mut self) -> bool {
        self.rings.tx.is_drained()
    }

    /// What was lost, by cause.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn statistics(&self) -> Result<Statistics, PortError> {
        self.socket
            .statistics()
            .map_err(|source| self.system("read its statistics", source))
    }

    fn system(&self, action: &'static str, source: io::Error) -> PortError {
        match source.raw_os_error() {
            Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => PortError::Gone {
                name: self.name.clone(),
            },
            _ => PortError::System {
                name: self.name.clone(),
                action,
                source,
            },
        }
    }

    /// What came of waking the kernel: that it is busy or has no room now is no failure.
    fn woken(&self, action: &'static str, outcome: io::Result<()>) -> Result<(), PortError> {
        let error = match outcome {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::EINTR) => Ok(()),
            _ => Err(self.system(action, error)),
        }
    }

    /// Lends the kernel as many free buffers as FILL has room for.
    fn fill(&mut self, pool: &mut Pool) {
        let fill = &mut self.rings.fill;
        // Looking at the kernel's index costs a line that it writes: not for less than a burst.
        let room = fill.room(Burst::CAPACITY as u32);
        let mut given = 0;
        while given < room {
            let Some(frame) = pool.allocate(0) else { break };
            fill.put(pool.lend(frame).0);
            given += 1;
        }
        if given > 0 {
            fill.publish();
        }
    }

    /// Takes back the buffers of frames that were sent.
    fn reap(&mut self, pool: &mut Pool) {
        let completion = &mut self.rings.completion;
        let waiting = completion.waiting(Burst::CAPACITY as u32);
        for _ in 0..waiting {
            pool.give_back(completion.take());
        }
        if waiting > 0 {
            completion.release();
        }
    }

    /// Wakes the kernel until it has taken what is on TX, or will not take more now.
    fn kick(&mut self) -> Result<(), PortError> {
        for _ in 0..KICKS {
            if !self.rings.tx.needs_wakeup() {
                return Ok(());
            }
            match self.socket.wake_send() {
                Ok(()) => {}
                // The device or its queue is full, or the kernel has sent its fill for one call:
                // what is left waits on the ring.
                Err(error)
                    if matches!(
                        error.raw_os_error(),
                        Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::EINTR)
                    ) => {}
                Err(error) => return Err(self.system("send", error)),
            }
            if self.rings.tx.is_drained() {
                return Ok(());
            }
        }
        Ok(())
    }
}

impl AsFd for XskPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Port for XskPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<usize, PortError> {
        self.reap(pool);
        let wanted = burst.room() as u32;
        let count = self.rings.rx.waiting(wanted).min(wanted);
        let (before, mut options) = (burst.len(), 0);
        for _ in 0..count {
            let descriptor = self.rings.rx.take();
            options |= descriptor.options;
            // What lies in no buffer of ours cannot come; if it did, it would be nobody's frame.
            if let Some(frame) = pool.reclaim(descriptor.addr, descriptor.len as u16)
                && let Err(frame) = burst.push(frame)
            {
                pool.release(frame);
            }
        }
        if options & libc::XDP_PKT_CONTD != 0 || self.unfinished.is_some() {
            // Again, and slower.
            burst.forget_from(before);
            self.rings.rx.put_back(count);
            self.assemble(pool, burst);
        }
        let taken = burst.len() - before;
        if count > 0 {
            self.rings.rx.release();
        }
        self.fill(pool);
        // What the kernel did not take before must not wait for the next frame to be sent.
        if count == 0 && !self.rings.tx.is_drained() {
            self.kick()?;
        }
        if (count == 0 && self.busy_poll) || self.rings.fill.needs_wakeup() {
            self.woken("receive", self.socket.wake_receive())?;
        }
        Ok(taken)
    }

    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<usize, PortError> {
        self.reap(pool);
        let count = if pool.has_scattered() {
            self.put_scattered(pool, burst)
        } else {
            let wanted = burst.len() as u32;
            let count = self.rings.tx.room(wanted).min(wanted) as usize;
            let tx = &mut self.rings.tx;
            burst.take_front(count, |frame| tx.put(descriptor(pool.lend(frame), 0)));
            count
        };
        if count > 0 {
            self.rings.tx.publish();
        }
        if count > 0 || !self.rings.tx.is_drained() {
            self.kick()?;
        }
        Ok(count)
    }

    fn readable(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn handed(&self) -> io::Result<Vec<Handed>> {
        Ok(vec![self.hand_over()?])
    }

    fn go_on(&mut self) {
        self.work_on();
    }

    fn missed(&mut self) -> u64 {
        let lost = self.socket.statistics().unwrap_or_default();
        lost.rx_dropped + lost.rx_ring_full + lost.rx_invalid + self.unfinished.lost()
    }
}

/// What says to the kernel where a frame, or a piece of one, lies.
#[inline]
fn descriptor((addr, length): (u64, u16), options: u32) -> libc::xdp_desc {
    libc::xdp_desc {
        addr,
        len: u32::from(length),
        options,
    }
}
