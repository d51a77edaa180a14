//! The system calls of an `AF_XDP` socket (`linux/if_xdp.h`), nothing else.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::ring::Ring;

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
        // SAFETY: no memory involved.
        let descriptor =
            unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, owned by nobody else.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    fn set<T>(&self, level: i32, option: i32, value: &T) -> io::Result<()> {
        // SAFETY: `value` is a plain record of the length given, which the kernel reads.
        let result = unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                level,
                option,
                std::ptr::from_ref(value).cast(),
                size_of::<T>() as u32,
            )
        };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// The option's value and how many bytes of it this kernel knows. `T` is a record of integers,
    /// for which zeros are a value.
    fn get<T: Copy>(&self, option: i32, value: T) -> io::Result<(T, usize)> {
        self.get_at(libc::SOL_XDP, option, value)
    }

    fn get_at<T: Copy>(&self, level: i32, option: i32, mut value: T) -> io::Result<(T, usize)> {
        let mut length = size_of::<T>() as u32;
        // SAFETY: the kernel writes at most `length` bytes of integers into `value`.
        let result = unsafe {
            libc::getsockopt(
                self.0.as_raw_fd(),
                level,
                option,
                std::ptr::from_mut(&mut value).cast(),
                &raw mut length,
            )
        };
        if result == 0 {
            Ok((value, length as usize))
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Registers memory of `bytes` bytes in chunks of `chunk`.
    pub(super) fn register(&self, memory: *const u8, bytes: usize, chunk: u32) -> io::Result<()> {
        let registration = libc::xdp_umem_reg_v1 {
            addr: memory as u64,
            len: bytes as u64,
            chunk_size: chunk,
            headroom: 0,
        };
        self.set(libc::SOL_XDP, libc::XDP_UMEM_REG, &registration)
    }

    /// Makes the rings, of `size` elements each, and maps them.
    pub(super) fn rings(&self, size: u32) -> io::Result<Rings> {
        for ring in [
            libc::XDP_UMEM_FILL_RING,
            libc::XDP_UMEM_COMPLETION_RING,
            libc::XDP_RX_RING,
            libc::XDP_TX_RING,
        ] {
            self.set(libc::SOL_XDP, ring, &size)?;
        }
        let none = libc::xdp_ring_offset {
            producer: 0,
            consumer: 0,
            desc: 0,
            flags: 0,
        };
        let empty = libc::xdp_mmap_offsets {
            rx: none,
            tx: none,
            fr: none,
            cr: none,
        };
        let (offsets, known) = self.get(libc::XDP_MMAP_OFFSETS, empty)?;
        if known < size_of::<libc::xdp_mmap_offsets>() {
            // Before Linux 5.4 rings had no flags.
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        let socket = self.0.as_fd();
        Ok(Rings {
            rx: Ring::map(socket, &offsets.rx, size, libc::XDP_PGOFF_RX_RING)?,
            tx: Ring::map(socket, &offsets.tx, size, libc::XDP_PGOFF_TX_RING)?,
            fill: Ring::map(
                socket,
                &offsets.fr,
                size,
                libc::XDP_UMEM_PGOFF_FILL_RING.cast_signed(),
            )?,
            completion: Ring::map(
                socket,
                &offsets.cr,
                size,
                libc::XDP_UMEM_PGOFF_COMPLETION_RING.cast_signed(),
            )?,
        })
    }

    /// Binds to one queue of an interface; with `shared`, to the memory registered with that
    /// socket.
    pub(super) fn bind(
        &self,
        ifindex: u32,
        queue: u32,
        flags: u16,
        shared: Option<BorrowedFd<'_>>,
    ) -> io::Result<()> {
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: flags,
            sxdp_ifindex: ifindex,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: shared.map_or(0, |socket| socket.as_raw_fd() as u32),
        };
        // SAFETY: the address is a record of the length given.
        let result = unsafe {
            libc::bind(
                self.0.as_raw_fd(),
                std::ptr::from_ref(&address).cast(),
                size_of::<libc::sockaddr_xdp>() as u32,
            )
        };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Did the driver agree to work on our memory itself?
    pub(super) fn is_zero_copy(&self) -> io::Result<bool> {
        let (options, _) = self.get(libc::XDP_OPTIONS, libc::xdp_options { flags: 0 })?;
        Ok(options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0)
    }

    /// Lets our own system calls drive the driver's receive loop, `budget` frames at a time.
    pub(super) fn busy_poll(&self, microseconds: i32, budget: u32) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, SO_PREFER_BUSY_POLL, &1_i32)?;
        self.set(libc::SOL_SOCKET, libc::SO_BUSY_POLL, &microseconds)?;
        self.set(libc::SOL_SOCKET, SO_BUSY_POLL_BUDGET, &budget)
    }

    /// Is the kernel set to leave the driver's receive loop to our calls?
    pub(super) fn is_busy_polling(&self) -> io::Result<bool> {
        let (preferred, _) = self.get_at(libc::SOL_SOCKET, SO_PREFER_BUSY_POLL, 0_i32)?;
        let (microseconds, _) = self.get_at(libc::SOL_SOCKET, libc::SO_BUSY_POLL, 0_i32)?;
        Ok(preferred != 0 && microseconds > 0)
    }

    /// Lets one kick send up to `frames` in copy mode; older kernels keep to 32, and need more
    /// kicks.
    pub(super) fn raise_budget(&self, frames: u32) {
        let _ignored = self.set(libc::SOL_XDP, MAX_TX_SKB_BUDGET, &frames);
    }

    /// Wakes the kernel to receive.
    pub(super) fn wake_receive(&self) -> io::Result<()> {
        // SAFETY: no buffer is given.
        let result = unsafe {
            libc::recvfrom(
                self.0.as_raw_fd(),
                std::ptr::null_mut(),
                0,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
        if result >= 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Wakes the kernel to send.
    pub(super) fn wake_send(&self) -> io::Result<()> {
        // SAFETY: no buffer is given.
        let result = unsafe {
            libc::sendto(
                self.0.as_raw_fd(),
                std::ptr::null(),
                0,
                libc::MSG_DONTWAIT,
                std::ptr::null(),
                0,
            )
        };
        if result >= 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
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
        let (found, _) = self.get(libc::XDP_STATISTICS, zero)?;
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

/// Index of an interface in the calling thread's network namespace.
pub(super) fn interface_index(interface: &str) -> io::Result<u32> {
    let name = CString::new(interface)?;
    // SAFETY: a string with its final zero, which the call only reads.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}
