//! The system calls of an `AF_XDP` socket (`linux/if_xdp.h`), nothing else.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::xdp::{
    self, SocketAddrXdp, SocketAddrXdpFlags, SocketAddrXdpWithSharedUmem, XdpOptionsFlags,
    XdpUmemReg, XdpUmemRegFlags,
};
use rustix::net::{
    self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netdevice, sockopt,
};

use super::ring::Ring;
use crate::option;

/// What the socket has lost so far, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Frames that found no buffer or were too long.
    pub rx_dropped: u64,
    /// Frames that found the receive ring full.
    pub rx_ring_full: u64,
    /// Times that the kernel found the fill ring empty.
    pub fill_ring_empty: u64,
    /// Buffers of ours that the kernel refused to fill.
    pub rx_invalid: u64,
    /// Frames of ours that the kernel refused to send.
    pub tx_invalid: u64,
}

/// The rings of a socket.
pub(super) struct Rings {
    pub(super) rx: Ring<libc::xdp_desc>,
    pub(super) tx: Ring<libc::xdp_desc>,
    pub(super) fill: Ring<u64>,
    pub(super) completion: Ring<u64>,
}

const SO_PREFER_BUSY_POLL: i32 = 69;
const SO_BUSY_POLL_BUDGET: i32 = 70;
/// `XDP_MAX_TX_SKB_BUDGET` (Linux 6.18): frames that one kick sends in copy mode; 32 without.
const MAX_TX_SKB_BUDGET: i32 = 9;

/// An `AF_XDP` socket.
#[derive(Debug)]
pub(super) struct Socket(OwnedFd);

impl Socket {
    pub(super) fn open() -> io::Result<Self> {
        let socket = net::socket_with(
            AddressFamily::XDP,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            None,
        )?;
        Ok(Self(socket))
    }

    /// One that was opened elsewhere.
    pub(super) const fn received(socket: OwnedFd) -> Self {
        Self(socket)
    }

    /// A copy of the descriptor.
    pub(super) fn copy(&self) -> io::Result<OwnedFd> {
        self.0.try_clone()
    }

    /// Registers memory of `bytes` bytes in chunks of `chunk`.
    pub(super) fn register(&self, memory: *const u8, bytes: usize, chunk: u32) -> io::Result<()> {
        let registration = XdpUmemReg {
            addr: memory as u64,
            len: bytes as u64,
            chunk_size: chunk,
            headroom: 0,
            flags: XdpUmemRegFlags::empty(),
            tx_metadata_len: 0,
        };
        Ok(sockopt::set_xdp_umem_reg(&self.0, registration)?)
    }

    /// Makes the rings, of `size` elements each.
    pub(super) fn make_rings(&self, size: u32) -> io::Result<()> {
        let socket = self.0.as_fd();
        sockopt::set_xdp_umem_fill_ring_size(socket, size)?;
        sockopt::set_xdp_umem_completion_ring_size(socket, size)?;
        sockopt::set_xdp_rx_ring_size(socket, size)?;
        Ok(sockopt::set_xdp_tx_ring_size(socket, size)?)
    }

    /// Maps the rings, of `size` elements each. Of a socket that is bound since Linux 6.4.
    pub(super) fn map_rings(&self, size: u32) -> io::Result<Rings> {
        let socket = self.0.as_fd();
        let offsets = sockopt::xdp_mmap_offsets(socket)?;
        Ok(Rings {
            rx: Ring::map(socket, &offsets.rx, size, xdp::XDP_PGOFF_RX_RING)?,
            tx: Ring::map(socket, &offsets.tx, size, xdp::XDP_PGOFF_TX_RING)?,
            fill: Ring::map(socket, &offsets.fr, size, xdp::XDP_UMEM_PGOFF_FILL_RING)?,
            completion: Ring::map(
                socket,
                &offsets.cr,
                size,
                xdp::XDP_UMEM_PGOFF_COMPLETION_RING,
            )?,
        })
    }

    /// Binds to one queue of an interface; with `shared`, to the memory registered with that
    /// socket.
    pub(super) fn bind(
        &self,
        ifindex: u32,
        queue: u32,
        flags: SocketAddrXdpFlags,
        shared: Option<BorrowedFd<'_>>,
    ) -> io::Result<()> {
        let addr = SocketAddrXdp::new(flags, ifindex, queue);
        Ok(match shared {
            None => net::bind(&self.0, &addr),
            Some(shared_umem_fd) => net::bind(
                &self.0,
                &SocketAddrXdpWithSharedUmem {
                    addr,
                    shared_umem_fd,
                },
            ),
        }?)
    }

    /// Did the driver agree to work on our memory itself?
    pub(super) fn is_zero_copy(&self) -> io::Result<bool> {
        Ok(sockopt::xdp_options(&self.0)?.contains(XdpOptionsFlags::XDP_OPTIONS_ZEROCOPY))
    }

    /// Lets our own system calls drive the driver's receive loop, `budget` frames at a time.
    pub(super) fn busy_poll(&self, microseconds: i32, budget: u32) -> io::Result<()> {
        option::set(&self.0, libc::SOL_SOCKET, SO_PREFER_BUSY_POLL, &1_i32)?;
        option::set(&self.0, libc::SOL_SOCKET, libc::SO_BUSY_POLL, &microseconds)?;
        option::set(&self.0, libc::SOL_SOCKET, SO_BUSY_POLL_BUDGET, &budget)
    }

    /// Is the kernel set to leave the driver's receive loop to our calls?
    pub(super) fn is_busy_polling(&self) -> io::Result<bool> {
        let ask = |number| option::get(&self.0, libc::SOL_SOCKET, number, 0_i32);
        Ok(ask(SO_PREFER_BUSY_POLL)? != 0 && ask(libc::SO_BUSY_POLL)? > 0)
    }

    /// Lets one kick send up to `frames` in copy mode; older kernels keep to 32, and need more
    /// kicks.
    pub(super) fn raise_budget(&self, frames: u32) {
        let _ignored = option::set(&self.0, libc::SOL_XDP, MAX_TX_SKB_BUDGET, &frames);
    }

    /// Wakes the kernel to receive.
    pub(super) fn wake_receive(&self) -> io::Result<()> {
        net::recv(&self.0, &mut [0_u8; 0], RecvFlags::DONTWAIT)?;
        Ok(())
    }

    /// Wakes the kernel to send.
    pub(super) fn wake_send(&self) -> io::Result<()> {
        net::send(&self.0, &[], SendFlags::DONTWAIT)?;
        Ok(())
    }

    /// What was lost. Kernels before 5.9 know only part of it; the rest is zero.
    pub(super) fn statistics(&self) -> io::Result<Statistics> {
        let zero = libc::xdp_statistics {
            rx_dropped: 0,
            rx_invalid_descs: 0,
            tx_invalid_descs: 0,
            rx_ring_full: 0,
            rx_fill_ring_empty_descs: 0,
            tx_ring_empty_descs: 0,
        };
        let found = option::get(&self.0, libc::SOL_XDP, libc::XDP_STATISTICS, zero)?;
        Ok(Statistics {
            rx_dropped: found.rx_dropped,
            rx_ring_full: found.rx_ring_full,
            fill_ring_empty: found.rx_fill_ring_empty_descs,
            rx_invalid: found.rx_invalid_descs,
            tx_invalid: found.tx_invalid_descs,
        })
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The index of an interface in the calling thread's network namespace.
pub(super) fn interface_index(interface: &str) -> io::Result<u32> {
    // An AF_XDP socket cannot be asked.
    let socket = net::socket(AddressFamily::UNIX, SocketType::DGRAM, None)?;
    Ok(netdevice::name_to_index(socket, interface)?)
}
