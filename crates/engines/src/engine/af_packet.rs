//! The engine `af-packet`: workers behind packet sockets, on any interface and any driver.
//!
//! A packet socket gets a copy of a frame, and the kernel would forward its own, too. So a filter
//! on the workers' sockets decides by the tables which frames can be forwarded and lets only these
//! through, and a program at tc, which runs behind the sockets, drops the kernel's copy of exactly
//! these. Filter and program go with the process, however it ends, and then the kernel forwards
//! again: no setting of the machine is changed that would have to be put back. A worker that ends
//! takes its sockets and their filter with it, and its share is the kernel's (`no-worker`).
//!
//! The kernel spreads a port's flows over one worker for each core.
//!
//! # What it cannot do
//! - It needs Linux 6.6: the verifier of 6.1 refuses its program.
//! - Frames longer than [`LONGEST`] bytes, such as segmentation offload makes, are the kernel's
//!   (`too-big`): right, but of one flow the long ones go one way and the short ones the other, and
//!   may overtake each other. Several segments that the kernel has put together to a packet that
//!   still fits leave as that packet.
//! - Checksums that the sender left to its card are completed for TCP and UDP; SCTP, tunnels and
//!   what is behind destination options are the kernel's when a sum may be unfinished
//!   (`partial-checksum`).

use std::os::fd::AsFd;

use bpf::attach::Request;
use fastpath::forward::{Capacity, Forwarder};
use port::Pool;
use port::packet::PacketPort;
use port::pool::Layout;

use super::EngineError;
use super::user_space::{Attached, Opened, OpenedPort, Sockets, Trouble, Wanted, is_down};

/// The longest frame that workers get, in bytes without FCS and tag: that of an Ethernet with the
/// usual MTU.
pub const LONGEST: u16 = 1514;
/// Buffers of a worker: its bursts under way, many times.
pub(super) const BUFFERS: u32 = 1024;

/// Sockets of one group on each port. Nothing is to be chosen.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketSockets;

impl Sockets for PacketSockets {
    const NAME: &'static str = "af-packet";
    const AT_TC: u32 = 1;
    const FILTERED: bool = true;

    fn forwarder(&self, capacity: Capacity, workers: usize) -> fastpath::Result<Forwarder> {
        Forwarder::for_copies(capacity, workers, LONGEST)
    }

    fn request(&self) -> Request {
        Request::Any
    }

    fn workers(&self, _ports: &[Wanted], cores: usize) -> Result<usize, Trouble> {
        Ok(cores)
    }

    fn open(&self, ports: &[Wanted], _place: usize, of: usize) -> Result<Opened, Trouble> {
        let failed = |error: &dyn std::fmt::Display| EngineError::new("opening sockets", error);
        let pool = Pool::new(Layout::ordinary(BUFFERS))?;
        let mut opened = Vec::with_capacity(ports.len());
        for (at, port) in ports.iter().enumerate() {
            // Sockets of one process and namespace share; the number only keeps programs apart.
            let group = (of > 1).then(|| (std::process::id() as u16).wrapping_add(at as u16));
            let Some(filter) = &port.filter else {
                return Err(failed(&format!("port {} has no program", port.name)).into());
            };
            match PacketPort::open_filtered(&port.name, group, Some(filter.as_fd())) {
                Ok(socket) => opened.push(Some(OpenedPort {
                    port: Box::new(socket),
                    queues: Vec::new(),
                    zero_copy: false,
                    busy_poll: false,
                })),
                Err(error) if is_down(&error) => opened.push(None),
                Err(error) => return Err(failed(&error).into()),
            }
        }
        Ok((pool, opened))
    }

    fn mode(_port: &Attached) -> &'static str {
        "tc,copy"
    }
}
