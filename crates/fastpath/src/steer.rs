//! The steerer: which frames of an interface go to `AF_XDP` sockets, and which stay the kernel's.
//!
//! Attach it, then [`Steer::insert`] the descriptor of each queue's socket. Everything that a
//! user-space worker should not see (ARP, neighbour discovery, groups, this host's own addresses,
//! IP options, the last hop, partial checksums) goes to the kernel, and so does everything while no
//! socket is there: attaching it changes nothing, and a worker that dies gives its frames back.
//!
//! # What it cannot do
//! It does not know routes: a frame without a route goes to the worker. Tagged frames are the
//! kernel's. Queues are at most 64.

use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};

use bpf::attach::{Attachment, Mode, Request};
use bpf::map::Map;
use bpf::program::Program;

use crate::Result;
use crate::packed::{Packed, packed};

const OBJECT: Packed = packed!("steer");

/// What a steerer has done on all CPUs since it was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames given to a socket (which can still lose them: see the socket's own statistics).
    pub steered: u64,
    /// Frames left to the kernel.
    pub kernel: u64,
}

/// A steering program on one interface; dropping it detaches it.
#[derive(Debug)]
pub struct Steer {
    attachment: Attachment,
    program: Program,
    sockets: Map,
    local: Map,
    counters: Map,
}

impl Steer {
    /// Attaches to `interface` of the calling thread's network namespace. Frames for `station` are
    /// steered; `None`: for all stations.
    ///
    /// # Errors
    /// As [`Attachment::new`].
    pub fn attach(interface: &str, station: Option<[u8; 6]>, request: Request) -> Result<Self> {
        let station = station.map_or(0, |mac| {
            u64::from_le_bytes([mac[0], mac[1], mac[2], mac[3], mac[4], mac[5], 0, 0])
        });
        let loaded = OBJECT.loader()?.constant("STATION", station).load()?;
        let program = loaded.program("steer")?;
        Ok(Self {
            attachment: Attachment::new(&program, interface, request)?,
            program,
            sockets: loaded.map("sockets")?,
            local: loaded.map("local")?,
            counters: loaded.map("counters")?,
        })
    }

    /// In which mode it runs.
    pub fn mode(&self) -> Mode {
        self.attachment.mode()
    }

    /// Gives the frames of a queue to this socket, which is bound to that queue of this interface.
    ///
    /// # Errors
    /// [`bpf::Error::Map`]: `EBADF` or `EINVAL` for another kind of descriptor, `E2BIG` for a
    /// queue above 63.
    pub fn insert(&self, queue: u32, socket: impl AsFd) -> Result<()> {
        Ok(self
            .sockets
            .set(queue, &(socket.as_fd().as_raw_fd() as u32))?)
    }

    /// Gives the frames of a queue back to the kernel.
    ///
    /// # Errors
    /// [`bpf::Error::Map`].
    pub fn remove(&self, queue: u32) -> Result<()> {
        Ok(self.sockets.remove(queue)?)
    }

    /// Marks an address as this host's own (or not): frames for it are the kernel's.
    ///
    /// # Errors
    /// [`bpf::Error::Map`]: `E2BIG` for more than 4096 addresses.
    pub fn set_local(&self, address: IpAddr, is_local: bool) -> Result<()> {
        let key = match address {
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            IpAddr::V6(address) => address.octets(),
        };
        if is_local {
            self.local.set(key, &1_u8)?;
        } else {
            self.local.remove(key)?;
        }
        Ok(())
    }

    /// What it has done.
    ///
    /// # Errors
    /// [`bpf::Error::Map`].
    pub fn counts(&self) -> Result<Counts> {
        let mut sum = Counts::default();
        for [steered, kernel] in self.counters.get_per_cpu::<u32, [u64; 2]>(0)? {
            sum.steered += steered;
            sum.kernel += kernel;
        }
        Ok(sum)
    }

    /// The program, for runs by hand.
    pub fn program(&self) -> &Program {
        &self.program
    }
}
