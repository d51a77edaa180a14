//! Spinning before the sleep: locks that poll before they wait look like work, and only samples of
//! the running code show them.
//!
//! Every tick of the scheduler (mostly 250 a second and core) samples the running code. A sample
//! inside the function in which a lock's library polls (Rust's `lock_contended`, `parking_lot`'s
//! `lock_slow`, glibc's `__lll_lock_wait`, the kernel's queued spinlock) is time lost to a lock.
//! Which lock it was the sample does not tell. Its caller does, when threads slept at one lock
//! alone in that function; else the polling has a place and no lock.

use std::cmp::Reverse;

use super::locks::tells;
use super::waits::Waited;
use crate::event::{Kind, Tid};
use crate::fast_map::FastMap;
use crate::threads::Role;
use crate::timeline::{Life, Timeline};
use crate::trace::Trace;

/// Samples of the program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spinning {
    /// All samples of the program's threads.
    pub samples: u64,
    /// Samples in the polling of user-space locks, by process and calling function (empty where it
    /// has no name).
    pub user: FastMap<(Tid, String), u64>,
    /// Samples in the polling of kernel locks.
    pub kernel: u64,
    /// Processor time that one sample stands for.
    pub each: f64,
    /// The lock of a caller, by its index.
    owners: FastMap<(Tid, String), usize>,
}

/// Marks of functions that poll a user-space lock.
const USER: [&str; 6] = [
    "lock_contended",
    "read_contended",
    "write_contended",
    "lock_slow",
    "lll_lock_wait",
    "pthread_spin_lock",
];
/// They let go, and do not poll.
const LETS_GO: &str = "unlock";
/// Marks of functions that poll a kernel lock.
const KERNEL: [&str; 2] = ["queued_spin_lock_slowpath", "osq_lock"];
/// Frames of a sample that are looked at: the innermost function and its caller.
const FRAMES: usize = 2;

impl Spinning {
    /// Counts the samples of a trace; `waited` are the objects that threads slept at.
    pub fn new(trace: &Trace, timeline: &Timeline, waited: &[Waited]) -> Self {
        let stacks = &trace.trailer.stacks;
        let kernel: Vec<bool> = stacks.iter().map(|f| polls(f, &KERNEL).is_some()).collect();
        let user: Vec<Option<String>> = stacks.iter().map(|frames| caller(frames)).collect();
        let mut found = Self::default();
        for event in &trace.events {
            let Kind::Sample(stack) = event.kind else {
                continue;
            };
            if timeline.threads.role(event.tid) != Role::Target {
                continue;
            }
            found.samples += 1;
            let stack = stack as usize;
            if kernel.get(stack) == Some(&true) {
                found.kernel += 1;
            } else if let Some(Some(caller)) = user.get(stack) {
                let process = timeline.threads.process(event.tid);
                *found.user.entry((process, caller.clone())).or_default() += 1;
            }
        }
        let ran: u64 = timeline.targets().map(Life::ran).sum();
        if found.samples > 0 {
            found.each = ran as f64 / found.samples as f64;
        }
        found.owners = owners(trace, waited);
        found
    }

    /// The share of the program's processor time spent polling user-space locks.
    pub fn user_share(&self) -> f64 {
        if self.samples == 0 {
            0.0
        } else {
            self.user.values().sum::<u64>() as f64 / self.samples as f64
        }
    }

    /// Nanoseconds of polling for the object with this index.
    pub fn of(&self, index: usize) -> f64 {
        let owned = self
            .user
            .iter()
            .filter(|(caller, _)| self.owners.get(*caller) == Some(&index));
        owned.map(|(_, samples)| *samples).sum::<u64>() as f64 * self.each
    }

    /// Nanoseconds of polling in `process` for locks that nothing names.
    pub fn unnamed(&self, process: Tid) -> f64 {
        let samples: u64 = self
            .strangers()
            .filter(|(p, ..)| *p == process)
            .map(|(.., n)| n)
            .sum();
        samples as f64 * self.each
    }

    /// The callers of polling for locks that nothing names, with the nanoseconds, longest first.
    pub fn places(&self) -> Vec<(String, f64)> {
        let mut places: Vec<_> = self
            .strangers()
            .map(|(_, caller, samples)| (caller.to_owned(), samples as f64 * self.each))
            .collect();
        places.sort_by_key(|(caller, time)| (Reverse(*time as u64), caller.clone()));
        places
    }

    fn strangers(&self) -> impl Iterator<Item = (Tid, &str, u64)> {
        let unowned = self
            .user
            .iter()
            .filter(|(caller, _)| !self.owners.contains_key(*caller));
        unowned.map(|((process, caller), samples)| (*process, caller.as_str(), *samples))
    }
}

/// The place among the frames looked at of one that polls.
fn polls(frames: &[String], marks: &[&str]) -> Option<usize> {
    frames
        .iter()
        .take(FRAMES)
        .position(|frame| marks.iter().any(|mark| frame.contains(mark)) && !frame.contains(LETS_GO))
}

/// The function that called the polling of a user-space lock, if these frames are in one.
fn caller(frames: &[String]) -> Option<String> {
    let at = polls(frames, &USER)?;
    let telling = frames[at..].iter().find(|frame| tells(frame));
    Some(telling.cloned().unwrap_or_default())
}

/// Which functions threads slept in for one lock alone.
fn owners(trace: &Trace, waited: &[Waited]) -> FastMap<(Tid, String), usize> {
    let mut owners: FastMap<(Tid, String), Option<usize>> = FastMap::default();
    for (index, one) in waited.iter().enumerate() {
        for stack in one.places.keys() {
            let frames = trace.trailer.stacks.get(*stack as usize);
            let Some(place) = frames.and_then(|frames| frames.iter().find(|frame| tells(frame)))
            else {
                continue;
            };
            owners
                .entry((one.object.process, place.clone()))
                .and_modify(|owner| *owner = owner.filter(|owner| *owner == index))
                .or_insert(Some(index));
        }
    }
    owners
        .into_iter()
        .filter_map(|(place, owner)| Some((place, owner?)))
        .collect()
}
