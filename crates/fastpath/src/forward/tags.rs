//! VLAN tags that a device has taken out of a frame before the program sees it (VLAN offload), and
//! who tells the program of them.
//!
//! - A driver may tell a program that is bound to its device (Linux 6.8). A veth does; whether it
//!   has tags beside frames is its peer's affair. The program then routes the frame as its VLAN's.
//! - In generic mode a second program, where the kernel takes frames in, notes whether there is
//!   a tag beside the next one. The first leaves such a frame to the kernel: it could not take the
//!   tag off.
//! - Where nobody tells, the device must leave tags in frames, which a veth never promises. Else
//!   the port is the kernel's, unless the user knows better ([`PortSettings::trusts_tags`]).
//!
//! [`PortSettings::trusts_tags`]: super::PortSettings::trusts_tags

use std::os::fd::OwnedFd;

use bpf::attach;
use bpf::btf::Btf;
use bpf::features;
use bpf::map::Map;
use bpf::program::Loader;

use crate::Result;
use crate::packed::{Packed, packed};

const OBJECT: Packed = packed!("arrive");
const TRACEPOINT: &str = "netif_receive_skb";
const FUNCTION: &str = "bpf_xdp_metadata_rx_vlan_tag";
/// `ask_driver` of the C source.
const STAND_IN: i32 = 0x7461_6700;

/// Who tells a port's program of tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Teller {
    Nobody,
    /// By this function of the kernel's.
    Driver {
        function: u32,
        ifindex: u32,
    },
    Stack,
}

impl Teller {
    /// Has the forwarder's program ask.
    pub(super) fn shape(self, loader: Loader) -> Loader {
        match self {
            Self::Nobody => loader.constant("TELLER", 0),
            Self::Driver { function, ifindex } => loader
                .constant("TELLER", 1)
                .function(STAND_IN, function)
                .bound_to(ifindex),
            Self::Stack => loader.constant("TELLER", 2),
        }
    }
}

/// Who can tell, with this kernel.
#[derive(Debug, Default)]
pub(super) struct Tellers {
    function: Option<u32>,
    /// Where the tag and the protocol are in a `struct sk_buff`.
    places: Option<[u64; 2]>,
    /// The program that notes tags, once it is needed.
    arrivals: Option<OwnedFd>,
}

impl Tellers {
    /// By how the kernel describes itself, if it does.
    pub(super) fn of(types: Option<&Btf>) -> Self {
        let place = |field: &str| {
            let offset = types?.offset("sk_buff", &[field])?;
            Some(u64::from(offset.unsigned_abs()))
        };
        let places = || Some([place("vlan_all")?, place("protocol")?]);
        let told = types.and_then(|types| types.tracepoint(TRACEPOINT));
        Self {
            function: types.and_then(|types| types.function(FUNCTION)),
            places: told
                .filter(|(_, arguments)| *arguments == 1)
                .and_then(|_| places()),
            arrivals: None,
        }
    }

    pub(super) fn native(&self, ifindex: u32) -> Teller {
        let tells = || features::tells_tags(ifindex).unwrap_or(false);
        match self.function {
            Some(function) if tells() => Teller::Driver { function, ifindex },
            _ => Teller::Nobody,
        }
    }

    pub(super) fn generic(&mut self, arrived: &Map) -> Result<Teller> {
        let (None, Some([tag, protocol])) = (&self.arrivals, self.places) else {
            return Ok(match self.arrivals {
                Some(_) => Teller::Stack,
                None => Teller::Nobody,
            });
        };
        let loader = OBJECT
            .loader()?
            .constant("TAG", tag)
            .constant("PROTOCOL", protocol)
            .share("arrived", arrived.clone());
        let program = loader.load()?.program("arrive")?;
        self.arrivals = Some(attach::at_tracepoint(&program, TRACEPOINT)?);
        Ok(Teller::Stack)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/tags.rs"]
mod tests;
