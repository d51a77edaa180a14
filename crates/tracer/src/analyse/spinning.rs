//! Spinning before the sleep: locks that poll before they wait look like work, and only samples of
//! the running code show them.
//!
//! Every tick of the scheduler (mostly 250 a second and core) samples the running code. A sample
//! inside the function in which a lock's library polls (Rust's `lock_contended`, `parking_lot`'s
//! `lock_slow`, glibc's `__lll_lock_wait`, the kernel's queued spinlock) is time lost to a lock.
//! Which lock it was the sample does not tell. Its caller does, when threads slept at one lock
//! alone in that function; else the polling has a place and no lock.

use std::cmp::Reverse;

use super::locks::{ENOUGH_SAMPLES, tells};
use super::waits::Waited;
use crate::event::{Kind, Tid};
use crate::fast_map::FastMap;
use crate::threads::Role;
use crate::timeline::{Life, Timeline};
use crate::trace::Trace;

/// Polling at one place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Polling {
    samples: u64,
    /// What they stand for, in nanoseconds.
    time: f64,
}

/// Samples of the program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spinning {
    /// All samples of the program's threads.
    pub samples: u64,
    /// Processor time of the program's threads, in nanoseconds.
    ran: u64,
    /// The polling of user-space locks, by process and calling function (empty where it has no
    /// name).
    user: FastMap<(Tid, String), Polling>,
    /// The polling of kernel locks, in nanoseconds.
    kernel: f64,
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
        let own = trace.events.iter().filter_map(|event| match event.kind {
            Kind::Sample(stack) if timeline.threads.role(event.tid) == Role::Target => {
                Some((event.tid, stack as usize))
            }
            _ => None,
        });
        let mut samples: FastMap<Tid, u64> = FastMap::default();
        own.clone()
            .for_each(|(tid, _)| *samples.entry(tid).or_default() += 1);
        let stand_for = Weights::new(timeline, &samples);
        let mut found = Self {
            samples: samples.values().sum(),
            ran: timeline.targets().map(Life::ran).sum(),
            owners: owners(trace, waited),
            ..Self::default()
        };
        for (tid, stack) in own {
            if kernel.get(stack) == Some(&true) {
                found.kernel += stand_for.sample_of(tid);
            } else if let Some(Some(caller)) = user.get(stack) {
                let process = timeline.threads.process(tid);
                let polling = found.user.entry((process, caller.clone())).or_default();
                polling.samples += 1;
                polling.time += stand_for.sample_of(tid);
            }
        }
        found
    }

    /// The share of the program's processor time spent polling user-space locks.
    pub fn user_share(&self) -> f64 {
        let polled: f64 = self.user.values().map(|polling| polling.time).sum();
        polled / self.ran.max(1) as f64
    }

    /// The share of the program's processor time spent polling kernel locks.
    pub fn kernel_share(&self) -> f64 {
        self.kernel / self.ran.max(1) as f64
    }

    /// Samples of polling for the object with this index, and the nanoseconds they stand for.
    pub fn of(&self, index: usize) -> (u64, f64) {
        let owned = self
            .user
            .iter()
            .filter(|(caller, _)| self.owners.get(*caller) == Some(&index));
        owned.fold((0, 0.0), |(samples, time), (_, polling)| {
            (samples + polling.samples, time + polling.time)
        })
    }

    /// Nanoseconds of polling in `process` for locks that nothing names.
    pub fn unnamed(&self, process: Tid) -> f64 {
        self.strangers()
            .filter(|(p, ..)| *p == process)
            .map(|(.., polling)| polling.time)
            .sum()
    }

    /// Samples of polling for locks that nothing names.
    pub fn unnamed_samples(&self) -> u64 {
        self.strangers().map(|(.., polling)| polling.samples).sum()
    }

    /// The callers of polling for locks that nothing names, with the nanoseconds, longest first.
    pub fn places(&self) -> Vec<(String, f64)> {
        let mut places: Vec<_> = self
            .strangers()
            .map(|(_, caller, polling)| (caller.to_owned(), polling.time))
            .collect();
        places.sort_by_key(|(caller, time)| (Reverse(*time as u64), caller.clone()));
        places
    }

    fn strangers(&self) -> impl Iterator<Item = (Tid, &str, Polling)> {
        let unowned = self
            .user
            .iter()
            .filter(|(caller, _)| !self.owners.contains_key(*caller));
        unowned.map(|((process, caller), polling)| (*process, caller.as_str(), *polling))
    }
}

/// The part of what was sampled that stands whatever chance did: two standard errors less.
pub fn certain(samples: u64) -> f64 {
    (1.0 - 2.0 / (samples.max(1) as f64).sqrt()).max(0.0)
}

/// The processor time that a sample stands for. A thread that a timer wakes runs in step with the
/// ticks, which find it always or never; how long each thread ran is known, so a thread with enough
/// samples has its own weight.
struct Weights {
    own: FastMap<Tid, f64>,
    others: f64,
}

impl Weights {
    fn new(timeline: &Timeline, samples: &FastMap<Tid, u64>) -> Self {
        let mut ran: FastMap<Tid, u64> = FastMap::default();
        for life in timeline.targets() {
            *ran.entry(life.tid).or_default() += life.ran();
        }
        let mut own = FastMap::default();
        let mut others = (0, 0);
        for (tid, ran) in ran {
            match samples.get(&tid).copied().unwrap_or_default() {
                samples @ ENOUGH_SAMPLES.. => {
                    own.insert(tid, ran as f64 / samples as f64);
                }
                samples => others = (others.0 + ran, others.1 + samples),
            }
        }
        let others = others.0 as f64 / (others.1 as f64).max(1.0);
        Self { own, others }
    }

    fn sample_of(&self, tid: Tid) -> f64 {
        self.own.get(&tid).copied().unwrap_or(self.others)
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
