//! Ethernet output: the neighbour's address, our own, and the tag of the egress VLAN.

use fib::NextHopEntry;
use port::{Frame, Pool};
use wire::vlan;

use super::Reason;

/// Writes both addresses over the old ones, which lie in the same order in the entry.
#[inline]
pub(super) fn step(pool: &mut Pool, frame: &mut Frame, entry: &NextHopEntry) -> Result<(), Reason> {
    let line = pool.line_mut(frame);
    line[..6].copy_from_slice(&entry.destination_mac);
    line[6..12].copy_from_slice(&entry.source_mac);
    if entry.vlan == 0 {
        Ok(())
    } else {
        tag(pool, frame, entry.vlan)
    }
}

#[cold]
fn tag(pool: &mut Pool, frame: &mut Frame, control: u16) -> Result<(), Reason> {
    let made_room = frame.grow_front(vlan::TAG_LENGTH as u16);
    if made_room && vlan::push(pool.bytes_mut(frame), vlan::Tag(control)) {
        Ok(())
    } else {
        Err(Reason::NoHeadroom)
    }
}
