//! The numbers that routes answer with, and what stands behind each: handed out once per distinct
//! content, counted, taken back when the last user leaves.
//!
//! A route never holds an Ethernet address; it holds a number. So a neighbour that changes its
//! address, a link that goes down, or a nexthop object that FRR replaces costs one entry, however
//! many hundred thousand routes use it.
//!
//! Numbers are 16 bits wide. When all are in use, further next hops answer "punt": those routes
//! stay with the kernel until numbers come back. A nexthop object's group that nothing uses takes
//! no buckets.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fib::next_hop::Kind;
use fib::{NextHop, NextHopEntry};

use super::buckets;
use super::model::Link;
use super::surroundings::{HopKey, Surroundings, fixed_entry};
use crate::engine::{Change, fixed};

/// Next hops, each with its weight.
pub type Members = Vec<(NextHop, u16)>;

/// What stands behind a number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Content {
    /// Something that never changes.
    Fixed(Kind),
    /// A neighbour.
    Hop(HopKey),
    /// A nexthop object's group, which sheds members for good.
    Group(Members),
    /// A multipath route's ways out, which keeps those whose link is down, and uses them again when
    /// it is up.
    Multipath {
        /// Is the route one of IPv6?
        v6: bool,
        /// Its ways out.
        members: Members,
    },
}

impl Content {
    fn members(&self) -> &[(NextHop, u16)] {
        match self {
            Self::Group(members) | Self::Multipath { members, .. } => members,
            Self::Fixed(_) | Self::Hop(_) => &[],
        }
    }
}

#[derive(Debug)]
struct Slot {
    content: Content,
    users: u32,
    /// A nexthop object's, which is one of the users.
    private: bool,
    written: Written,
}

/// What the engine was told.
#[derive(Debug, PartialEq, Eq)]
enum Written {
    Entry(NextHopEntry),
    Buckets(Vec<NextHop>),
}

impl Written {
    fn change(&self, id: NextHop) -> Change {
        match self {
            Self::Entry(entry) => Change::NextHop { id, entry: *entry },
            Self::Buckets(buckets) => Change::Group {
                id,
                buckets: buckets.clone(),
            },
        }
    }
}

/// The allocator.
#[derive(Debug)]
pub struct NextHops {
    /// Links, ports, neighbours: what entries are made of.
    pub around: Surroundings,
    /// What the engine must do, in order; whoever hands it over empties it.
    pub changes: Vec<Change>,
    slots: Vec<Option<Slot>>,
    // Numbers wait here at length, so that frames in flight are long gone when one is used for
    // something else.
    free: VecDeque<u16>,
    shared: HashMap<Content, NextHop>,
    neighbours: BTreeMap<(u32, IpAddr), Vec<NextHop>>,
    refused: usize,
}

/// The content of the fixed numbers, in order from [`fixed::PUNT`].
const FIXED: [Kind; 5] = [
    Kind::Punt,
    Kind::Blackhole,
    Kind::Unreachable,
    Kind::Prohibit,
    Kind::Local,
];

impl NextHops {
    /// Only the fixed numbers, of which the engine is to be told.
    pub fn new(around: Surroundings) -> Self {
        let mut changes = Vec::new();
        let mut slots = vec![None];
        for (number, kind) in (1..).zip(FIXED) {
            let written = Written::Entry(fixed_entry(kind));
            changes.push(written.change(NextHop(number)));
            slots.push(Some(Slot {
                content: Content::Fixed(kind),
                users: 1,
                private: false,
                written,
            }));
        }
        Self {
            around,
            changes,
            slots,
            free: VecDeque::new(),
            shared: HashMap::new(),
            neighbours: BTreeMap::new(),
            refused: 0,
        }
    }

    /// How many wanted a number and got "punt", since this was [forgotten](Self::forget_refused).
    pub fn refused(&self) -> usize {
        self.refused
    }

    /// Whoever was refused asks again.
    pub(super) fn forget_refused(&mut self) {
        self.refused = 0;
    }

    /// Was this, or a member of it, refused a number?
    pub(super) fn is_refused(&self, id: NextHop) -> bool {
        let slot = self.slot(id);
        let members = slot.map_or(&[][..], |slot| slot.content.members());
        id == fixed::PUNT || members.iter().any(|&(member, _)| member == fixed::PUNT)
    }

    /// How many numbers are in use.
    pub fn in_use(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    /// The number for `content`, shared with all who want the same; the caller holds one use of
    /// it. When a group `before` is being replaced by this one, flows of the members in both stay
    /// where they are.
    pub fn share(&mut self, content: Content, before: NextHop) -> NextHop {
        if let Some(&id) = self.shared.get(&content) {
            self.hold(id);
            return id;
        }
        let id = self.place(content.clone(), before, false);
        if id != fixed::PUNT {
            self.shared.insert(content, id);
        }
        id
    }

    /// A number that punts for now, shared with nobody: what a nexthop object gets. One use is
    /// held.
    pub fn private(&mut self) -> NextHop {
        self.place(Content::Fixed(Kind::Punt), NextHop::NONE, true)
    }

    fn place(&mut self, content: Content, before: NextHop, private: bool) -> NextHop {
        let Some(id) = self.number() else {
            self.refused += 1;
            return fixed::PUNT;
        };
        let seed = self.buckets(before).to_vec();
        self.slots[usize::from(id.0)] = Some(Slot {
            content: Content::Fixed(Kind::Punt),
            users: 1,
            private,
            written: Written::Entry(NextHopEntry::default()),
        });
        self.put(id, content, &seed);
        id
    }

    /// Puts other content behind a private number. Members of a group are held by it, those of
    /// before released.
    pub fn rewrite(&mut self, id: NextHop, content: Content) {
        if id.0 >= fixed::FIRST_FREE {
            let seed = self.buckets(id).to_vec();
            self.put(id, content, &seed);
        }
    }

    fn put(&mut self, id: NextHop, content: Content, seed: &[NextHop]) {
        for &(member, _) in content.members() {
            self.hold(member);
        }
        if let Content::Hop(key) = &content {
            let users = self.neighbours.entry((key.link, key.gateway));
            users.or_default().push(id);
        }
        self.write(id, self.written(id, &content, seed));
        if let Some(slot) = self.slot_mut(id) {
            let before = std::mem::replace(&mut slot.content, content);
            self.let_go(id, &before);
        }
    }

    /// What the engine must know of `content` as things are now; `seed` are the buckets of before.
    fn written(&self, id: NextHop, content: &Content, seed: &[NextHop]) -> Written {
        let is_idle = |slot: &Slot| slot.private && slot.users == 1;
        let buckets = match content {
            Content::Group(_) if self.slot(id).is_some_and(is_idle) => Vec::new(),
            Content::Fixed(kind) => return Written::Entry(fixed_entry(*kind)),
            Content::Hop(key) => return Written::Entry(self.around.entry(key)),
            Content::Group(members) => buckets::deal(seed, members),
            Content::Multipath { v6, members } => {
                let alive = |key: HopKey| self.around.alive(key.link, *v6);
                let mut living = members.clone();
                living.retain(|&(member, _)| self.key(member).is_none_or(alive));
                buckets::deal(seed, &living)
            }
        };
        if buckets.is_empty() {
            Written::Entry(fixed_entry(Kind::Punt))
        } else {
            Written::Buckets(buckets)
        }
    }

    fn write(&mut self, id: NextHop, written: Written) {
        if let Some(Some(slot)) = self.slots.get_mut(usize::from(id.0))
            && slot.written != written
        {
            self.changes.push(written.change(id));
            slot.written = written;
        }
    }

    /// A neighbour changed: writes the entries that send to it.
    pub fn refresh_neighbour(&mut self, link: u32, address: IpAddr) {
        let users = self.neighbours.get(&(link, address)).cloned();
        for id in users.unwrap_or_default() {
            self.refresh(id);
        }
    }

    /// Does anything look different when this link changes? It does when frames come in by it, or
    /// when a gateway is on it, whose share of a multipath route others take while it is down.
    pub fn depends_on(&self, link: &Link) -> bool {
        // Whatever is on the link itself has the unspecified address.
        let first = (link.index, IpAddr::V4(Ipv4Addr::from_bits(1)));
        let last = (link.index, IpAddr::V6(Ipv6Addr::from_bits(u128::MAX)));
        let owner = link.master.filter(|_| link.is_tunnel);
        let others = link.takes_from.into_iter().chain(owner);
        let mut others = others.filter_map(|other| self.around.links.get(&other));
        self.around.is_looked_at(link)
            || others.any(|other| self.around.is_looked_at(other))
            || self.neighbours.range(first..=last).next().is_some()
    }

    /// A link or port changed: writes every entry and group that looks different now.
    pub fn refresh_all(&mut self) {
        for number in usize::from(fixed::FIRST_FREE)..self.slots.len() {
            self.refresh(NextHop(number as u16));
        }
    }

    fn refresh(&mut self, id: NextHop) {
        if let Some(slot) = self.slot(id) {
            self.write(id, self.written(id, &slot.content, self.buckets(id)));
        }
    }

    /// One more user.
    pub fn hold(&mut self, id: NextHop) {
        if id.0 >= fixed::FIRST_FREE
            && let Some(slot) = self.slot_mut(id)
        {
            slot.users += 1;
            if slot.private && slot.users == 2 {
                self.refresh(id);
            }
        }
    }

    /// One user less; the last one frees the number.
    pub fn release(&mut self, id: NextHop) {
        if id.0 < fixed::FIRST_FREE {
            return;
        }
        let Some(slot) = self.slot_mut(id) else {
            return;
        };
        slot.users -= 1;
        if slot.users > 0 {
            if slot.private && slot.users == 1 {
                self.refresh(id);
            }
            return;
        }
        if let Some(slot) = self.slots[usize::from(id.0)].take() {
            self.changes.push(Change::Release { id });
            self.free.push_back(id.0);
            if self.shared.get(&slot.content) == Some(&id) {
                self.shared.remove(&slot.content);
            }
            self.let_go(id, &slot.content);
        }
    }

    /// Undoes what `content` held while it stood behind `id`.
    fn let_go(&mut self, id: NextHop, content: &Content) {
        if let Content::Hop(key) = content {
            if let Some(ids) = self.neighbours.get_mut(&(key.link, key.gateway)) {
                if let Some(at) = ids.iter().position(|&other| other == id) {
                    ids.swap_remove(at);
                }
                if ids.is_empty() {
                    self.neighbours.remove(&(key.link, key.gateway));
                }
            }
            return;
        }
        for &(member, _) in content.members() {
            self.release(member);
        }
    }

    fn slot(&self, id: NextHop) -> Option<&Slot> {
        self.slots.get(usize::from(id.0))?.as_ref()
    }

    fn slot_mut(&mut self, id: NextHop) -> Option<&mut Slot> {
        self.slots.get_mut(usize::from(id.0))?.as_mut()
    }

    fn buckets(&self, id: NextHop) -> &[NextHop] {
        match self.slot(id).map(|slot| &slot.written) {
            Some(Written::Buckets(buckets)) => buckets,
            _ => &[],
        }
    }

    /// The neighbour behind a number, if it is one.
    pub fn key(&self, id: NextHop) -> Option<HopKey> {
        match self.slot(id)?.content {
            Content::Hop(key) => Some(key),
            _ => None,
        }
    }

    /// Every number in use that sends to a neighbour.
    pub fn hops(&self) -> impl Iterator<Item = (NextHop, HopKey)> {
        self.numbers().filter_map(|id| Some((id, self.key(id)?)))
    }

    /// Every number that has been given so far, in use or not.
    pub fn numbers(&self) -> impl Iterator<Item = NextHop> + use<> {
        (0..self.slots.len()).map(|number| NextHop(number as u16))
    }

    fn number(&mut self) -> Option<NextHop> {
        // A freed number is taken again only when many others were freed after it, or there is no
        // fresh one.
        let fresh = u16::try_from(self.slots.len()).ok();
        let Some(number) = fresh.filter(|_| self.free.len() <= 1024) else {
            return self.free.pop_front().map(NextHop);
        };
        self.slots.push(None);
        Some(NextHop(number))
    }
}
