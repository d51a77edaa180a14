//! Threads that change cores, and so begin with cold caches.

use std::collections::BTreeSet;

use crate::event::Tid;
use crate::timeline::{Doing, Timeline};

/// One thread's moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// The thread.
    pub tid: Tid,
    /// How often it began to run on another core than the last time.
    pub moves: u64,
    /// How often it began to run at all.
    pub starts: u64,
    /// How long it ran.
    pub ran: u64,
    /// On how many cores it ran.
    pub cores: usize,
}

/// The moves of the program's threads, most first. Threads that never moved are left out.
pub fn migrations(timeline: &Timeline) -> Vec<Moves> {
    let mut all: Vec<Moves> = timeline
        .targets()
        .filter_map(|life| {
            let mut found = Moves {
                tid: life.tid,
                ran: life.ran(),
                ..Moves::default()
            };
            let mut last = None;
            let mut seen = BTreeSet::new();
            for segment in &life.segments {
                if let Doing::Running(cpu) = segment.doing {
                    found.starts += 1;
                    found.moves += u64::from(last.is_some_and(|last| last != cpu));
                    last = Some(cpu);
                    seen.insert(cpu);
                }
            }
            found.cores = seen.len();
            (found.moves > 0).then_some(found)
        })
        .collect();
    all.sort_by_key(|moves| (std::cmp::Reverse(moves.moves), moves.tid));
    all
}
