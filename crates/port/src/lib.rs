//! Where frames come from and go to.
//!
//! A [`Port`] moves bursts of frames between a worker and the outside. The bytes live in the
//! worker's own [`Pool`]; what travels is the [`Frame`], an eight-byte handle. One file each:
//!
//! - [`memory`]: frames replayed from memory and dropped after transmission. No system call: it
//!   shows what the worker costs.
//! - [`packet`]: a Linux interface through an `AF_PACKET` socket.
//! - [`xsk`]: `AF_XDP`, one queue of an interface in memory shared with the kernel.
//!
//! Beside the ports, [`pcap`] and [`pcapng`] read and write capture files.
//!
//! Who owns which memory: the head of [`pool`]. Lengths are without the frame check sequence.

pub mod burst;
pub mod memory;
mod option;
pub mod packet;
pub mod pcap;
pub mod pcapng;
pub mod pool;
pub mod xsk;

use std::io;
use std::os::fd::BorrowedFd;

pub use burst::Burst;
pub use pool::{Frame, Pool};

/// A place frames come from and go to. One thread owns it; nothing in it is shared.
///
/// Called once per burst, so dynamic dispatch is welcome; never called per frame.
pub trait Port: Send {
    /// What people call this port: the interface or the file.
    fn name(&self) -> &str;

    /// Appends frames to `burst` until it is full or none is waiting, in buffers taken from `pool`;
    /// says how many. Never waits. With an empty pool nothing is received, and nothing is lost by
    /// it.
    ///
    /// # Errors
    /// The port cannot be used any more; what was in `burst` stays there.
    fn receive(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<usize, PortError>;

    /// Takes frames off the front of `burst`, in order, for as long as the outside accepts them;
    /// says how many. The others stay in `burst` and remain the caller's. Buffers of accepted
    /// frames go back to `pool` when the outside is through with them, at the latest in a later
    /// call of this port.
    ///
    /// # Errors
    /// The port cannot be used any more; frames that were not accepted stay in `burst`.
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<usize, PortError>;

    /// A descriptor that becomes readable when frames wait, for a worker that has nothing to do.
    /// `None`: this port always has frames, or has ended.
    fn readable(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// What another process needs to go on in its place; nothing when none can.
    ///
    /// # Errors
    /// When it cannot just now.
    fn handed(&self) -> io::Result<Vec<xsk::Handed>> {
        Ok(Vec::new())
    }

    /// It goes on with what another process has left ([`Port::handed`]).
    fn go_on(&mut self) {}

    /// Frames that the outside had for this port and lost before a burst took them, since it was
    /// opened.
    fn missed(&mut self) -> u64 {
        0
    }
}

/// Why a port cannot be opened, or not be used any more.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The interface was removed, or went down.
    #[error(
        "port {name}: the interface has vanished or went down; bring it up (ip link set {name} \
         up) and start again"
    )]
    Gone {
        /// The interface.
        name: String,
    },
    /// A file cannot be read or written.
    #[error("cannot {action} {name}: {source}")]
    File {
        /// The file.
        name: String,
        /// What was tried.
        action: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// The kernel refused something.
    #[error("port {name}: cannot {action}: {source}{}", remedy(source))]
    System {
        /// The interface.
        name: String,
        /// What was tried.
        action: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// The contents are not what they have to be.
    #[error("{name}: {what}")]
    Malformed {
        /// The file.
        name: String,
        /// What is wrong, and where.
        what: String,
    },
    /// No memory for the buffers.
    #[error("cannot map {bytes} bytes for frame buffers: {source}; use fewer buffers or workers")]
    Memory {
        /// Bytes asked for.
        bytes: usize,
        /// What the kernel said.
        source: io::Error,
    },
}

fn remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::PermissionDenied => "; it needs CAP_NET_RAW: run as root",
        io::ErrorKind::NotFound => "; see `ip link` for the names",
        _ => "",
    }
}
