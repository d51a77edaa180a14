//! Which neighbours to tell the kernel to look after.
//!
//! The kernel does not see the frames that go past it. A neighbour that nothing of the kernel's own
//! uses grows stale some 15 to 45 seconds after it was last confirmed, and a minute later it may be
//! thrown away. So those that carry frames are confirmed once they are stale, and gateways of
//! routes are resolved before a packet asks for them. While the kernel itself confirms a neighbour
//! (states reachable, delay, probe) there is nothing to do.
//!
//! Each that does not answer has a place in the kernel's table for three seconds, of a thousand
//! that there are by default. So of those without an answer some are asked about at a time.

use std::collections::HashMap;
use std::net::IpAddr;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fib::NextHop;

use super::mirror::Mirror;
use super::model::nud;
use super::netlink::use_neighbours;

/// How often next hops in use are looked at: a stale neighbour that carries frames is confirmed at
/// most this much later.
const INTERVAL: Duration = Duration::from_secs(5);
/// So many without an answer are asked about at a time, the others in later turns.
const UNRESOLVED_AT_ONCE: usize = 200;

/// When it was last looked at, and what each next hop had carried then.
#[derive(Debug)]
pub(super) struct KeepAlive {
    due: Instant,
    carried: HashMap<NextHop, u64>,
    /// The last without an answer that was asked about.
    asked: Option<(u32, IpAddr)>,
    asking: Option<JoinHandle<()>>,
}

impl KeepAlive {
    /// Due at once.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            due: now,
            carried: HashMap::new(),
            asked: None,
            asking: None,
        }
    }

    /// Is it time to look? If so, the next time is set.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let due = now >= self.due;
        if due {
            self.due = now + INTERVAL;
        }
        due
    }

    /// The neighbours (link, address) to be confirmed or resolved, each once.
    pub(super) fn neighbours(
        &mut self,
        mirror: &Mirror,
        frames: impl Fn(NextHop) -> u64,
    ) -> Vec<(u32, IpAddr)> {
        let mut carried = HashMap::new();
        let around = mirror.around();
        let (mut due, mut unresolved) = (Vec::new(), Vec::new());
        for (id, key) in mirror.next_hops().hops() {
            if key.gateway.is_unspecified() || !around.is_ours(key.link) {
                continue;
            }
            let now = frames(id);
            let active = now != self.carried.get(&id).copied().unwrap_or(0);
            carried.insert(id, now);
            let state = around
                .neighbours
                .get(&(key.link, key.gateway))
                .map_or(0, |neighbour| neighbour.state);
            let stale = state & nud::STALE != 0;
            if active && stale {
                due.push((key.link, key.gateway));
            } else if state & (nud::VALID | nud::INCOMPLETE) == 0 {
                unresolved.push((key.link, key.gateway));
            }
        }
        unresolved.sort_unstable();
        unresolved.dedup();
        let first = unresolved.partition_point(|&at| Some(at) <= self.asked);
        unresolved.rotate_left(first);
        unresolved.truncate(UNRESOLVED_AT_ONCE);
        self.asked = unresolved.last().copied();
        due.sort_unstable();
        due.dedup();
        due.append(&mut unresolved);
        self.carried = carried;
        due
    }

    /// Is the kernel still being told of those of before?
    pub(super) fn is_asking(&self) -> bool {
        let asking = self.asking.as_ref();
        asking.is_some_and(|thread| !thread.is_finished())
    }

    /// Has a thread tell the kernel, which listens when nobody else changes links: that may be
    /// seconds later.
    pub(super) fn ask(&mut self, neighbours: Vec<(u32, IpAddr)>) {
        if neighbours.is_empty() {
            return;
        }
        let thread = std::thread::Builder::new().name("neighbours".to_owned());
        // What cannot be asked is asked about in the next round.
        let thread = thread.spawn(move || drop(use_neighbours(&neighbours)));
        self.asking = thread.ok();
    }
}

#[cfg(test)]
#[path = "../../tests/unit/keep_alive.rs"]
mod tests;
