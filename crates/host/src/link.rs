//! One interface asked or switched by `rtnetlink(7)`, in the network namespace of the calling
//! thread. Each call costs microseconds, where a call of `ip` costs two milliseconds.

use std::io;

use crate::netlink::{Socket, attributes, refused};

/// The number of every namespace's loopback interface (`LOOPBACK_IFINDEX` of net/flow.h).
pub(crate) const LOOPBACK: u32 = 1;
/// `IF_OPER_UP` of `linux/if.h`: the kernel has noticed the carrier.
const UP: u8 = 6;
/// Bytes of a `struct ifinfomsg` of `linux/rtnetlink.h`.
const HEADER: usize = 16;

/// Sets an interface up.
///
/// # Errors
/// The kernel's.
pub(crate) fn set_up(index: u32) -> io::Result<()> {
    let up = libc::IFF_UP as u32;
    let body = header(index, up, up);
    let acknowledge = libc::NLM_F_ACK as u16;
    let answer =
        Socket::open(None, &[])?.ask(libc::RTM_NEWLINK, acknowledge, &body, |message| {
            refused(message.payload)
        })?;
    answer.map_or(Ok(()), Err)
}

/// Whether frames that are sent by an interface leave it: it is up and the kernel has noticed its
/// carrier.
///
/// # Errors
/// The kernel's.
pub(crate) fn is_up(index: u32) -> io::Result<bool> {
    let body = header(index, 0, 0);
    Socket::open(None, &[])?.ask(libc::RTM_GETLINK, 0, &body, |message| {
        if message.kind != libc::RTM_NEWLINK {
            let gone = || io::Error::from_raw_os_error(libc::ENODEV);
            return Err(refused(message.payload).unwrap_or_else(gone));
        }
        let mut known = attributes(message.payload.get(HEADER..).unwrap_or_default());
        Ok(known.any(|(kind, value)| kind == libc::IFLA_OPERSTATE && value == [UP]))
    })?
}

/// The flags of an interface, and which of them to change.
fn header(index: u32, flags: u32, change: u32) -> [u8; HEADER] {
    let mut body = [0; HEADER];
    let fields = [index, flags, change].map(u32::to_ne_bytes);
    body[4..].copy_from_slice(fields.as_flattened());
    body
}
