//! Nexthop objects (`ip nexthop`), which FRR uses for every route it installs.
//!
//! Each object that is known, or that a route names, has an engine number of its own. Replacing an
//! object rewrites what stands behind the number; the routes do not change. Deleting one makes the
//! kernel remove its routes, in IPv4 without a word: the mirror does the same, and until that is
//! done the number says "punt".

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use fib::NextHop;
use fib::next_hop::Kind;

use super::digest;
use super::model::{Hop, ObjectKind, RouteKind, Way};
use super::next_hops::{Content, NextHops};
use super::surroundings::HopKey;
use crate::engine::fixed;

#[derive(Debug)]
struct Object {
    /// `None` while only routes speak of it.
    kind: Option<ObjectKind>,
    id: NextHop,
    /// The hash of what a plain route by it says to any box, and how many changes of members had been
    /// when that was found.
    said: Cell<Option<(u64, Option<u128>)>>,
}

impl Object {
    fn new(id: NextHop) -> Self {
        Self {
            kind: None,
            id,
            said: Cell::default(),
        }
    }
}

/// The hash of what a plain way by these ways out says to any box.
fn plain(hops: &[Hop]) -> Option<u128> {
    Some(digest::of_text(&digest::via(hops)?))
}

/// The objects by their numbers.
#[derive(Debug, Default)]
pub struct Objects {
    known: HashMap<u32, Object>,
    /// Which of them are groups.
    groups: HashSet<u32>,
    /// Those by which routes with an MTU of their own have gone, and members of such groups.
    sized: HashSet<u32>,
    /// How often an object that a group may have as a member has changed.
    changes: u64,
}

impl Objects {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.numbers().count()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers of all that the kernel has told of.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.known
            .iter()
            .filter(|(_, object)| object.kind.is_some())
            .map(|(number, _)| *number)
    }

    /// The ways out of an object, those of its members if it is a group.
    pub fn hops(&self, number: u32) -> Vec<Hop> {
        match self
            .known
            .get(&number)
            .and_then(|object| object.kind.as_ref())
        {
            Some(ObjectKind::Hop(hop)) => vec![*hop],
            Some(ObjectKind::Group(members)) => {
                let hop = |&(member, weight): &(u32, u16)| match self.known.get(&member)?.kind {
                    Some(ObjectKind::Hop(hop)) => Some(Hop { weight, ..hop }),
                    _ => None,
                };
                members.iter().filter_map(hop).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The hash of what a way by an object says to any box ([`digest::said`]). That of a plain way is
    /// kept: by a hop since this is known, by a group until a member changes.
    pub fn said(&self, way: &Way) -> Option<u128> {
        let is_plain = way.kind == RouteKind::Unicast && !way.special;
        let object = self.known.get(&way.object).filter(|_| is_plain);
        let Some(object) = object else {
            let text = digest::said(way, &self.hops(way.object))?;
            return Some(digest::of_text(&text));
        };
        let is_group = matches!(object.kind, Some(ObjectKind::Group(_)));
        let changes = if is_group { self.changes } else { 0 };
        if let Some((of, said)) = object.said.get()
            && of == changes
        {
            return said;
        }
        let said = plain(&self.hops(way.object));
        object.said.set(Some((changes, said)));
        said
    }

    /// The engine number of an object, with one more use, which the caller holds.
    pub fn hold(&mut self, number: u32, next_hops: &mut NextHops) -> NextHop {
        let id = self.id(number, next_hops);
        next_hops.hold(id);
        id
    }

    fn id(&mut self, number: u32, next_hops: &mut NextHops) -> NextHop {
        let entry = self.known.entry(number);
        let object = entry.or_insert_with(|| Object::new(next_hops.private()));
        object.id
    }

    /// A route with an MTU of its own goes by an object. The kernel keeps with an object's ways what
    /// it has found for one route (`nhc_rth_input`, `rt6i_pcpu`), MTU and all, and gives it to the
    /// next. So which MTU holds only the kernel knows, and all that goes these ways is its.
    pub fn size(&mut self, number: u32, next_hops: &mut NextHops) {
        if self.sized.insert(number) {
            let object = self.known.get(&number);
            if let Some(kind) = object.and_then(|object| object.kind.clone()) {
                self.put(number, kind, next_hops);
            }
        }
    }

    /// Whether some object's ways are the kernel's for an MTU.
    pub fn are_some_sized(&self) -> bool {
        !self.sized.is_empty()
    }

    /// An object is there, or was replaced.
    pub fn put(&mut self, number: u32, kind: ObjectKind, next_hops: &mut NextHops) {
        if let ObjectKind::Group(members) = &kind
            && self.sized.contains(&number)
        {
            for &(member, _) in members {
                self.size(member, next_hops);
            }
        }
        let content = match &kind {
            ObjectKind::Hop(_) if self.sized.contains(&number) => Content::Fixed(Kind::Punt),
            ObjectKind::Hop(Hop {
                link,
                gateway: Some(gateway),
                ..
            }) => Content::Hop(HopKey {
                link: *link,
                gateway: *gateway,
                mtu: 0,
            }),
            // Destinations on the link itself need a neighbour each: the kernel's.
            ObjectKind::Hop(Hop { gateway: None, .. }) | ObjectKind::Other => {
                Content::Fixed(Kind::Punt)
            }
            ObjectKind::Blackhole => Content::Fixed(Kind::Blackhole),
            ObjectKind::Group(members) => {
                let member = |&(member, weight)| {
                    let id = if member == number || self.groups.contains(&member) {
                        fixed::PUNT
                    } else {
                        self.id(member, next_hops)
                    };
                    (id, weight)
                };
                Content::Group(members.iter().map(member).collect())
            }
        };
        let is_named = self.known.contains_key(&number);
        let became = matches!(kind, ObjectKind::Group(_)) && self.groups.insert(number);
        let was = !matches!(kind, ObjectKind::Group(_)) && self.groups.remove(&number);
        if became && is_named {
            self.tell_groups(number, next_hops);
        }
        let id = self.id(number, next_hops);
        next_hops.rewrite(id, content);
        if let Some(object) = self.known.get_mut(&number) {
            // At once, so that whoever asks for a digest does not wait for all of them.
            object.said.set(match kind {
                ObjectKind::Hop(hop) => Some((0, plain(&[hop]))),
                _ => None,
            });
            object.kind = Some(kind);
        }
        self.changes += u64::from(is_named);
        if was {
            self.tell_groups(number, next_hops);
        }
    }

    /// Groups that name an object, which has become a group or is none any more, are dealt anew.
    /// The kernel allows no group in a group, but a dump that is cut by changes can look like it.
    /// What such a member would carry is the kernel's.
    fn tell_groups(&mut self, number: u32, next_hops: &mut NextHops) {
        let others = self.groups.iter().filter(|&&group| group != number);
        let concerned: Vec<_> = others
            .filter_map(|group| match self.known.get(group)?.kind.as_ref()? {
                ObjectKind::Group(members) => Some((*group, members.clone())),
                _ => None,
            })
            .filter(|(_, members)| members.iter().any(|&(member, _)| member == number))
            .collect();
        for (group, members) in concerned {
            self.put(group, ObjectKind::Group(members), next_hops);
        }
    }

    /// Objects that were refused a number ask again; groups hear of it.
    pub fn try_again(&mut self, next_hops: &mut NextHops) {
        let mut any = false;
        let mut concerned = Vec::new();
        for (&number, object) in &mut self.known {
            let is_group = matches!(object.kind, Some(ObjectKind::Group(_)));
            let refused = object.id == fixed::PUNT;
            if refused {
                object.id = next_hops.private();
                any |= object.id != fixed::PUNT;
            }
            if let Some(kind) = object.kind.as_ref().filter(|_| refused || is_group) {
                concerned.push((number, kind.clone()));
            }
        }
        for (number, kind) in concerned.into_iter().filter(|_| any) {
            self.put(number, kind, next_hops);
        }
    }

    /// The objects that go when `numbers` go: these, and groups that have no other members. Groups
    /// that have lose them.
    pub fn gone(&mut self, numbers: &[u32], next_hops: &mut NextHops) -> HashSet<u32> {
        let mut gone: HashSet<u32> = numbers.iter().copied().collect();
        let (mut shrunk, mut emptied) = (Vec::new(), Vec::new());
        for &group in self.groups.difference(&gone) {
            let kind = self
                .known
                .get(&group)
                .and_then(|object| object.kind.as_ref());
            if let Some(ObjectKind::Group(members)) = kind
                && members.iter().any(|(member, _)| gone.contains(member))
            {
                let mut left = members.clone();
                left.retain(|(member, _)| !gone.contains(member));
                if left.is_empty() {
                    emptied.push(group);
                } else {
                    shrunk.push((group, left));
                }
            }
        }
        for (group, left) in shrunk {
            self.put(group, ObjectKind::Group(left), next_hops);
        }
        gone.extend(emptied);
        for number in &gone {
            if let Some(object) = self.known.get(number) {
                next_hops.rewrite(object.id, Content::Fixed(Kind::Punt));
            }
        }
        gone
    }

    /// Gives back the numbers of objects whose routes have been removed.
    pub fn forget(&mut self, numbers: &HashSet<u32>, next_hops: &mut NextHops) {
        for number in numbers {
            self.groups.remove(number);
            self.sized.remove(number);
            if let Some(object) = self.known.remove(number) {
                next_hops.release(object.id);
                self.changes += 1;
            }
        }
    }

    /// The objects that leave by a link: the kernel drops them, without a word, when the link loses
    /// carrier.
    pub fn by_link(&self, link: u32) -> Vec<u32> {
        self.known
            .iter()
            .filter(
                |(_, object)| matches!(object.kind, Some(ObjectKind::Hop(hop)) if hop.link == link),
            )
            .map(|(number, _)| *number)
            .collect()
    }
}
