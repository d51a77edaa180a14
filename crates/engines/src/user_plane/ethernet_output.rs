//! Ethernet output: the neighbour's address, our own, and the tag of the egress VLAN.

use fastpath::forward::Reason;
use fib::NextHopEntry;
use port::pool::LINE;
use port::{Frame, Pool};
use wire::vlan;

/// Writes both addresses over the old ones, which lie in the same order in the entry.
#[inline]
pub(super) fn step(line: &mut [u8; LINE], entry: &NextHopEntry) {
    line[..6].copy_from_slice(&entry.destination_mac);
    line[6..12].copy_from_slice(&entry.source_mac);
}

/// Puts the tag of the egress VLAN behind the addresses.
#[cold]
pub(super) fn tag(pool: &mut Pool, frame: &mut Frame, control: u16) -> Result<(), Reason> {
    let made_room = frame.grow_front(vlan::TAG_LENGTH as u16);
    if made_room && vlan::push(pool.bytes_mut(frame), vlan::Tag(control)) {
        Ok(())
    } else {
        Err(Reason::NoHeadroom)
    }
}
