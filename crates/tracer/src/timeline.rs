//! What every core and every thread did, instant by instant, reconstructed from the events.
//!
//! A core's time is a row of [`Run`]s with [`Handler`]s on top of them; a thread's time is a row of
//! [`Segment`]s: running, runnable without a core, or blocked with the cause. Where events were
//! lost, or contradict each other, the core's time is [`UNKNOWN`] until the next switch tells who
//! runs; nothing is guessed.

mod builder;
mod core_state;
mod lifetimes;

use builder::Builder;
pub use lifetimes::Lifetimes;

use crate::event::{Interrupt, Tid};
use crate::threads::{Role, Threads};
use crate::trace::Trace;

/// The "thread" of a core whose occupant is not known.
pub const UNKNOWN: Tid = Tid::MAX;

/// One thread on one core without a break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// From here on.
    pub start: u64,
    /// Until here.
    pub end: u64,
    /// The thread, or [`UNKNOWN`].
    pub tid: Tid,
}

/// Interrupt handling on a core: the innermost handler's own time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handler {
    /// From here on.
    pub start: u64,
    /// Until here.
    pub end: u64,
    /// Who interrupted.
    pub what: Interrupt,
    /// True for the handler's first span: spans with it count interrupts.
    pub first: bool,
}

/// A stretch of a core's time of which the host machine took a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stolen {
    /// From here on.
    pub start: u64,
    /// Until here.
    pub end: u64,
    /// The nanoseconds taken.
    pub time: u64,
}

/// Something threads wait for at an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Object {
    /// The process whose address it is; 0 for the kernel.
    pub process: Tid,
    /// The address.
    pub address: u64,
    /// Which of the locks that lay there one after another, see [`Lifetimes`].
    pub number: u32,
}

/// Why a thread is blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// It waits at a user-space word: index into [`Timeline::objects`].
    Futex(u32),
    /// It sleeps for a kernel lock: index into [`Timeline::objects`].
    KernelLock(u32),
    /// Uninterruptible: a disk, a page, something in the kernel.
    Disk,
    /// It waits for time to pass.
    Timer,
    /// It waits for the network.
    Network,
    /// It waits for a device.
    Device,
    /// It waits for something that another thread does: a pipe, a signal, a child.
    Thread,
    /// Stopped by a signal or a debugger.
    Stopped,
    /// It was not woken before the end, or its waking was lost.
    Unknown,
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It runs on this core.
    Running(u16),
    /// It could run and has no core.
    Runnable,
    /// It waits.
    Blocked(Cause),
}

/// A stretch of a thread's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// From here on.
    pub start: u64,
    /// Until here.
    pub end: u64,
    /// What it does.
    pub doing: Doing,
    /// Who ended a blocked stretch; [`UNKNOWN`] for nobody.
    pub waker: Tid,
}

/// One thread's time.
#[derive(Clone, Debug, Default)]
pub struct Life {
    /// The thread.
    pub tid: Tid,
    /// What it did, in time order, without overlap.
    pub segments: Vec<Segment>,
}

impl Life {
    /// Adds a segment, if it has any length. The cores' idle threads have none.
    fn push(&mut self, start: u64, end: u64, doing: Doing, waker: Tid) {
        if end > start && self.tid != 0 {
            self.segments.push(Segment {
                start,
                end,
                doing,
                waker,
            });
        }
    }

    /// How long it ran.
    pub fn ran(&self) -> u64 {
        self.segments
            .iter()
            .filter(|segment| matches!(segment.doing, Doing::Running(_)))
            .map(|segment| segment.end - segment.start)
            .sum()
    }
}

/// The whole reconstruction.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// The window: nanoseconds of `CLOCK_MONOTONIC`.
    pub start: u64,
    /// Its end.
    pub end: u64,
    /// The cores, in the order of `runs` and `handlers`.
    pub cores: Vec<u16>,
    /// What ran on each core: fills the window exactly.
    pub runs: Vec<Vec<Run>>,
    /// Interrupts on each core.
    pub handlers: Vec<Vec<Handler>>,
    /// Time that the host machine took, by core, in time order.
    pub stolen: Vec<Vec<Stolen>>,
    /// Every thread that was seen, in the order of first sight.
    pub lives: Vec<Life>,
    /// What threads waited at.
    pub objects: Vec<Object>,
    /// Which lock lay where when.
    pub lifetimes: Lifetimes,
    /// Who the threads are.
    pub threads: Threads,
    /// Switches whose former thread was not the one believed to run.
    pub contradictions: u64,
    /// Starts on an idle core that no switch told of: their times are inferred.
    pub inferred: u64,
    /// All switches.
    pub switches: u64,
}

impl Timeline {
    /// Reconstructs a trace.
    pub fn new(trace: &Trace) -> Self {
        let mut builder = Builder::new(trace);
        for event in &trace.events {
            builder.event(event);
        }
        builder.finish()
    }

    /// The window's length in nanoseconds.
    pub fn wall(&self) -> u64 {
        self.end - self.start
    }

    /// `time`, or the end of the window that it lies beyond.
    pub(crate) fn inside(&self, time: u64) -> u64 {
        time.clamp(self.start, self.end)
    }

    /// How much of a core's time between two instants the host machine took, spread evenly over the
    /// stretch that it was counted in.
    pub fn stolen(&self, core: u16, from: u64, to: u64) -> u64 {
        let at = self.cores.iter().position(|other| *other == core);
        let Some(stretches) = at.and_then(|at| self.stolen.get(at)) else {
            return 0;
        };
        let first = stretches.partition_point(|stretch| stretch.end <= from);
        let touched = stretches[first..]
            .iter()
            .take_while(|stretch| stretch.start < to);
        let taken = |stretch: &Stolen| {
            let part = stretch.end.min(to) - stretch.start.max(from);
            part as f64 * stretch.time as f64 / (stretch.end - stretch.start) as f64
        };
        (touched.map(taken).sum::<f64>() as u64).min(to - from)
    }

    /// The lives of the threads under study.
    pub fn targets(&self) -> impl Iterator<Item = &Life> {
        self.lives
            .iter()
            .filter(|life| self.threads.role(life.tid) == Role::Target)
    }

    /// What the threads under study waited for at an address: the thread, its blocked segment, and
    /// the index of what it waited at.
    pub fn waits(&self) -> impl Iterator<Item = (Tid, &Segment, u32)> {
        self.targets()
            .flat_map(|life| life.segments.iter().map(|segment| (life.tid, segment)))
            .filter_map(|(tid, segment)| match segment.doing {
                Doing::Blocked(Cause::Futex(object) | Cause::KernelLock(object)) => {
                    Some((tid, segment, object))
                }
                _ => None,
            })
    }
}
