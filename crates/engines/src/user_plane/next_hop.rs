//! Next hop: what the table's answer means for this frame. A member of a group is chosen by the
//! flow's hash; exceptions end the way here; the egress port is one of this worker's, and the
//! packet fits it.

use fastpath::forward::{Flows, Reason};
use fib::next_hop::{Kind, NextHops};
use fib::{NextHop, NextHopEntry};
use port::{Frame, Pool};
use wire::ethernet::HEADER_LENGTH as LINK;

use super::flow_hash;

/// Which of the worker's ports has a number: one array, indexed by the number. And what makes a
/// flow, by which one of several ways is chosen.
#[derive(Debug, Default)]
pub(super) struct Egress {
    places: Vec<u8>,
    pub(super) flows: Flows,
}

impl Egress {
    /// No port of this worker.
    const NOBODY: u8 = u8::MAX;
    /// The greatest number of a port: Linux numbers interfaces from 1 and rarely passes some
    /// thousands.
    pub(super) const GREATEST_NUMBER: u32 = 1 << 20;

    pub(super) fn set(&mut self, number: u32, place: u8) {
        let index = number as usize;
        if self.places.len() <= index {
            self.places.resize(index + 1, Self::NOBODY);
        }
        self.places[index] = place;
    }

    #[inline]
    fn get(&self, number: u32) -> u8 {
        self.places
            .get(number as usize)
            .copied()
            .unwrap_or(Self::NOBODY)
    }
}

/// The adjacency to rewrite for, and the egress port's place among the worker's.
#[inline]
pub(super) fn step<'a>(
    next_hops: &'a NextHops,
    egress: &Egress,
    pool: &Pool,
    frame: &Frame,
    next_hop: NextHop,
) -> Result<(&'a NextHopEntry, u8), Reason> {
    let mut entry = next_hops.get(next_hop);
    if entry.kind != Kind::Adjacency {
        entry = beyond(next_hops, egress.flows, entry, pool, frame)?;
    }
    let place = egress.get(entry.port);
    if place == Egress::NOBODY {
        return Err(Reason::UnknownPort);
    }
    // Padding has been cut off beyond the shortest frame, which fits every link.
    if entry.mtu != 0 && usize::from(frame.length()) > LINK + usize::from(entry.mtu) {
        return Err(Reason::TooBig);
    }
    Ok((entry, place))
}

/// The adjacency that a flow has in a group, or why an entry leads to none.
#[inline(never)]
fn beyond<'a>(
    next_hops: &'a NextHops,
    flows: Flows,
    entry: &NextHopEntry,
    pool: &Pool,
    frame: &Frame,
) -> Result<&'a NextHopEntry, Reason> {
    let mut kind = entry.kind;
    if kind == Kind::Group {
        let hash = flow_hash::of(pool.bytes(frame), flows).ok_or(Reason::Punt)?;
        let member = next_hops.get(next_hops.member(entry, hash));
        match member.kind {
            Kind::Adjacency => return Ok(member),
            Kind::None => return Err(Reason::EmptyGroup),
            other => kind = other,
        }
    }
    Err(match kind {
        Kind::None => Reason::NoRoute,
        Kind::Local => Reason::Local,
        Kind::Unresolved => Reason::Unresolved,
        Kind::Punt => Reason::Punt,
        Kind::Blackhole => Reason::Blackhole,
        Kind::Unreachable => Reason::Unreachable,
        Kind::Prohibit => Reason::Prohibit,
        // A group within a group, which nobody makes.
        Kind::Group | Kind::Adjacency => Reason::EmptyGroup,
    })
}
