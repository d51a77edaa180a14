//! What the end of the program waited for, link by link.
//!
//! The walk goes backward from the end of the last thread. Where the thread ran, the time is its
//! own; where it was runnable, it had no core; where it was blocked and another thread woke it,
//! that thread's doings *within the blocked stretch* explain it (recursively), and the walk goes on
//! in the first thread before it blocked:
//!
//! ```text
//! main    ──run──┐ blocked                          ┌──run──▶ end
//! worker         └▷ ──run── ┐ blocked   ┌──run──────┘ (wakes main)
//! other      ───────────────┴──run──────┘ (lets the lock go)
//! path    main, worker, other, worker, main
//! ```
//! After Giraldeau and Dagenais, "Wait analysis of distributed systems using kernel tracing" (IEEE
//! TPDS 2016). The links fill the window exactly.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::budget::WaitFor;
use crate::event::Tid;
use crate::timeline::{Doing, Life, Timeline, UNKNOWN};

/// What a link of the path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Link {
    /// This thread ran.
    Ran(Tid),
    /// This thread had no core.
    NoCore(Tid),
    /// A wait that no thread's doings explain.
    Waited(WaitFor),
}

/// A path that nests deeper than this is cut: its rest counts as waiting for another thread.
const DEPTH: usize = 64;

/// The time on the path by link, longest first. The times sum to the window, less the time after
/// the program's end.
pub fn critical_path(timeline: &Timeline) -> Vec<(Link, u64)> {
    let lives: HashMap<Tid, &Life> = timeline.lives.iter().map(|life| (life.tid, life)).collect();
    let last = timeline
        .targets()
        .filter_map(|life| {
            let mut backward = life.segments.iter().rev();
            let ran = backward.find(|segment| matches!(segment.doing, Doing::Running(_)))?;
            Some((ran.end, life.tid))
        })
        .max();
    let Some((end, tid)) = last else {
        return Vec::new();
    };
    let mut walk = Walk {
        lives,
        sums: HashMap::new(),
    };
    walk.explain(tid, timeline.start, end, 0);
    let mut links: Vec<_> = walk.sums.into_iter().collect();
    links.sort_by_key(|(link, time)| (Reverse(*time), format!("{link:?}")));
    links
}

struct Walk<'a> {
    lives: HashMap<Tid, &'a Life>,
    sums: HashMap<Link, u64>,
}

impl Walk<'_> {
    fn add(&mut self, link: Link, time: u64) {
        if time > 0 {
            *self.sums.entry(link).or_default() += time;
        }
    }

    /// Explains what `tid` did from `from` to `to`.
    fn explain(&mut self, tid: Tid, from: u64, to: u64, depth: usize) {
        let Some(life) = self.lives.get(&tid).copied() else {
            self.add(Link::Waited(WaitFor::Nothing), to - from);
            return;
        };
        let upto = life.segments.partition_point(|segment| segment.start < to);
        let mut at = to;
        for segment in life.segments[..upto].iter().rev() {
            if at <= from {
                break;
            }
            let (start, end) = (segment.start.max(from), segment.end.min(at));
            if end < at {
                // The thread did not exist, or its events are missing.
                self.add(Link::Waited(WaitFor::Nothing), at - end.max(from));
                at = end.max(from);
            }
            if end <= start {
                continue;
            }
            match segment.doing {
                Doing::Running(_) => self.add(Link::Ran(tid), end - start),
                Doing::Runnable => self.add(Link::NoCore(tid), end - start),
                Doing::Blocked(cause) => {
                    if segment.waker != UNKNOWN && segment.waker != 0 && depth < DEPTH {
                        self.explain(segment.waker, start, end, depth + 1);
                    } else {
                        self.add(Link::Waited(WaitFor::from_cause(cause)), end - start);
                    }
                }
            }
            at = start;
        }
        if at > from {
            self.add(Link::Waited(WaitFor::Nothing), at - from);
        }
    }
}
