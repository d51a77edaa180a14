//! The lost-core budget: every nanosecond of every core, accounted for.
//!
//! A core is at each instant in exactly one state, so the states sum to wall time times cores. What
//! an idle core could have done is asked at each instant too: while cores idle and threads of the
//! program are blocked, as many idle cores as there are blocked threads are lost to what they wait
//! for (locks first, then other waits, shared evenly among the waiting threads); while threads of
//! the program are runnable and no core idles, the time is lost to whoever has the cores.

mod sweep;

use std::ops::Deref;

use serde::{Deserialize, Serialize};
use sweep::Sweep;
pub(crate) use sweep::wait_for;

use super::classify::Class;
use crate::timeline::{Cause, Timeline};

/// Where the time of all cores went, in nanoseconds. The fields from `program` to `unknown` sum to
/// `wall * cores`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spent {
    /// The window.
    pub wall: u64,
    /// How many cores.
    pub cores: u64,
    /// The program under study ran.
    pub program: u64,
    /// Another program ran.
    pub other: u64,
    /// A kernel thread ran.
    pub kernel: u64,
    /// The recorder ran.
    pub recorder: u64,
    /// Interrupt handlers ran.
    pub interrupts: u64,
    /// Software interrupts ran.
    pub softirqs: u64,
    /// Idle although a thread of the program was runnable: it had been woken and was not there
    /// yet.
    pub idle_waking: u64,
    /// Idle while threads of the program waited for locks.
    pub idle_locks: u64,
    /// Idle while threads of the program waited for anything else that takes time: disks, timers,
    /// messages.
    pub idle_waits: u64,
    /// Idle by design: the program had no further thread to run.
    pub idle_design: u64,
    /// Not known: events were lost or contradict each other.
    pub unknown: u64,
    /// Core time taken by others while threads of the program were runnable.
    pub starved: u64,
}

/// Where the time of all cores went, and for whom. Times are in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Budget {
    /// The sums.
    pub spent: Spent,
    /// What the idle cores waited for, longest first: parts of `idle_locks` and `idle_waits`.
    pub waits: Vec<(WaitFor, u64)>,
    /// Who had cores while the program's threads were runnable, longest first: (name, time taken
    /// away, time run). What was taken sums to `starved`.
    pub thieves: Vec<(String, u64, u64)>,
    /// Thread time: runnable without a core.
    pub runnable: u64,
    /// Core time on which exactly one thread of the program ran and no other of it was runnable or
    /// waited for a lock, a message or a device. A thread that sleeps, or waits for long, counts as
    /// absent.
    pub alone: u64,
    /// When that was: beginnings and ends, in the order of time.
    pub alone_stretches: Vec<(u64, u64)>,
    /// As `alone`, while others of the program were on their way to idle cores.
    pub arriving: u64,
    /// Core time by state for each core, in the order program, other, kernel, recorder, idle,
    /// interrupts, softirqs, unknown.
    pub by_core: Vec<(u16, [u64; 8])>,
}

impl Deref for Budget {
    type Target = Spent;

    fn deref(&self) -> &Spent {
        &self.spent
    }
}

/// What a blocked thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitFor {
    /// A lock: index into the objects.
    Lock(u32),
    /// A signal of another thread: index into the objects.
    Signal(u32),
    /// A thread parks: index into the objects.
    Parking(u32),
    /// Time.
    Time,
    /// A disk, a page, something in the kernel.
    Disk,
    /// The network.
    Network,
    /// A device.
    Device,
    /// Another thread, through a pipe or the like.
    Thread,
    /// By design: the end of a thread, a stop; nothing would run if it came earlier.
    Nothing,
}

impl WaitFor {
    /// What a wait is for that nothing more is known of than its cause.
    pub(crate) fn from_cause(cause: Cause) -> Self {
        match cause {
            Cause::Timer => Self::Time,
            Cause::Disk => Self::Disk,
            Cause::Network => Self::Network,
            Cause::Device => Self::Device,
            Cause::Futex(_) | Cause::KernelLock(_) | Cause::Thread => Self::Thread,
            Cause::Stopped | Cause::Unknown => Self::Nothing,
        }
    }
}

impl Budget {
    /// All accounted time.
    pub fn total(&self) -> u64 {
        self.program
            + self.other
            + self.kernel
            + self.recorder
            + self.interrupts
            + self.softirqs
            + self.idle()
            + self.unknown
    }

    /// All idle time.
    pub fn idle(&self) -> u64 {
        self.idle_waking + self.idle_locks + self.idle_waits + self.idle_design
    }

    /// `time` as a number of cores.
    pub fn in_cores(&self, time: u64) -> f64 {
        if self.wall == 0 {
            0.0
        } else {
            time as f64 / self.wall as f64
        }
    }

    /// The cores that the program used.
    pub fn cores_used(&self) -> f64 {
        self.in_cores(self.program)
    }

    /// True when one thread of the program ran alone at this instant, see [`Self::alone`].
    pub fn alone_at(&self, time: u64) -> bool {
        let after = self
            .alone_stretches
            .partition_point(|(begin, _)| *begin <= time);
        after > 0 && time < self.alone_stretches[after - 1].1
    }

    /// Accounts for `timeline`. `classes` say what each waited-for object is.
    pub fn new(timeline: &Timeline, classes: &[Class]) -> Self {
        Sweep::new(timeline, classes).run()
    }
}
