//! How many receive queues an interface has, as `ethtool -l` shows it.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// `SIOCETHTOOL` of `linux/sockios.h`.
const SIOCETHTOOL: libc::c_ulong = 0x8946;
/// `ETHTOOL_GCHANNELS` of `linux/ethtool.h`.
const GET_CHANNELS: u32 = 0x3c;

/// `struct ethtool_channels`.
#[repr(C)]
#[derive(Default)]
struct Channels {
    command: u32,
    most: [u32; 4],
    receive: u32,
    transmit: u32,
    other: u32,
    combined: u32,
}

/// Receive queues of `interface` in the calling thread's network namespace. 1 for a driver that
/// cannot say.
///
/// # Errors
/// The kernel's: `ENODEV` when there is no such interface.
pub fn receive_queues(interface: &str) -> io::Result<u32> {
    // SAFETY: no memory involved.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, owned by nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let mut channels = Channels {
        command: GET_CHANNELS,
        ..Channels::default()
    };
    // SAFETY: an `ifreq` is integers and arrays of integers, for which zeros are a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero.
    if interface.len() >= request.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (cell, byte) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *cell = libc::c_char::from_ne_bytes([byte]);
    }
    request.ifr_ifru.ifru_data = (&raw mut channels).cast();
    // The C libraries disagree about the type of the number, not about its value.
    // SAFETY: the request names an interface and points to the record that this command fills; both
    // live through the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
    if result == 0 {
        return Ok((channels.receive + channels.combined).max(1));
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP) => Ok(1),
        _ => Err(error),
    }
}
