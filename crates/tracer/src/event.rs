//! The event model: what one core told us, as plain values.
//!
//! An [`Event`] is one thing that happened on one core at one instant of `CLOCK_MONOTONIC`. The
//! values are the kernel's own (thread ids, futex operations, lock flags) after the kernel
//! version's field layout has been removed; nothing here knows about perf rings or files, so the
//! analyses can be tested with events written by hand.
//!
//! What it cannot tell: a lock that is taken without waiting makes no event at all, and a thread
//! that spins looks like a thread that works.

/// A thread as the kernel numbers it (`pid` in tracepoints). 0 is the idle thread of every core.
pub type Tid = u32;

/// One event. `tid` is the thread that the core was running when it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    pub time: u64,
    /// The core it happened on.
    pub cpu: u16,
    /// The thread the core was running.
    pub tid: Tid,
    /// What happened.
    pub kind: Kind,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The core left `tid` (in state `left`) and runs `next` from now on.
    Switch {
        /// Why the former thread left.
        left: Left,
        /// The thread that runs now.
        next: Tid,
    },
    /// The running code made `woken` runnable; it will be queued on core `target`.
    Waking {
        /// The thread that becomes runnable.
        woken: Tid,
        /// The core whose queue it joins.
        target: u16,
        /// Whether the running thread itself or an interrupt on top of it did this.
        by: Context,
        /// True for the first wake-up of a new thread.
        new: bool,
    },
    /// The thread `moved` was given to another core's queue.
    Migrate {
        /// The thread that moves.
        moved: Tid,
        /// The core it leaves.
        from: u16,
        /// The core it goes to.
        to: u16,
    },
    /// The running thread entered the futex system call.
    FutexEnter(FutexCall),
    /// The running thread left the futex system call with this result (negative: an errno).
    FutexExit(i32),
    /// The running thread (or interrupt) found a kernel lock taken and begins to wait.
    LockBegin {
        /// The address of the kernel's lock.
        address: u64,
        /// `LCB_F_*` of the kernel's `trace/events/lock.h`.
        flags: u8,
    },
    /// The wait for a kernel lock ended (negative: an errno, the lock was not taken).
    LockEnd {
        /// The address of the kernel's lock.
        address: u64,
        /// 0, or a negative errno.
        result: i32,
    },
    /// An interrupt handler began on top of the running thread.
    InterruptBegin(Interrupt),
    /// An interrupt handler ended.
    InterruptEnd(Interrupt),
    /// A network device was polled (NAPI).
    Poll {
        /// Packets handled.
        work: u16,
        /// Packets allowed.
        budget: u16,
    },
    /// An XDP program's packets were handed on (`xdp_bulk_tx`, `xdp_devmap_xmit`, `xdp_cpumap_*`).
    Packets {
        /// Frames that went on.
        sent: u16,
        /// Frames dropped.
        dropped: u16,
    },
    /// The code place of the event before this one on the same core: an index into the trace's
    /// stacks.
    Stack(u32),
    /// A sample of the code that ran: an index into the trace's stacks.
    Sample(u32),
    /// A progress point of a marked program has counted this far.
    Progress {
        /// Index into the trace's progress points.
        point: u16,
        /// Events counted since the program began.
        total: u64,
    },
    /// The host machine took so much of the core's time since the reading before.
    Stolen {
        /// Nanoseconds taken.
        time: u64,
        /// Nanoseconds since the reading before, four seconds at most.
        within: u32,
    },
    /// This many events of the core were lost before this instant, because the ring was full.
    Lost(u32),
}

/// Why a thread left the core (`prev_state` of `sched_switch`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Left {
    /// Still runnable: its time was up, it yielded, or something else went first.
    Runnable = 0,
    /// Still runnable, taken off inside the kernel ("R+").
    Preempted = 1,
    /// Sleeps until woken or signalled ("S").
    Sleeping = 2,
    /// Sleeps, signals do not wake it ("D"): disk, page, kernel lock.
    Uninterruptible = 3,
    /// Stopped by a signal or a debugger.
    Stopped = 4,
    /// Exits.
    Dead = 5,
    /// A parked kernel thread.
    Parked = 6,
    /// A kernel thread with nothing to do ("I").
    Idle = 7,
}

impl Left {
    /// By number.
    const ALL: [Self; 8] = [
        Self::Runnable,
        Self::Preempted,
        Self::Sleeping,
        Self::Uninterruptible,
        Self::Stopped,
        Self::Dead,
        Self::Parked,
        Self::Idle,
    ];

    /// From the kernel's `prev_state` bits (`include/trace/events/sched.h`).
    pub fn from_kernel(bits: u64) -> Self {
        const PREEMPTED: u64 = 0x100;
        match bits & 0xff {
            0 if bits & PREEMPTED != 0 => Self::Preempted,
            0 => Self::Runnable,
            state if state & 0x80 != 0 => Self::Idle,
            state if state & 0x40 != 0 => Self::Parked,
            state if state & 0x30 != 0 => Self::Dead,
            state if state & 0x0c != 0 => Self::Stopped,
            state if state & 0x02 != 0 => Self::Uninterruptible,
            _ => Self::Sleeping,
        }
    }

    /// From the number written to files.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// The letter that `ps` prints.
    pub fn letter(self) -> &'static str {
        ["R", "R+", "S", "D", "T", "X", "P", "I"][self as usize]
    }
}

/// On whose behalf a wake-up was made (`common_flags` of a tracepoint).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Context {
    /// The running thread itself.
    Thread = 0,
    /// A software interrupt on top of the running thread.
    Softirq = 1,
    /// A hardware interrupt on top of the running thread.
    Hardirq = 2,
}

impl Context {
    /// From `common_flags`: bit 3 hard interrupt, bit 4 soft interrupt
    /// (`include/linux/trace_events.h`).
    pub fn from_flags(flags: u8) -> Self {
        const HARDIRQ: u8 = 0x08;
        const SOFTIRQ: u8 = 0x10;
        if flags & HARDIRQ != 0 {
            Self::Hardirq
        } else if flags & SOFTIRQ != 0 {
            Self::Softirq
        } else {
            Self::Thread
        }
    }

    /// From the number written to files.
    pub fn from_code(code: u8) -> Option<Self> {
        [Self::Thread, Self::Softirq, Self::Hardirq]
            .get(usize::from(code))
            .copied()
    }
}

/// Who interrupted the running thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Interrupt {
    /// A device's interrupt line.
    Line(u16),
    /// A software interrupt, by vector (3 is `NET_RX`).
    Soft(u8),
    /// The core's own timer.
    Timer,
    /// Another core asks for a look at the run queue.
    Reschedule,
    /// Another core asks for a function call.
    Call,
}

/// The names of the software interrupt vectors (`include/linux/interrupt.h`).
pub const SOFTIRQ_NAMES: [&str; 10] = [
    "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU",
];

impl std::fmt::Display for Interrupt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Line(line) => write!(f, "irq {line}"),
            Self::Soft(vector) => match SOFTIRQ_NAMES.get(usize::from(*vector)) {
                Some(name) => write!(f, "softirq {name}"),
                None => write!(f, "softirq {vector}"),
            },
            Self::Timer => f.write_str("timer"),
            Self::Reschedule => f.write_str("reschedule"),
            Self::Call => f.write_str("function call"),
        }
    }
}

/// The arguments of a futex call that the analyses need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FutexCall {
    /// The user-space word.
    pub address: u64,
    /// The value expected (wait) or the number of waiters to wake (wake).
    pub value: u32,
    /// The operation without its flags.
    pub operation: Operation,
    /// `FUTEX_PRIVATE_FLAG`: the word belongs to one process.
    pub private: bool,
    /// The call carries a timeout.
    pub timeout: bool,
}

/// A futex operation (`include/uapi/linux/futex.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Operation {
    Wait = 0,
    Wake = 1,
    Requeue = 3,
    CompareRequeue = 4,
    WakeOperation = 5,
    LockPi = 6,
    UnlockPi = 7,
    TryLockPi = 8,
    WaitBitset = 9,
    WakeBitset = 10,
    WaitRequeuePi = 11,
    CompareRequeuePi = 12,
    LockPi2 = 13,
    Other = 127,
}

impl Operation {
    /// From the `op` argument; flag bits are removed first.
    pub fn from_kernel(op: u32) -> Self {
        const COMMAND: u32 = 0x7f;
        match op & COMMAND {
            0 => Self::Wait,
            1 => Self::Wake,
            3 => Self::Requeue,
            4 => Self::CompareRequeue,
            5 => Self::WakeOperation,
            6 => Self::LockPi,
            7 => Self::UnlockPi,
            8 => Self::TryLockPi,
            9 => Self::WaitBitset,
            10 => Self::WakeBitset,
            11 => Self::WaitRequeuePi,
            12 => Self::CompareRequeuePi,
            13 => Self::LockPi2,
            _ => Self::Other,
        }
    }

    /// True for the operations that may put the caller to sleep.
    pub fn waits(self) -> bool {
        matches!(
            self,
            Self::Wait | Self::WaitBitset | Self::LockPi | Self::LockPi2 | Self::WaitRequeuePi
        )
    }

    /// True for the operations that wake or pass on waiters.
    pub fn wakes(self) -> bool {
        matches!(
            self,
            Self::Wake
                | Self::WakeBitset
                | Self::WakeOperation
                | Self::UnlockPi
                | Self::Requeue
                | Self::CompareRequeue
                | Self::CompareRequeuePi
        )
    }
}

/// Something that the machine told about a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskChange {
    /// Nanoseconds of `CLOCK_MONOTONIC`; 0 for what was true before the recording.
    pub time: u64,
    /// The thread.
    pub tid: Tid,
    /// Its process (the thread group's id).
    pub process: Tid,
    /// What is told.
    pub what: TaskNews,
}

/// What is told about a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskNews {
    /// It has this name now.
    Named(String),
    /// It was made by a thread of this process.
    Forked {
        /// The process that made it.
        parent: Tid,
    },
    /// It is gone.
    Exited,
}

#[cfg(test)]
#[path = "../tests/unit/event.rs"]
mod tests;
