//! Spinning before the sleep: locks that poll before they wait look like work, and only samples of
//! the running code show them.
//!
//! Every tick of the scheduler (mostly 250 a second and core) samples the running code. A sample
//! inside the function in which a lock's library polls (Rust's `lock_contended`, `parking_lot`'s
//! `lock_slow`, glibc's `__lll_lock_wait`, the kernel's queued spinlock) is time lost to a lock.
//! Which lock it was the sample does not tell: it is shared among the locks of the process that
//! threads slept at, by their numbers of waits.

use super::classify::Class;
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
    /// Samples in the polling of user-space locks, by process.
    pub user: FastMap<Tid, u64>,
    /// Samples in the polling of kernel locks.
    pub kernel: u64,
    /// Processor time that one sample stands for.
    pub each: f64,
}

/// Marks of functions that poll a user-space lock.
const USER: [&str; 4] = [
    "_contended",
    "lock_slow",
    "lll_lock_wait",
    "pthread_spin_lock",
];
/// Marks of functions that poll a kernel lock.
const KERNEL: [&str; 2] = ["queued_spin_lock_slowpath", "osq_lock"];
/// Frames of a sample that are looked at: the innermost function and its caller.
const FRAMES: usize = 2;

impl Spinning {
    /// Counts the samples of a trace.
    pub fn new(trace: &Trace, timeline: &Timeline) -> Self {
        let polls = |marks: &[&str]| -> Vec<bool> {
            let hit = |frames: &Vec<String>| {
                frames
                    .iter()
                    .take(FRAMES)
                    .any(|frame| marks.iter().any(|mark| frame.contains(mark)))
            };
            trace.trailer.stacks.iter().map(hit).collect()
        };
        let (user, kernel) = (polls(&USER), polls(&KERNEL));
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
            } else if user.get(stack) == Some(&true) {
                *found
                    .user
                    .entry(timeline.threads.process(event.tid))
                    .or_default() += 1;
            }
        }
        let ran: u64 = timeline.targets().map(Life::ran).sum();
        if found.samples > 0 {
            found.each = ran as f64 / found.samples as f64;
        }
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

    /// Nanoseconds of polling that fall to `waited`, by its part in the waits of its process.
    pub fn of(&self, waited: &Waited, all: &[Waited], classes: &[Class]) -> f64 {
        let process = waited.object.process;
        let Some(samples) = self.user.get(&process) else {
            return 0.0;
        };
        let waits: u64 = all
            .iter()
            .zip(classes)
            .filter(|(other, class)| other.object.process == process && class.is_lock())
            .map(|(other, _)| other.waits.count)
            .sum();
        *samples as f64 * self.each * waited.waits.count as f64 / waits.max(1) as f64
    }
}
