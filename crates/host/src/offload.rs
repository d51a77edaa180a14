//! Switches of an interface that measurements depend on.

use std::io;
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketType, socket};

use crate::network_error::Error;
use crate::process::checked;

/// `SIOCETHTOOL` of `linux/sockios.h`.
const SIOCETHTOOL: libc::c_ulong = 0x8946;
/// `ETHTOOL_GFLAGS`, and its bits `ETH_FLAG_RXVLAN` and `ETH_FLAG_LRO`.
const ETHTOOL_GFLAGS: u32 = 0x25;
const FLAG_RXVLAN: u32 = 1 << 8;
const FLAG_LRO: u32 = 1 << 15;
/// `ETHTOOL_SFLAGS`.
const ETHTOOL_SFLAGS: u32 = 0x26;

/// What an interface does on its own, as `ethtool -K` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// `gro`: joins received segments. A veth takes redirected XDP frames only when its peer has an
    /// XDP program or this is on: either makes it poll its queue.
    GenericReceive,
    /// `gso`: takes large segments and cuts them late.
    GenericSegments,
    /// `tso`: takes large TCP segments.
    TcpSegments,
    /// `tx`: completes checksums of what is sent.
    Checksums,
}

impl Offload {
    /// `ETHTOOL_SGRO`, `_SGSO`, `_STSO`, `_STXCSUM` of `linux/ethtool.h`.
    fn command(self) -> u32 {
        match self {
            Self::GenericReceive => 0x2c,
            Self::GenericSegments => 0x24,
            Self::TcpSegments => 0x1f,
            Self::Checksums => 0x17,
        }
    }
}

/// A record of `linux/ethtool.h` without its first word, which is the command that reads or writes
/// it. All its fields are numbers.
pub(crate) trait Record {}

/// `struct ethtool_value` of `linux/ethtool.h`.
impl Record for u32 {}

/// `ETHTOOL_GDRVINFO`, `ETHTOOL_GRXCSUM`.
const ETHTOOL_GDRVINFO: u32 = 0x3;
const ETHTOOL_GRXCSUM: u32 = 0x14;

/// `struct ethtool_drvinfo` of `linux/ethtool.h`, in words.
#[repr(C)]
struct Driver {
    name: [u8; 32],
    more: [u32; 40],
}

impl Record for Driver {}

/// Switches a feature of `interface`, in the network namespace of the calling thread.
///
/// # Errors
/// When there is no such interface, it has no such switch, or the rights are missing.
pub fn switch(interface: &str, offload: Offload, on: bool) -> Result<(), Error> {
    match ethtool(interface, offload.command(), u32::from(on)) {
        Ok(_) => Ok(()),
        Err(source) => Err(Error::Setting {
            name: "this namespace".to_owned(),
            key: format!("{offload:?} of {interface}"),
            value: if on { "on" } else { "off" }.to_owned(),
            source,
        }),
    }
}

/// Whether a feature of `interface` is on, in the network namespace of the calling thread.
///
/// # Errors
/// The kernel's: `ENODEV` when there is no such interface.
pub fn is_on(interface: &str, offload: Offload) -> io::Result<bool> {
    // The question precedes the order: `ETHTOOL_GGRO`, `_GGSO`, `_GTSO`, `_GTXCSUM`.
    Ok(ethtool(interface, offload.command() - 1, 0_u32)? != 0)
}

/// Has the driver of `interface` join segments (LRO), or not.
///
/// # Errors
/// When there is no such interface, its driver cannot, or the rights are missing.
pub fn join_segments(interface: &str, on: bool) -> io::Result<()> {
    let others = ethtool(interface, ETHTOOL_GFLAGS, 0_u32)? & !FLAG_LRO;
    let joining = if on { FLAG_LRO } else { 0 };
    ethtool(interface, ETHTOOL_SFLAGS, others | joining)?;
    Ok(())
}

/// What a card does to frames before a program in its driver sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Receiving {
    /// It takes VLAN tags off.
    pub strips_vlans: bool,
    /// It joins segments into large frames, which cannot be forwarded (LRO).
    pub joins_segments: bool,
}

/// What `interface`, in the network namespace of the calling thread, does on receive.
///
/// # Errors
/// When there is no such interface, or its driver does not say.
pub fn receiving(interface: &str) -> io::Result<Receiving> {
    let flags = ethtool(interface, ETHTOOL_GFLAGS, 0_u32)?;
    Ok(Receiving {
        strips_vlans: flags & FLAG_RXVLAN != 0,
        joins_segments: flags & FLAG_LRO != 0,
    })
}

/// Does `interface` belong to a virtual machine whose host hands over frames with unfinished
/// checksums and segments of many frames? In the calling thread's network namespace.
///
/// # Errors
/// When there is no such interface, or its driver does not say.
pub fn takes_from_host(interface: &str) -> io::Result<bool> {
    const { assert!(size_of::<Driver>() == 192) };
    let (name, more) = ([0; 32], [0; 40]);
    let driver = ethtool(interface, ETHTOOL_GDRVINFO, Driver { name, more })?;
    Ok(
        driver.name.starts_with(b"virtio_net\0")
            && ethtool(interface, ETHTOOL_GRXCSUM, 0_u32)? != 0,
    )
}

/// One call with one record, which the kernel reads or fills: the record afterwards.
pub(crate) fn ethtool<R: Record>(interface: &str, command: u32, record: R) -> io::Result<R> {
    #[repr(C)]
    struct Call<R> {
        command: u32,
        record: R,
    }
    // No gap behind the command.
    const { assert!(align_of::<R>() == align_of::<u32>()) };
    let mut call = Call { command, record };
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: an ifreq is plain bytes and a union of plain things, for which all zeros is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero.
    let room = request.ifr_name.len() - 1;
    if interface.len() > room {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (cell, byte) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *cell = libc::c_char::from_ne_bytes([byte]);
    }
    request.ifr_ifru.ifru_data = (&raw mut call).cast();
    // The C libraries disagree about the type of the number, not about its value.
    // SAFETY: the request names an interface and points to the record that its command reads or
    // writes, behind the command; both live through the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
    checked(result).map(|_| call.record)
}
