//! What a network device can do with XDP, as the kernel says over generic netlink (family `netdev`,
//! Linux 6.3).
//!
//! The one feature that matters here: whether the device takes frames that are redirected to it. A
//! veth does only while its peer has an XDP program or GRO switched on; redirecting to one that
//! does not loses every frame without a word.

use std::io;

use host::netlink::{GENERIC, Message, Socket, append, attributes, refused, short};

/// `NETDEV_XDP_ACT_NDO_XMIT`.
const ACCEPTS_REDIRECT: u64 = 1 << 2;

const CONTROL_FAMILY: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
const DEVICE_GET: u8 = 1;
const DEVICE_IFINDEX: u16 = 1;
const DEVICE_XDP_FEATURES: u16 = 3;

/// Does the device with this index, in the calling thread's network namespace, take redirected
/// frames? True when the kernel is too old to say.
///
/// # Errors
/// The kernel's: `ENODEV` when there is no such device.
pub fn accepts_redirect(ifindex: u32) -> io::Result<bool> {
    let mut socket = Socket::open(Some(GENERIC), &[])?;
    let name = (FAMILY_NAME, &b"netdev\0"[..]);
    let family = match ask(&mut socket, CONTROL_FAMILY, GET_FAMILY, name, FAMILY_ID) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        answer => short(&answer?),
    };
    let index = (DEVICE_IFINDEX, &ifindex.to_ne_bytes()[..]);
    let features = ask(&mut socket, family, DEVICE_GET, index, DEVICE_XDP_FEATURES)?;
    let features = features
        .first_chunk()
        .copied()
        .map_or(0, u64::from_ne_bytes);
    Ok(features & ACCEPTS_REDIRECT != 0)
}

/// One request with one attribute; the attribute `wanted` of the answer, empty when it has none.
fn ask(
    socket: &mut Socket,
    family: u16,
    command: u8,
    (kind, value): (u16, &[u8]),
    wanted: u16,
) -> io::Result<Vec<u8>> {
    // `struct genlmsghdr`: command, version, reserved.
    let mut body = vec![command, 1, 0, 0];
    append(&mut body, kind, value);
    socket.ask(family, 0, &body, |message: Message<'_>| {
        if i32::from(message.kind) == libc::NLMSG_ERROR {
            return Err(refused(message.payload).unwrap_or_else(|| io::ErrorKind::Other.into()));
        }
        let mut found = attributes(message.payload.get(4..).unwrap_or_default());
        let found = found.find(|(kind, _)| *kind == wanted);
        Ok(found.map_or_else(Vec::new, |(_, value)| value.to_vec()))
    })?
}
