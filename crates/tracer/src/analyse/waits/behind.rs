//! What the holder of a lock did while others waited for it.

use crate::event::Tid;
use crate::fast_map::FastMap;
use crate::timeline::{Doing, Timeline};

/// Waiting time, in nanoseconds, by what the holder did meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Behind {
    /// It ran.
    pub running: u64,
    /// It could run, and somebody else had its core.
    pub runnable: u64,
    /// It waited for something itself.
    pub blocked: u64,
    /// The host machine had taken its core.
    pub stolen: u64,
}

impl Behind {
    /// The share of the waiting for which the holder had its core, or waited itself: what a shorter
    /// hold would spare. 1 where nothing is known.
    pub fn served(&self) -> f64 {
        let all = self.running + self.runnable + self.blocked + self.stolen;
        if all == 0 {
            1.0
        } else {
            (self.running + self.blocked) as f64 / all as f64
        }
    }
}

/// Finds what holders did.
pub(super) struct Holders<'a> {
    timeline: &'a Timeline,
    index: FastMap<Tid, usize>,
}

impl<'a> Holders<'a> {
    pub(super) fn new(timeline: &'a Timeline) -> Self {
        let numbered = timeline.lives.iter().enumerate();
        Self {
            timeline,
            index: numbered.map(|(at, life)| (life.tid, at)).collect(),
        }
    }

    /// Adds to `behind` what `holder` did between two instants.
    pub(super) fn add(&self, behind: &mut Behind, holder: Tid, from: u64, to: u64) {
        let Some(life) = self.index.get(&holder).map(|at| &self.timeline.lives[*at]) else {
            return;
        };
        let first = life.segments.partition_point(|segment| segment.end <= from);
        for segment in &life.segments[first..] {
            if segment.start >= to {
                break;
            }
            let (start, end) = (segment.start.max(from), segment.end.min(to));
            match segment.doing {
                Doing::Running(core) => {
                    let stolen = self.timeline.stolen(core, start, end);
                    behind.stolen += stolen;
                    behind.running += end - start - stolen;
                }
                Doing::Runnable => behind.runnable += end - start,
                Doing::Blocked(_) => behind.blocked += end - start,
            }
        }
    }
}
