//! When a frame came, by the kernel's own stamp: threads that read sockets get the processor in an
//! order of their own.

use std::net::UdpSocket;

use rustix::ioctl::{Getter, ioctl};
use rustix::time::Timespec;

/// `SIOCGSTAMPNS` (`linux/sockios.h`), which 64-bit kernels call the old one.
const LAST_STAMP: rustix::ioctl::Opcode = 0x8907;

/// When the frame that was read last from this socket came to it, ns since 1970. `None` for the
/// first: the kernel stamps from the first question on.
pub(crate) fn stamp(socket: &UdpSocket) -> Option<u64> {
    // SAFETY: the kernel writes a `timespec` of 64 bits each there, and reads nothing.
    let stamp = unsafe { ioctl(socket, Getter::<LAST_STAMP, Timespec>::new()) }.ok()?;
    let seconds = u64::try_from(stamp.tv_sec).ok()?;
    Some(seconds * 1_000_000_000 + u64::try_from(stamp.tv_nsec).ok()?)
}
