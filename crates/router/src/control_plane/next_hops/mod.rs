//! The numbers that routes answer with, and what stands behind each: handed out once per distinct
//! content, counted, taken back when the last user leaves.
//!
//! A route never holds an Ethernet address; it holds a number. So a neighbour that changes its
//! address, a link that goes down, or a nexthop object that FRR replaces costs one entry, however
//! many hundred thousand routes use it.
//!
//! Numbers are 16 bits wide. When all are in use, further next hops answer "punt": those routes
//! stay with the kernel, and [`NextHops::refused`] counts how often that was the case.

mod refresh;

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use fib::next_hop::Kind;
use fib::{NextHop, NextHopEntry};

use crate::control_plane::buckets;
use crate::control_plane::surroundings::{HopKey, Surroundings, fixed_entry};
use crate::engine::{Change, fixed};

/// What stands behind a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Something that never changes.
    Fixed(Kind),
    /// A neighbour.
    Hop(HopKey),
    /// Several next hops, each with its weight.
    Group(Vec<(NextHop, u16)>),
}

#[derive(Debug)]
struct Slot {
    content: Content,
    users: u32,
    written: Written,
}

#[derive(Debug, PartialEq, Eq)]
enum Written {
    Entry(NextHopEntry),
    Buckets(Vec<NextHop>),
}

/// The allocator.
#[derive(Debug)]
pub struct NextHops {
    slots: Vec<Option<Slot>>,
    // Numbers wait here at length, so that frames in flight are long gone when one is used for
    // something else.
    free: VecDeque<u16>,
    shared: HashMap<Shared, NextHop>,
    neighbours: HashMap<(u32, IpAddr), Vec<NextHop>>,
    /// How often a next hop was wanted when every number was in use.
    pub refused: u64,
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum Shared {
    Hop(HopKey),
    Group(Vec<(NextHop, u16)>),
}

/// The content of the fixed numbers, in order from [`fixed::PUNT`].
const FIXED: [Kind; 4] = [
    Kind::Punt,
    Kind::Blackhole,
    Kind::Unreachable,
    Kind::Prohibit,
];

impl NextHops {
    /// Only the fixed numbers, which are written to `out`.
    pub fn new(out: &mut Vec<Change>) -> Self {
        let mut slots = vec![None];
        for (number, kind) in (1..).zip(FIXED) {
            let entry = fixed_entry(kind);
            out.push(Change::NextHop {
                id: NextHop(number),
                entry,
            });
            slots.push(Some(Slot {
                content: Content::Fixed(kind),
                users: 1,
                written: Written::Entry(entry),
            }));
        }
        Self {
            slots,
            free: VecDeque::new(),
            shared: HashMap::new(),
            neighbours: HashMap::new(),
            refused: 0,
        }
    }

    /// How many numbers are in use.
    pub fn in_use(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    /// The number for a neighbour; the caller holds one use of it.
    pub fn hop(&mut self, key: HopKey, around: &Surroundings, out: &mut Vec<Change>) -> NextHop {
        if let Some(&id) = self.shared.get(&Shared::Hop(key)) {
            self.hold(id);
            return id;
        }
        let id = self.private(Content::Hop(key), around, out);
        if id.0 >= fixed::FIRST_FREE {
            self.shared.insert(Shared::Hop(key), id);
        }
        id
    }

    /// The number for a group over `members`, whose uses pass to the group; the caller holds one
    /// use of it. When a group `before` is being replaced by this one, flows of the members in
    /// both stay where they are.
    pub fn group(
        &mut self,
        members: Vec<(NextHop, u16)>,
        before: NextHop,
        around: &Surroundings,
        v6: bool,
        out: &mut Vec<Change>,
    ) -> NextHop {
        let key = Shared::Group(members);
        if let Some(&id) = self.shared.get(&key) {
            self.hold(id);
            let Shared::Group(members) = key else {
                return id;
            };
            for (member, _) in members {
                self.release(member, out);
            }
            return id;
        }
        let Shared::Group(members) = key else {
            return fixed::PUNT;
        };
        let Some(id) = self.number() else {
            for (member, _) in members {
                self.release(member, out);
            }
            return fixed::PUNT;
        };
        let seed = match self.slot(before).map(|slot| &slot.written) {
            Some(Written::Buckets(old)) => old.clone(),
            _ => Vec::new(),
        };
        let buckets = buckets::deal(&seed, &self.living(&members, around, v6));
        let written = write(id, buckets, out);
        self.slots[usize::from(id.0)] = Some(Slot {
            content: Content::Group(members.clone()),
            users: 1,
            written,
        });
        self.shared.insert(Shared::Group(members), id);
        id
    }

    /// A number of its own for `content`, shared with nobody: what a nexthop object gets. One use
    /// is held.
    pub fn private(
        &mut self,
        content: Content,
        around: &Surroundings,
        out: &mut Vec<Change>,
    ) -> NextHop {
        let Some(id) = self.number() else {
            return fixed::PUNT;
        };
        let placeholder = Written::Entry(NextHopEntry::default());
        self.slots[usize::from(id.0)] = Some(Slot {
            content: Content::Fixed(Kind::Punt),
            users: 1,
            written: placeholder,
        });
        self.rewrite(id, content, around, out);
        id
    }

    /// Puts other content behind a private number. Members of a group are held by it, those of
    /// before released.
    pub fn rewrite(
        &mut self,
        id: NextHop,
        content: Content,
        around: &Surroundings,
        out: &mut Vec<Change>,
    ) {
        if id.0 < fixed::FIRST_FREE {
            return;
        }
        if let Content::Group(members) = &content {
            for &(member, _) in members {
                self.hold(member);
            }
        }
        if let Content::Hop(key) = &content {
            self.neighbours
                .entry((key.link, key.gateway))
                .or_default()
                .push(id);
        }
        let written = match &content {
            Content::Fixed(kind) => Written::Entry(fixed_entry(*kind)),
            Content::Hop(key) => Written::Entry(around.entry(key)),
            Content::Group(members) => {
                let old = match self.slot(id).map(|slot| &slot.written) {
                    Some(Written::Buckets(old)) => old.clone(),
                    _ => Vec::new(),
                };
                match buckets::deal(&old, members) {
                    empty if empty.is_empty() => Written::Entry(fixed_entry(Kind::Punt)),
                    buckets => Written::Buckets(buckets),
                }
            }
        };
        let Some(slot) = self
            .slots
            .get_mut(usize::from(id.0))
            .and_then(Option::as_mut)
        else {
            return;
        };
        if slot.written != written {
            out.push(change(id, &written));
        }
        slot.written = written;
        let before = std::mem::replace(&mut slot.content, content);
        self.let_go(id, before, out);
    }

    /// One more user.
    pub fn hold(&mut self, id: NextHop) {
        if id.0 >= fixed::FIRST_FREE
            && let Some(slot) = self
                .slots
                .get_mut(usize::from(id.0))
                .and_then(Option::as_mut)
        {
            slot.users += 1;
        }
    }

    /// One user less; the last one frees the number.
    pub fn release(&mut self, id: NextHop, out: &mut Vec<Change>) {
        if id.0 < fixed::FIRST_FREE {
            return;
        }
        let Some(place) = self.slots.get_mut(usize::from(id.0)) else {
            return;
        };
        let Some(slot) = place else { return };
        slot.users -= 1;
        if slot.users > 0 {
            return;
        }
        let content = place
            .take()
            .map_or(Content::Fixed(Kind::Punt), |slot| slot.content);
        out.push(Change::Release { id });
        self.free.push_back(id.0);
        match &content {
            Content::Hop(key) => self.forget_shared(&Shared::Hop(*key), id),
            Content::Group(members) => {
                self.forget_shared(&Shared::Group(members.clone()), id);
            }
            Content::Fixed(_) => {}
        }
        self.let_go(id, content, out);
    }

    fn forget_shared(&mut self, key: &Shared, id: NextHop) {
        if self.shared.get(key) == Some(&id) {
            self.shared.remove(key);
        }
    }

    /// Undoes what `content` held while it stood behind `id`.
    fn let_go(&mut self, id: NextHop, content: Content, out: &mut Vec<Change>) {
        match content {
            Content::Fixed(_) => {}
            Content::Hop(key) => {
                if let Some(ids) = self.neighbours.get_mut(&(key.link, key.gateway)) {
                    if let Some(at) = ids.iter().position(|&other| other == id) {
                        ids.swap_remove(at);
                    }
                    if ids.is_empty() {
                        self.neighbours.remove(&(key.link, key.gateway));
                    }
                }
            }
            Content::Group(members) => members
                .into_iter()
                .for_each(|(member, _)| self.release(member, out)),
        }
    }

    fn slot(&self, id: NextHop) -> Option<&Slot> {
        self.slots.get(usize::from(id.0))?.as_ref()
    }

    /// The neighbour behind a number, if it is one.
    pub fn key(&self, id: NextHop) -> Option<HopKey> {
        match self.slot(id)?.content {
            Content::Hop(key) => Some(key),
            _ => None,
        }
    }

    /// What stands behind a number.
    pub fn content(&self, id: NextHop) -> Option<&Content> {
        Some(&self.slot(id)?.content)
    }

    /// The neighbours that a number can send to: one, or those of a group.
    pub fn keys(&self, id: NextHop) -> Vec<HopKey> {
        match self.content(id) {
            Some(Content::Hop(key)) => vec![*key],
            Some(Content::Group(members)) => members
                .iter()
                .filter_map(|&(member, _)| self.key(member))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Every number in use that sends to a neighbour.
    pub fn hops(&self) -> impl Iterator<Item = (NextHop, HopKey)> {
        (0u16..)
            .zip(&self.slots)
            .filter_map(|(number, slot)| match slot.as_ref()?.content {
                Content::Hop(key) => Some((NextHop(number), key)),
                _ => None,
            })
    }

    fn number(&mut self) -> Option<NextHop> {
        // A freed number is taken again only when many others were freed after it, or there is no
        // fresh one.
        let fresh = u16::try_from(self.slots.len()).is_ok();
        if self.free.len() > 1024 || !fresh {
            if let Some(number) = self.free.pop_front() {
                return Some(NextHop(number));
            }
            self.refused += 1;
            return None;
        }
        self.slots.push(None);
        Some(NextHop((self.slots.len() - 1) as u16))
    }
}

fn write(id: NextHop, buckets: Vec<NextHop>, out: &mut Vec<Change>) -> Written {
    let written = if buckets.is_empty() {
        Written::Entry(fixed_entry(Kind::Punt))
    } else {
        Written::Buckets(buckets)
    };
    out.push(change(id, &written));
    written
}

fn change(id: NextHop, written: &Written) -> Change {
    match written {
        Written::Entry(entry) => Change::NextHop { id, entry: *entry },
        Written::Buckets(buckets) => Change::Group {
            id,
            buckets: buckets.clone(),
        },
    }
}
