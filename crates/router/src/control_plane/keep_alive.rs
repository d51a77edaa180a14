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
use std::time::{Duration, Instant};

use fib::NextHop;

use super::mirror::Mirror;
use super::model::nud;
use crate::engine::Counters;

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
}

impl KeepAlive {
    /// Due at once.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            due: now,
            carried: HashMap::new(),
            asked: None,
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
    pub(super) fn neighbours(&mut self, mirror: &Mirror, counters: Counters) -> Vec<(u32, IpAddr)> {
        let carried: HashMap<NextHop, u64> = counters
            .next_hops
            .into_iter()
            .map(|count| (count.id, count.frames))
            .collect();
        let frames = |carried: &HashMap<NextHop, u64>, id| carried.get(&id).copied().unwrap_or(0);
        let around = mirror.around();
        let (mut due, mut unresolved) = (Vec::new(), Vec::new());
        for (id, key) in mirror.next_hops().hops() {
            if key.gateway.is_unspecified() || !around.is_ours(key.link) {
                continue;
            }
            let active = frames(&carried, id) != frames(&self.carried, id);
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control_plane::model::{
        Event, Hop, Hops, Link, LinkKind, Neighbour, Placement, Route, RouteKind, Way,
    };
    use crate::engine::{MAIN_TABLE, NextHopCount};

    const GATEWAY: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 1, 0, 9));

    fn route(prefix: &str, gateway: IpAddr) -> Route {
        let way = Way {
            kind: RouteKind::Unicast,
            metric: 0,
            object: 0,
            hops: Hops::One(Hop {
                link: 1,
                gateway: Some(gateway),
                weight: 1,
            }),
            source: None,
            mtu: 0,
            special: false,
        };
        Route {
            table: MAIN_TABLE,
            destination: prefix.parse().unwrap(),
            way,
        }
    }

    fn mirror() -> Mirror {
        let mut mirror = Mirror::new(&["r1".to_owned()]);
        let link = Link {
            index: 1,
            name: "r1".into(),
            up: true,
            carrier: true,
            mac: [2; 6],
            mtu: 1500,
            kind: LinkKind::Plain,
            master: None,
        };
        mirror.apply(Event::Link(link));
        mirror.apply(Event::Route(
            route("192.0.2.0/24", GATEWAY),
            Placement::Last,
        ));
        mirror
    }

    fn neighbour(mirror: &mut Mirror, state: u16) {
        let neighbour = Neighbour {
            link: 1,
            address: GATEWAY,
            state,
            mac: Some([4; 6]),
        };
        mirror.apply(Event::Neighbour(neighbour));
    }

    fn counters(mirror: &Mirror, frames: u64) -> Counters {
        let next_hops = mirror.next_hops().hops().map(|(id, _)| NextHopCount {
            id,
            frames,
            bytes: 0,
        });
        Counters {
            next_hops: next_hops.collect(),
            ..Counters::default()
        }
    }

    #[test]
    fn stale_neighbours_are_confirmed_when_they_carry_frames_and_others_left_alone() {
        let mut mirror = mirror();
        let mut keep = KeepAlive::new(Instant::now());
        let mut due = |mirror: &Mirror, frames| keep.neighbours(mirror, counters(mirror, frames));
        assert_eq!(due(&mirror, 0), [(1, GATEWAY)], "unknown yet");
        neighbour(&mut mirror, nud::INCOMPLETE);
        assert_eq!(due(&mirror, 0), [], "being resolved");
        for state in [nud::REACHABLE, nud::PROBE, nud::PERMANENT] {
            neighbour(&mut mirror, state);
            assert_eq!(due(&mirror, u64::from(state)), [], "the kernel's business");
        }
        neighbour(&mut mirror, nud::STALE);
        assert_eq!(due(&mirror, 1000), [(1, GATEWAY)]);
        assert_eq!(due(&mirror, 1000), [], "nothing went there since");
        neighbour(&mut mirror, nud::FAILED);
        assert_eq!(due(&mirror, 1000), [(1, GATEWAY)]);
    }

    #[test]
    fn many_without_an_answer_are_asked_about_by_turns() {
        let mut mirror = mirror();
        for number in 0..500 {
            let gateway = IpAddr::V4(std::net::Ipv4Addr::from(0x0a02_0000 + number));
            let prefix = format!("10.{}.{}.0/24", 100 + number / 250, number % 250);
            mirror.apply(Event::Route(route(&prefix, gateway), Placement::Last));
        }
        let mut keep = KeepAlive::new(Instant::now());
        let mut asked = std::collections::BTreeSet::new();
        for _ in 0..3 {
            let due = keep.neighbours(&mirror, counters(&mirror, 0));
            assert_eq!(due.len(), UNRESOLVED_AT_ONCE);
            asked.extend(due);
        }
        assert_eq!(asked.len(), 501, "all, and the first ones again");
    }

    #[test]
    fn it_is_due_once_in_each_interval() {
        let now = Instant::now();
        let mut keep = KeepAlive::new(now);
        assert!(keep.is_due(now) && !keep.is_due(now));
        assert!(keep.is_due(now + INTERVAL) && !keep.is_due(now + INTERVAL));
    }
}
