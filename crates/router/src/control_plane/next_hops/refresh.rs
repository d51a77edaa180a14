//! What stands behind a number written again, because something around it changed.

use std::net::IpAddr;

use fib::NextHop;
use fib::next_hop::Kind;

use super::{Content, NextHops, Shared, Written, change};
use crate::control_plane::buckets;
use crate::control_plane::surroundings::{Surroundings, fixed_entry};
use crate::engine::{Change, fixed};

impl NextHops {
    /// A neighbour changed: writes the entries that send to it.
    pub fn refresh_neighbour(
        &mut self,
        link: u32,
        address: IpAddr,
        around: &Surroundings,
        out: &mut Vec<Change>,
    ) {
        for id in self
            .neighbours
            .get(&(link, address))
            .cloned()
            .unwrap_or_default()
        {
            self.refresh(id, around, out);
        }
    }

    /// A link or port changed: writes every entry and group that looks different now.
    pub fn refresh_all(&mut self, around: &Surroundings, out: &mut Vec<Change>) {
        for number in fixed::FIRST_FREE..self.slots.len() as u16 {
            self.refresh(NextHop(number), around, out);
        }
        for number in fixed::FIRST_FREE..self.slots.len() as u16 {
            self.refresh_shared_group(NextHop(number), around, out);
        }
    }

    fn refresh(&mut self, id: NextHop, around: &Surroundings, out: &mut Vec<Change>) {
        let Some(slot) = self
            .slots
            .get_mut(usize::from(id.0))
            .and_then(Option::as_mut)
        else {
            return;
        };
        if let Content::Hop(key) = &slot.content {
            let written = Written::Entry(around.entry(key));
            if slot.written != written {
                out.push(change(id, &written));
                slot.written = written;
            }
        }
    }

    /// Multipath routes keep members whose link is down, and use them again when it is up; objects
    /// shed them for good.
    fn refresh_shared_group(&mut self, id: NextHop, around: &Surroundings, out: &mut Vec<Change>) {
        let Some(slot) = self.slot(id) else { return };
        let Content::Group(members) = &slot.content else {
            return;
        };
        if !self.shared.contains_key(&Shared::Group(members.clone())) {
            return;
        }
        let v6 = members
            .iter()
            .any(|&(member, _)| matches!(self.key(member), Some(key) if key.gateway.is_ipv6()));
        let old = match &slot.written {
            Written::Buckets(old) => old.clone(),
            Written::Entry(_) => Vec::new(),
        };
        let written = match buckets::deal(&old, &self.living(members, around, v6)) {
            empty if empty.is_empty() => Written::Entry(fixed_entry(Kind::Punt)),
            buckets => Written::Buckets(buckets),
        };
        if let Some(slot) = self
            .slots
            .get_mut(usize::from(id.0))
            .and_then(Option::as_mut)
            && slot.written != written
        {
            out.push(change(id, &written));
            slot.written = written;
        }
    }

    pub(super) fn living(
        &self,
        members: &[(NextHop, u16)],
        around: &Surroundings,
        v6: bool,
    ) -> Vec<(NextHop, u16)> {
        let alive = |id: NextHop| self.key(id).is_none_or(|key| around.alive(key.link, v6));
        members
            .iter()
            .copied()
            .filter(|&(member, _)| alive(member))
            .collect()
    }
}
