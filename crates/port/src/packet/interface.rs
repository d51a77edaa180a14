//! What a packet socket must know of its interface.

use wire::ethernet::{HEADER_LENGTH, MINIMUM_FRAME, MacAddress};
use wire::vlan::TAG_LENGTH;

/// What an interface is, as the kernel says when the port is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its index.
    pub index: u32,
    /// Its hardware address.
    pub mac: MacAddress,
    /// The longest packet it carries, in bytes.
    pub mtu: u32,
}

/// The frames that a ring slot must hold: the interface's longest packet, its link header and a
/// tag.
pub const fn longest_frame(mtu: u32) -> usize {
    let frame = mtu as usize + HEADER_LENGTH + TAG_LENGTH;
    if frame < MINIMUM_FRAME {
        MINIMUM_FRAME
    } else {
        frame
    }
}
