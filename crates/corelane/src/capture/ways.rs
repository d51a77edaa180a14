//! By which prefix a frame went, and to whom: asked of the router, which knows its tables.
//!
//! The program does not say the prefix, since it never learns it. So this is what the tables say a
//! moment later. Answers are kept for a short while, and no more are asked for than the router has
//! time to answer; frames beyond have none.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use router::management_plane::capture::{Way, WayAsked};
use router::management_plane::client;

/// How long an answer holds.
const HOLDS: Duration = Duration::from_secs(2);
/// Answers that are kept.
const KEPT: usize = 4096;
/// Questions in a second, at most.
const MOST: u32 = 100;

/// Place of the table, destination, next hop.
type Key = (u32, IpAddr, u16);

pub(super) struct Ways {
    socket: PathBuf,
    known: HashMap<Key, (Instant, Option<Way>)>,
    /// Since when so many were asked.
    since: Instant,
    asked: u32,
}

impl Ways {
    pub(super) fn new(socket: PathBuf) -> Self {
        Self {
            socket,
            known: HashMap::new(),
            since: Instant::now(),
            asked: 0,
        }
    }

    pub(super) fn of(&mut self, table: u32, to: IpAddr, next_hop: u16) -> Option<Way> {
        let (key, now) = ((table, to, next_hop), Instant::now());
        if let Some((when, way)) = self.known.get(&key)
            && now.duration_since(*when) < HOLDS
        {
            return way.clone();
        }
        if now.duration_since(self.since) >= Duration::from_secs(1) {
            (self.since, self.asked) = (now, 0);
        }
        if self.asked >= MOST {
            return None;
        }
        self.asked += 1;
        let asked = WayAsked {
            table,
            to,
            next_hop,
        };
        let answer = client::ask(&self.socket, &asked.line()).ok();
        let way = answer.and_then(|answer| serde_json::from_str(&answer).ok());
        if self.known.len() >= KEPT {
            self.known.clear();
        }
        self.known.insert(key, (now, way.clone()));
        way
    }
}
