//! A Linux interface through packet sockets (`AF_PACKET`, packet(7)): any interface, any driver, no
//! program in the kernel, and the kernel goes on seeing every frame.
//!
//! Two sockets. One receives, through a ring that the kernel fills and we read in place
//! (`TPACKET_V2`: frames are visible one by one, without waiting for a block to be complete), and
//! does not hear what leaves the interface. The other sends a burst with one system call, past the
//! queueing discipline, and receives nothing.
//!
//! Memory: the ring is a mapping shared with the kernel and owned by the port. Receive copies each
//! frame out of it into a buffer of the worker's pool and gives the slot back at once; transmit has
//! the kernel copy out of the pool, so every buffer is back when the call returns.
//!
//! What it puts right: a tag that the kernel took out of the frame is put back in; a TCP or UDP
//! checksum that the sender left to the card is completed. What it cannot do: frames longer than a
//! buffer, such as the 64 KiB that segmentation offload makes on virtual interfaces; they are
//! counted as [missed](crate::Port::missed) (`ethtool -K IF tso off gso off gro off` at the
//! sender's end avoids them). And the kernel still has its own copy of each frame: switch its
//! forwarding off, or every frame leaves twice.

mod interface;
mod ring;
mod socket;

use std::os::fd::{AsFd, BorrowedFd};

use wire::partial;
use wire::vlan::{TAG_LENGTH, TAG_OFFSET};

pub use self::interface::{Interface, longest_frame};
use self::ring::Ring;
use self::socket::{Sender, Socket};
use crate::{Burst, Pool, Port, PortError};

/// Empty receives between two looks whether the interface is still there: one system call in many.
const PATIENCE: u32 = 1024;

/// The sending half alone, for an interface from which nothing is to be heard.
#[derive(Debug)]
pub struct Outlet(Sender);

impl Outlet {
    /// Opens an interface of the calling thread's network namespace.
    ///
    /// # Errors
    /// As [`PacketPort::open`].
    pub fn open(name: &str) -> Result<Self, PortError> {
        let socket = Socket::new(name)?;
        socket.bind(socket.interface()?.index, socket::NO_PROTOCOL)?;
        socket.bypass_queueing()?;
        Ok(Self(Sender::new(socket)))
    }

    /// Lets so many bytes of frames be on their way at once, not the system's ordinary 208 KiB:
    /// these are some ninety frames of 1500 bytes, fewer than the other end of a virtual cable
    /// has room for.
    ///
    /// # Errors
    /// It needs `CAP_NET_ADMIN`.
    pub fn with_room(self, bytes: usize) -> Result<Self, PortError> {
        self.0.room(bytes)?;
        Ok(self)
    }

    /// As [`Port::transmit`]; all buffers of accepted frames are back in `pool` when it returns.
    ///
    /// # Errors
    /// The interface cannot be used any more.
    pub fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<usize, PortError> {
        let sent = self.0.send(pool, burst)?;
        burst.take_front(sent, |frame| pool.release(frame));
        Ok(sent)
    }
}

/// An interface of the network namespace that the port was opened in.
#[derive(Debug)]
pub struct PacketPort {
    name: String,
    interface: Interface,
    ring: Ring,
    receiver: Socket,
    outlet: Outlet,
    /// Empty receives since the last look at the socket's state.
    idle: u32,
    missed: u64,
}

impl PacketPort {
    /// Opens an interface. Ports with the same `group` on the same interface share what it
    /// receives: all frames of a flow go to one of them (`PACKET_FANOUT_HASH`).
    ///
    /// # Errors
    /// [`PortError`] when there is no such interface, it is down, or this user may not.
    pub fn open(name: &str, group: Option<u16>) -> Result<Self, PortError> {
        Self::open_filtered(name, group, None)
    }

    /// The same; the port hears only what the filter, an eBPF program for sockets, lets through.
    ///
    /// # Errors
    /// As [`PacketPort::open`].
    pub fn open_filtered(
        name: &str,
        group: Option<u16>,
        filter: Option<BorrowedFd<'_>>,
    ) -> Result<Self, PortError> {
        let receiver = Socket::new(name)?;
        if let Some(filter) = filter {
            receiver.filter(filter)?;
        }
        let interface = receiver.interface()?;
        receiver.ignore_outgoing()?;
        let ring = Ring::new(&receiver, interface.mtu)?;
        receiver.bind(interface.index, socket::EVERY_PROTOCOL)?;
        if let Some(group) = group {
            receiver.share(group)?;
        }
        let mut port = Self {
            name: name.to_owned(),
            interface,
            ring,
            receiver,
            outlet: Outlet::open(name)?,
            idle: 0,
            missed: 0,
        };
        // What arrived before the socket was bound to this interface came from others.
        port.ring.skip_all();
        port.receiver.lost();
        port.receiver.state()?;
        Ok(port)
    }

    /// What the interface was when it was opened.
    pub const fn interface(&self) -> Interface {
        self.interface
    }
}

impl Port for PacketPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<usize, PortError> {
        let mut count = 0;
        while burst.room() > 0 && pool.available() > 0 {
            let Some(slot) = self.ring.next() else { break };
            let tag = if slot.tag.is_some() { TAG_LENGTH } else { 0 };
            let length = u16::try_from(slot.bytes.len() + tag)
                .ok()
                .filter(|_| !slot.is_cut);
            let frame = length.and_then(|length| pool.allocate(length));
            let Some(frame) = frame else {
                self.missed += 1;
                slot.release();
                continue;
            };
            let bytes = pool.bytes_mut(&frame);
            match slot.tag {
                Some(inserted) if slot.bytes.len() >= TAG_OFFSET => {
                    bytes[..TAG_OFFSET].copy_from_slice(&slot.bytes[..TAG_OFFSET]);
                    bytes[TAG_OFFSET..TAG_OFFSET + TAG_LENGTH].copy_from_slice(&inserted);
                    bytes[TAG_OFFSET + TAG_LENGTH..].copy_from_slice(&slot.bytes[TAG_OFFSET..]);
                }
                _ => bytes[..slot.bytes.len()].copy_from_slice(slot.bytes),
            }
            if slot.checksum_is_partial {
                // Whatever is neither whole TCP nor whole UDP has no checksum to complete.
                let _ = partial::complete(bytes);
            }
            slot.release();
            if let Err(frame) = burst.push(frame) {
                pool.release(frame);
                break;
            }
            count += 1;
        }
        self.idle = if count == 0 { self.idle + 1 } else { 0 };
        if self.idle == PATIENCE {
            self.idle = 0;
            self.receiver.state()?;
        }
        Ok(count)
    }

    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<usize, PortError> {
        self.outlet.transmit(pool, burst)
    }

    fn readable(&self) -> Option<BorrowedFd<'_>> {
        Some(self.receiver.as_fd())
    }

    fn missed(&mut self) -> u64 {
        self.missed += self.receiver.lost();
        self.missed
    }
}
