//! Ways, each stored once: a full Internet table has a million prefixes and a few hundred distinct
//! ways.
//!
//! A way is what a route does, without its prefix ([`Way`]). Routes hold the way's number, so a
//! route costs 16 bytes here, and "every route by this link" is a question about a few hundred
//! ways.

use std::collections::HashMap;

use fib::NextHop;

use super::model::Way;

/// Number of a stored way.
pub type WayId = u32;

/// A stored way.
#[derive(Debug)]
pub struct Stored {
    /// The way.
    pub way: Way,
    /// The next hop that its routes answer with.
    pub next_hop: NextHop,
    /// Set when the destinations themselves are on this link.
    pub connected: Option<u32>,
    users: u32,
}

/// The store.
#[derive(Debug, Default)]
pub struct Ways {
    slots: Vec<Option<Stored>>,
    free: Vec<WayId>,
    index: HashMap<Way, WayId>,
    latest: Option<WayId>,
}

impl Ways {
    /// The number of an equal way, with one use more.
    pub fn find(&mut self, way: &Way) -> Option<WayId> {
        let same = self
            .latest
            .filter(|&id| self.get(id).is_some_and(|stored| stored.way == *way));
        let id = same.or_else(|| self.index.get(way).copied())?;
        self.latest = Some(id);
        self.hold(id);
        Some(id)
    }

    /// How many uses a way has.
    pub fn users(&self, id: WayId) -> u64 {
        self.get(id).map_or(0, |stored| u64::from(stored.users))
    }

    /// One use more.
    pub fn hold(&mut self, id: WayId) {
        if let Some(stored) = self.slots.get_mut(id as usize).and_then(Option::as_mut) {
            stored.users += 1;
        }
    }

    /// The number of an equal way.
    pub fn number(&self, way: &Way) -> Option<WayId> {
        self.index.get(way).copied()
    }

    /// Stores a way that [`Ways::find`] did not find, with one use.
    pub fn add(&mut self, way: Way, next_hop: NextHop, connected: Option<u32>) -> WayId {
        let stored = Some(Stored {
            way: way.clone(),
            next_hop,
            connected,
            users: 1,
        });
        let id = if let Some(id) = self.free.pop() {
            self.slots[id as usize] = stored;
            id
        } else {
            self.slots.push(stored);
            (self.slots.len() - 1) as WayId
        };
        self.index.insert(way, id);
        self.latest = Some(id);
        id
    }

    /// One use less. The last one removes the way and returns it, so that its next hop can be
    /// released.
    pub fn release(&mut self, id: WayId) -> Option<Stored> {
        let place = self.slots.get_mut(id as usize)?;
        let stored = place.as_mut()?;
        stored.users -= 1;
        if stored.users > 0 {
            return None;
        }
        let stored = place.take()?;
        self.index.remove(&stored.way);
        self.free.push(id);
        if self.latest == Some(id) {
            self.latest = None;
        }
        Some(stored)
    }

    /// A stored way.
    pub fn get(&self, id: WayId) -> Option<&Stored> {
        self.slots.get(id as usize)?.as_ref()
    }

    /// The metric of a way; the largest for one that is not stored.
    pub fn metric(&self, id: WayId) -> u32 {
        self.get(id).map_or(u32::MAX, |stored| stored.way.metric)
    }

    /// The numbers of the ways for which `wanted` holds.
    pub fn all(&self, wanted: impl Fn(&Way) -> bool) -> Vec<WayId> {
        (0..)
            .zip(&self.slots)
            .filter(|(_, slot)| slot.as_ref().is_some_and(|stored| wanted(&stored.way)))
            .map(|(id, _)| id)
            .collect()
    }
}
