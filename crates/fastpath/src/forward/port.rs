//! What is known of one port: its device, its settings and its VLANs.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use bpf::attach::{Attachment, Mode};
use bpf::features::{self, Redirects};
use bpf::program::Program;

use super::ahead::Ahead;
use super::send::Way;
use super::tags::Teller;
use super::{Flows, Suits};

/// 64-bit words of `struct port` of the C source.
pub(super) const PORT_WORDS: usize = 4;
/// `until` of a port for whose routes nobody has to vouch.
pub(super) const FOR_EVER: u64 = u64::MAX;

/// What the device of a port does with frames, which may change while its link stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    pub(super) redirects: Redirects,
    /// May it take VLAN tags out of frames?
    pub(super) takes_tags: bool,
    /// Where its program is fastest.
    pub suits: Suits,
}

impl Device {
    /// Of one that cannot be asked.
    pub(super) const UNKNOWN: Self = Self {
        redirects: Redirects {
            frames: true,
            several: false,
        },
        takes_tags: true,
        suits: Suits::Software,
    };

    /// Asks the device with this name and index, in the calling thread's network namespace. It
    /// answers when nobody else changes links, which may be seconds later.
    ///
    /// # Errors
    /// The kernel's: `ENODEV` when there is no such device.
    pub fn ask(interface: &str, ifindex: u32) -> std::io::Result<Self> {
        Ok(Self {
            redirects: features::redirects(ifindex)?,
            takes_tags: features::takes_tags(interface, ifindex).unwrap_or(true),
            suits: Suits::ask(interface, ifindex)?,
        })
    }
}

/// Which sources may come in by an interface (RFC 3704): the kernel's `rp_filter`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReversePath {
    /// 0: any source but our own addresses.
    #[default]
    Off,
    /// 1: only sources whose own way leaves by this interface.
    Strict,
    /// 2: only sources that have a way.
    Loose,
}

/// What may go on of what comes in by an interface; all else is the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a setting of the kernel's"
)]
pub struct Accepts {
    /// IPv4.
    pub v4: bool,
    /// IPv6.
    pub v6: bool,
    /// Sources of IPv4.
    pub reverse_path: ReversePath,
    /// Our own IPv4 addresses as sources (`accept_local`).
    pub own_sources: bool,
    /// IPv4 packets that leave by the interface they came by. The kernel's IPv6 always looks
    /// whether to send a redirect; its IPv4 does when `send_redirects` is on.
    pub way_back: bool,
}

impl Default for Accepts {
    /// Both families, any source but our own.
    fn default() -> Self {
        Self {
            v4: true,
            v6: true,
            reverse_path: ReversePath::Off,
            own_sources: false,
            way_back: true,
        }
    }
}

impl Accepts {
    /// The bits of `station` in `bpf/ports.h`.
    pub(super) fn bits(self) -> u64 {
        u64::from(self.v4) << 48
            | u64::from(self.v6) << 49
            | u64::from(self.reverse_path == ReversePath::Strict) << 50
            | u64::from(self.reverse_path == ReversePath::Loose) << 51
            | u64::from(self.own_sources) << 52
            | u64::from(!self.way_back) << 53
    }
}

/// How a port receives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortSettings {
    /// False: nothing from it is forwarded, VLANs included; the program leaves every frame to the
    /// kernel.
    pub enabled: bool,
    /// Of untagged frames.
    pub accepts: Accepts,
    /// Frames for this address are routed.
    pub mac: [u8; 6],
    /// Table that untagged frames are looked up in: the caller's number, or for a worker the place
    /// of one of its readers.
    pub table: u32,
    /// Whoever sends leaves VLAN tags in frames, whatever is known of the device
    /// ([`super::Forwarder::hides_tags`]).
    pub trusts_tags: bool,
    /// What makes a flow: the same on all ports.
    pub flows: Flows,
    /// VLANs whose tagged frames are routed.
    pub vlans: Vec<VlanSettings>,
}

/// How one VLAN of a port receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlanSettings {
    /// VLAN identifier, 1 to 4094.
    pub vid: u16,
    /// Interface index of the sub-interface (for the kernel's lookup; 0 otherwise).
    pub ifindex: u32,
    /// Table that its frames are looked up in, as [`PortSettings::table`].
    pub table: u32,
    /// Frames for this address are routed.
    pub mac: [u8; 6],
    /// Of its frames.
    pub accepts: Accepts,
}

#[derive(Debug)]
pub(super) struct Port {
    pub(super) ifindex: u32,
    /// The program on the port, or with packet sockets their filter.
    pub(super) program: Program,
    pub(super) attachment: Attachment,
    pub(super) device: Device,
    pub(super) teller: Teller,
    /// Whether its program searches for frames that wait, too.
    pub(super) ahead: Option<Ahead>,
    /// The same without a driver to ask and without frames that wait, to be run by hand.
    pub(super) dry: OnceCell<Program>,
    /// For bursts of workers that sockets would be slow with.
    pub(super) way: Option<Way>,
    pub(super) settings: PortSettings,
    /// What stands in `vlans`: key and words.
    pub(super) vlans: BTreeMap<u32, [u64; PORT_WORDS]>,
    /// How many found no room there.
    pub(super) vlans_left: usize,
    /// Some wait until no program can be about to read what they were.
    pub(super) vlans_wait: bool,
}

impl Port {
    /// How many VLANs of it the programs know.
    pub(super) fn vlans(&self) -> usize {
        self.vlans.len()
    }

    pub(super) fn hides_tags(&self) -> bool {
        let may_hide = self.attachment.mode() == Mode::Generic || self.device.takes_tags;
        self.teller == Teller::Nobody && may_hide
    }
}
