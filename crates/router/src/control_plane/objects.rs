//! Nexthop objects (`ip nexthop`), which FRR uses for every route it installs.
//!
//! Each object that is known, or that a route names, has an engine number of its own. Replacing an
//! object rewrites what stands behind the number; the routes do not change. Deleting one makes the
//! kernel remove its routes, in IPv4 without a word: the mirror does the same, and until that is
//! done the number says "punt".

use std::collections::HashMap;

use fib::NextHop;
use fib::next_hop::Kind;

use super::model::{Hop, ObjectKind};
use super::next_hops::{Content, NextHops};
use super::surroundings::{HopKey, Surroundings};
use crate::engine::Change;

#[derive(Debug)]
struct Object {
    /// `None` while only routes speak of it.
    kind: Option<ObjectKind>,
    id: NextHop,
}

/// The objects by their numbers.
#[derive(Debug, Default)]
pub struct Objects {
    known: HashMap<u32, Object>,
}

impl Objects {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.known
            .values()
            .filter(|object| object.kind.is_some())
            .count()
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

    /// The engine number of an object, with one more use, which the caller holds.
    pub fn hold(
        &mut self,
        number: u32,
        next_hops: &mut NextHops,
        around: &Surroundings,
        out: &mut Vec<Change>,
    ) -> NextHop {
        let id = self.id(number, next_hops, around, out);
        next_hops.hold(id);
        id
    }

    fn id(
        &mut self,
        number: u32,
        next_hops: &mut NextHops,
        around: &Surroundings,
        out: &mut Vec<Change>,
    ) -> NextHop {
        self.known
            .entry(number)
            .or_insert_with(|| Object {
                kind: None,
                id: next_hops.private(Content::Fixed(Kind::Punt), around, out),
            })
            .id
    }

    /// An object is there, or was replaced.
    pub fn put(
        &mut self,
        number: u32,
        kind: ObjectKind,
        next_hops: &mut NextHops,
        around: &Surroundings,
        out: &mut Vec<Change>,
    ) {
        let content = match &kind {
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
            ObjectKind::Group(members) => Content::Group(
                members
                    .iter()
                    .map(|&(member, weight)| (self.id(member, next_hops, around, out), weight))
                    .collect(),
            ),
        };
        let id = self.id(number, next_hops, around, out);
        next_hops.rewrite(id, content, around, out);
        if let Some(object) = self.known.get_mut(&number) {
            object.kind = Some(kind);
        }
    }

    /// The objects that go when `number` goes: itself, and groups that have no other member. Groups
    /// that have lose it.
    pub fn gone(
        &mut self,
        number: u32,
        next_hops: &mut NextHops,
        around: &Surroundings,
        out: &mut Vec<Change>,
    ) -> Vec<u32> {
        let mut gone = vec![number];
        let groups: Vec<(u32, Vec<(u32, u16)>)> = self
            .known
            .iter()
            .filter_map(|(&group, object)| match &object.kind {
                Some(ObjectKind::Group(members))
                    if members.iter().any(|&(member, _)| member == number) =>
                {
                    Some((
                        group,
                        members
                            .iter()
                            .copied()
                            .filter(|&(member, _)| member != number)
                            .collect(),
                    ))
                }
                _ => None,
            })
            .collect();
        for (group, left) in groups {
            if left.is_empty() {
                gone.push(group);
            } else {
                self.put(group, ObjectKind::Group(left), next_hops, around, out);
            }
        }
        for number in gone.iter().rev() {
            if let Some(object) = self.known.get(number) {
                next_hops.rewrite(object.id, Content::Fixed(Kind::Punt), around, out);
            }
        }
        gone
    }

    /// Gives back the numbers of objects whose routes have been removed.
    pub fn forget(&mut self, numbers: &[u32], next_hops: &mut NextHops, out: &mut Vec<Change>) {
        for number in numbers {
            if let Some(object) = self.known.remove(number) {
                next_hops.release(object.id, out);
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
