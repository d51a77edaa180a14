//! What a network device can do with XDP, as the kernel says over generic netlink (family `netdev`,
//! Linux 6.3).
//!
//! What matters here: whether the device takes frames that are redirected to it, and those of
//! several buffers, too. A veth does only while its peer has an XDP program or GRO switched on;
//! redirecting to one that does not loses every frame without a word.

use std::io;

use host::netlink::{GENERIC, Message, ROUTE, Socket, append, attributes, refused, short, text};

/// `NETDEV_XDP_ACT_BASIC` and `NETDEV_XDP_ACT_REDIRECT`.
const RUNS_PROGRAMS: u64 = 1 << 0 | 1 << 1;
/// `NETDEV_XDP_ACT_NDO_XMIT`.
const REDIRECT: u64 = 1 << 2;
/// `NETDEV_XDP_ACT_NDO_XMIT_SG`.
const REDIRECT_SEVERAL: u64 = 1 << 6;
const FAMILY: &[u8] = b"netdev\0";

const CONTROL_FAMILY: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
const DEVICE_GET: u8 = 1;
const DEVICE_IFINDEX: u16 = 1;
const DEVICE_XDP_FEATURES: u16 = 3;
const DEVICE_XDP_METADATA: u16 = 5;
/// `NETDEV_XDP_RX_METADATA_VLAN_TAG`.
const TELLS_TAGS: u64 = 1 << 2;

/// What a device takes of frames that a program redirects to it; the rest is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redirects {
    /// Frames of one buffer.
    pub frames: bool,
    /// Frames of several.
    pub several: bool,
}

/// What the device with this index, in the calling thread's network namespace, takes of redirected
/// frames. When the kernel is too old to say: frames of one buffer, and a veth none, because it may
/// lose all of them.
///
/// # Errors
/// The kernel's: `ENODEV` when there is no such device.
pub fn redirects(ifindex: u32) -> io::Result<Redirects> {
    by_family(ifindex, FAMILY)
}

/// Does the device take redirected frames of one buffer ([`redirects`])?
///
/// # Errors
/// The kernel's: `ENODEV` when there is no such device.
pub fn accepts_redirect(ifindex: u32) -> io::Result<bool> {
    Ok(redirects(ifindex)?.frames)
}

/// Does the driver of this device tell a program that is bound to it ([`Loader::bound_to`]) which
/// VLAN tag was taken out of a frame? Not when the kernel is too old to say (Linux 6.8).
///
/// # Errors
/// The kernel's: `ENODEV` when there is no such device.
///
/// [`Loader::bound_to`]: crate::program::Loader::bound_to
pub fn tells_tags(ifindex: u32) -> io::Result<bool> {
    let metadata = ask_device(ifindex, FAMILY, DEVICE_XDP_METADATA)?;
    Ok(metadata.is_some_and(|bits| bits & TELLS_TAGS != 0))
}

/// Does the driver of this device run XDP programs itself, and can they redirect? `None` when the
/// kernel is too old to say (Linux 6.3).
///
/// # Errors
/// The kernel's: `ENODEV` when there is no such device.
pub fn runs_programs(ifindex: u32) -> io::Result<Option<bool>> {
    let features = ask_device(ifindex, FAMILY, DEVICE_XDP_FEATURES)?;
    Ok(features.map(|features| features & RUNS_PROGRAMS == RUNS_PROGRAMS))
}

fn by_family(ifindex: u32, family: &[u8]) -> io::Result<Redirects> {
    let Some(features) = ask_device(ifindex, family, DEVICE_XDP_FEATURES)? else {
        return Ok(Redirects {
            frames: kind(ifindex)?.as_deref() != Some("veth"),
            several: false,
        });
    };
    Ok(Redirects {
        frames: features & REDIRECT != 0,
        several: features & REDIRECT_SEVERAL != 0,
    })
}

/// The bits of a device's attribute; none when the kernel does not have this family.
fn ask_device(ifindex: u32, family: &[u8], attribute: u16) -> io::Result<Option<u64>> {
    let mut socket = Socket::open(Some(GENERIC), &[])?;
    let name = (FAMILY_NAME, family);
    let family = match ask(&mut socket, CONTROL_FAMILY, GET_FAMILY, name, FAMILY_ID) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(None);
        }
        answer => short(&answer?),
    };
    let index = (DEVICE_IFINDEX, &ifindex.to_ne_bytes()[..]);
    let bits = ask(&mut socket, family, DEVICE_GET, index, attribute)?;
    Ok(Some(
        bits.first_chunk().copied().map_or(0, u64::from_ne_bytes),
    ))
}

/// May this device take VLAN tags out of frames before a program sees them? A veth may always:
/// whether it has them beside frames is its peer's setting, not its own.
///
/// # Errors
/// The kernel's: `ENODEV` when there is no such device.
pub fn takes_tags(interface: &str, ifindex: u32) -> io::Result<bool> {
    Ok(kind(ifindex)?.as_deref() == Some("veth")
        || host::offload::receiving(interface)?.strips_vlans)
}

/// Does the device belong to a virtual machine whose host hands over frames with unfinished
/// checksums and segments of many frames?
///
/// # Errors
/// When there is no such device, or its driver does not say.
pub fn takes_from_host(interface: &str) -> io::Result<bool> {
    host::offload::takes_from_host(interface)
}

/// `IFLA_LINKINFO`, and in it `IFLA_INFO_KIND`.
const LINK_INFORMATION: u16 = 18;
const LINK_KIND: u16 = 1;

/// What kind of software device this is, as `ip link add type` names it: `veth`, `tun`, `bridge`.
/// `None` for hardware.
///
/// # Errors
/// The kernel's: `ENODEV` when there is no such device.
pub fn kind(ifindex: u32) -> io::Result<Option<String>> {
    // `struct ifinfomsg`: family, type, index, flags, mask.
    let mut body = [0; 16];
    body[4..8].copy_from_slice(&ifindex.to_ne_bytes());
    let mut socket = Socket::open(ROUTE, &[])?;
    socket.ask(libc::RTM_GETLINK, 0, &body, |message: Message<'_>| {
        if i32::from(message.kind) == libc::NLMSG_ERROR {
            return Err(refused(message.payload).unwrap_or_else(|| io::ErrorKind::Other.into()));
        }
        let links = attributes(message.payload.get(16..).unwrap_or_default());
        let mut kinds = links
            .filter(|(kind, _)| *kind == LINK_INFORMATION)
            .flat_map(|(_, value)| attributes(value));
        let kind = kinds.find(|(kind, _)| *kind == LINK_KIND);
        Ok(kind.map(|(_, value)| text(value)))
    })?
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

#[cfg(test)]
#[path = "../tests/unit/features.rs"]
mod tests;
