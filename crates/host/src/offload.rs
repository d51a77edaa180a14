//! Switches of an interface that measurements depend on.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::namespace::Error;

/// `SIOCETHTOOL` of `linux/sockios.h`.
const SIOCETHTOOL: libc::c_ulong = 0x8946;
/// `ETHTOOL_SGRO` of `linux/ethtool.h`.
const ETHTOOL_SGRO: u32 = 0x2c;

/// `struct ethtool_value` of `linux/ethtool.h`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Switches generic receive offload of `interface`, in the network namespace of the calling thread.
///
/// A veth takes redirected XDP frames only when its peer has an XDP program or this is on: either makes it poll its queue.
///
/// # Errors
/// When there is no such interface, it has no such switch, or the rights are missing.
pub fn generic_receive(interface: &str, on: bool) -> Result<(), Error> {
    set(interface, on).map_err(|source| Error::Setting {
        name: "this namespace".to_owned(),
        key: format!("generic receive offload of {interface}"),
        value: if on { "on" } else { "off" }.to_owned(),
        source,
    })
}

fn set(interface: &str, on: bool) -> io::Result<()> {
    // SAFETY: socket takes plain numbers.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and ours alone.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let mut value = EthtoolValue {
        command: ETHTOOL_SGRO,
        data: u32::from(on),
    };
    // SAFETY: an ifreq is plain bytes and a union of plain things, for which all zeros is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero.
    let room = request.ifr_name.len() - 1;
    if interface.len() > room {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (cell, byte) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *cell = libc::c_char::from_ne_bytes([byte]);
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the request names an interface and points to an ethtool_value, which is what ETHTOOL_SGRO reads; both live through the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Namespace, Veth};

    #[test]
    fn a_veth_can_be_switched_and_a_missing_interface_is_named() {
        if !crate::process::is_root() {
            println!("skipped: needs root to make network namespaces");
            return;
        }
        let one = Namespace::new("offload").unwrap();
        let _veth = Veth::new((&one, "a0"), (&one, "b0"), 1).unwrap();
        one.enter(|| {
            generic_receive("a0", true).unwrap();
            generic_receive("a0", false).unwrap();
            assert!(
                generic_receive("zz", true)
                    .unwrap_err()
                    .to_string()
                    .contains("zz")
            );
        })
        .unwrap();
    }
}
