//! By which prefixes and to whom frames go: asked of the control plane's thread, which knows the routes.
//!
//! Programs never learn a prefix, so this is what the tables say a moment later. Answers are kept for a
//! while. No more are asked for in a second than cost that thread one hundredth of a core; frames beyond
//! have none.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::management_plane::capture::{Way, WayAsked};
use crate::management_plane::server::{Asker, Question};

/// How long an answer holds.
const HOLDS: Duration = Duration::from_secs(10);
/// Answers that are kept.
const KEPT: usize = 16_384;
/// Questions in a second, and in one turn of the control plane's thread, at most.
const MOST: u32 = 500;
const AT_ONCE: usize = 64;

/// Place of the table, destination, next hop.
type Key = (u32, IpAddr, u16);

#[derive(Debug)]
pub(super) struct Ways {
    asker: Asker,
    known: HashMap<Key, (Instant, Option<Known>)>,
    wanted: Vec<Key>,
    /// Since when so many were asked.
    since: Instant,
    asked: u32,
}

impl Ways {
    pub(super) fn new(asker: Asker) -> Self {
        Self {
            asker,
            known: HashMap::new(),
            wanted: Vec::new(),
            since: Instant::now(),
            asked: 0,
        }
    }

    /// Is to be known when [`Ways::learn`] is over.
    pub(super) fn want(&mut self, key: Key, now: Instant) {
        let is_known = |(when, _): &(Instant, Option<Known>)| now.duration_since(*when) < HOLDS;
        if !self.known.get(&key).is_some_and(is_known) && !self.wanted.contains(&key) {
            self.wanted.push(key);
        }
    }

    /// Asks for what is wanted, as far as it may.
    pub(super) fn learn(&mut self, now: Instant) {
        if now.duration_since(self.since) >= Duration::from_secs(1) {
            (self.since, self.asked) = (now, 0);
        }
        let mut wanted = std::mem::take(&mut self.wanted);
        wanted.truncate((MOST - self.asked) as usize);
        self.asked += wanted.len() as u32;
        if self.known.len() + wanted.len() > KEPT {
            self.known.clear();
        }
        for some in wanted.chunks(AT_ONCE) {
            let asked = some.iter().map(|&(table, to, next_hop)| WayAsked {
                table,
                to,
                next_hop,
            });
            // The router may be ending.
            let answer = self.asker.ask(Question::Ways(asked.collect()));
            let ways: Vec<Option<Way>> = answer
                .ok()
                .and_then(|answer| serde_json::from_str(&answer).ok())
                .unwrap_or_default();
            for (key, way) in some.iter().zip(ways) {
                self.known.insert(*key, (now, way.map(Known::from)));
            }
        }
    }

    /// What was answered.
    pub(super) fn of(&self, key: Key) -> Option<&Known> {
        self.known.get(&key)?.1.as_ref()
    }

    /// The prefix in that.
    pub(super) fn prefix_of(&self, key: Key) -> Option<Arc<str>> {
        self.of(key)?.prefix.clone()
    }
}

/// What is kept of an answer.
#[derive(Debug)]
pub(super) struct Known {
    prefix: Option<Arc<str>>,
    pub(super) next_hop: Option<IpAddr>,
}

impl From<Way> for Known {
    fn from(way: Way) -> Self {
        let next_hop = way.neighbour.as_deref();
        Self {
            next_hop: next_hop.and_then(|address| address.parse().ok()),
            prefix: way.prefix.map(Arc::from),
        }
    }
}

impl Known {
    /// Bits of the prefix; 0: the default route, or there is none.
    pub(super) fn mask(&self) -> u32 {
        let prefix = self
            .prefix
            .as_deref()
            .and_then(|prefix| prefix.rsplit_once('/'));
        prefix
            .and_then(|(_, length)| length.parse().ok())
            .unwrap_or(0)
    }
}
