//! Where a port's program runs: in the driver, or behind the kernel's own receiving.
//!
//! In the driver (XDP) a frame costs least, and each is one on the wire. At tc one can stand for
//! many: a sender with offloads on hands over segments of up to 64 KiB with one header, which are
//! looked up once and go on whole. Frames cross between both kinds of port: what comes by XDP
//! leaves by whatever takes redirected frames, what comes by tc by any device, through its queueing
//! discipline.
//!
//! At tc a device's queue may lose frames that were counted as forwarded, as those of the kernel's
//! own forwarding; its statistics say so (`tc -s qdisc`).

use std::{fmt, io};

use bpf::attach::{Mode, Request};
use bpf::features;

/// Where a port's program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before the kernel has made a socket buffer of a frame, or right after it (generic mode).
    Xdp(Request),
    /// At tc, with whole segments. Needs a table of our own ([`Lookup::Own`](super::Lookup)).
    Tc,
    /// Where it suits the device, which is asked unless that is known; when that is refused, at the
    /// other.
    Suiting(Option<Suits>),
    /// Where another process has a program, whose link this one gets later, in this mode
    /// ([`Forwarder::receive`](super::Forwarder::receive)).
    Elsewhere(Mode),
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Xdp(_) => "XDP",
            Self::Tc => "tc",
            Self::Suiting(_) => "where it suits the device",
            Self::Elsewhere(_) => "where another process has it",
        })
    }
}

/// What a port's device is like, which says where its program is fastest without making any traffic
/// slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suits {
    /// A card whose driver runs programs: each frame of its wire is one.
    Native,
    /// A card whose driver runs none.
    NoNative,
    /// Made of software (veth, tap, bridge, bond): its senders hand over segments with unfinished
    /// checksums, and stop doing so, or have them cut up, where a program is in the driver.
    Software,
    /// A virtual machine's card (virtio) with a sender like that on the host.
    Host,
}

impl Suits {
    /// Asks the device with this name and index, in the calling thread's network namespace.
    ///
    /// # Errors
    /// The kernel's: `ENODEV` when there is no such device.
    pub fn ask(interface: &str, ifindex: u32) -> io::Result<Self> {
        Ok(if features::kind(ifindex)?.is_some() {
            Self::Software
        } else if features::takes_from_host(interface).unwrap_or(false) {
            Self::Host
        } else if features::runs_programs(ifindex)? == Some(false) {
            Self::NoNative
        } else {
            Self::Native
        })
    }

    /// Where the program goes.
    pub fn place(self) -> Place {
        match self {
            Self::Native => Place::Xdp(Request::Native),
            Self::NoNative | Self::Software | Self::Host => Place::Tc,
        }
    }
}

impl From<Request> for Place {
    fn from(request: Request) -> Self {
        Self::Xdp(request)
    }
}
