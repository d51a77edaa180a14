//! What a waited-for word is: a lock, or something that only looks like one.
//!
//! A futex is a word and a queue; what it means is the business of the library that uses it. The
//! rules below read it from the values of the calls, which each library's locks give away:
//!
//! - join: the wait is not private and its value is the number of a living thread: the kernel
//!   clears that word when the thread ends
//! - priority mutex: `FUTEX_LOCK_PI`
//! - mutex: every wait expects 2, "locked and contended", in glibc and Rust's standard library
//!   alike; or (musl, robust glibc) the owner's number with the top bit
//! - read-write lock: Rust: bits 30 or 31, "readers/writers wait", over a reader count; glibc: 3,
//!   "writing, and somebody waits"
//! - parking: one thread only ever waits there, expecting 1 or -1: `parking_lot`, `thread::park`.
//!   The word is the thread's own: the lock behind it has another address
//! - timed wait: most waits end by their timeout
//! - signal: anything else: condition variables, semaphores, barriers, channels. Waiting there
//!   means waiting for work

use super::waits::Waited;
use crate::trace::Probe;

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// A mutual exclusion lock in user space.
    Mutex,
    /// A lock with priority inheritance.
    PriorityMutex,
    /// A read-write lock in user space.
    RwLock,
    /// A kernel spinlock (also the queue of a read-write spinlock).
    KernelSpin,
    /// A kernel mutex.
    KernelMutex,
    /// A kernel read-write semaphore or other sleeping lock.
    KernelRw,
    /// A per-CPU kernel read-write semaphore.
    KernelPerCpu,
    /// The word that a thread parks on; the lock behind it is unnamed.
    Parking,
    /// Waiting for a thread to end.
    Join,
    /// Waiting for time to pass.
    TimedWait,
    /// Waiting for a signal of another thread: condition variable, semaphore, channel.
    Signal,
    /// Nobody of the program waited there.
    Unused,
}

impl Class {
    /// True where waiting means that somebody else holds a lock.
    pub fn is_lock(self) -> bool {
        matches!(
            self,
            Self::Mutex
                | Self::PriorityMutex
                | Self::RwLock
                | Self::KernelSpin
                | Self::KernelMutex
                | Self::KernelRw
                | Self::KernelPerCpu
        )
    }

    /// True for locks of the kernel.
    pub fn is_kernel(self) -> bool {
        matches!(
            self,
            Self::KernelSpin | Self::KernelMutex | Self::KernelRw | Self::KernelPerCpu
        )
    }

    /// What it is called in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mutex => "mutex",
            Self::PriorityMutex => "priority-inheritance mutex",
            Self::RwLock => "read-write lock",
            Self::KernelSpin => "kernel spinlock",
            Self::KernelMutex => "kernel mutex",
            Self::KernelRw => "kernel read-write lock",
            Self::KernelPerCpu => "kernel per-CPU lock",
            Self::Parking => "parking place",
            Self::Join => "end of a thread",
            Self::TimedWait => "timed wait",
            Self::Signal => "signal",
            Self::Unused => "unused",
        }
    }
}

/// `LCB_F_*` of `include/trace/events/lock.h`.
mod flag {
    pub(super) const SPIN: u8 = 1;
    pub(super) const PER_CPU: u8 = 16;
    pub(super) const MUTEX: u8 = 32;
}

/// A share that counts as "practically all".
const NEARLY_ALL: f64 = 0.95;

/// Says what `waited` is. `probes` are the words found around it while threads waited.
pub fn classify(waited: &Waited, probes: &[&Probe]) -> Class {
    if waited.object.process == 0 {
        return kernel(waited);
    }
    let futex = &waited.futex;
    let calls = futex.wait_calls();
    if calls == 0 {
        return Class::Unused;
    }
    let share = |part: u64| part as f64 / calls as f64;
    let value_share = |test: &dyn Fn(u32) -> bool| {
        share(
            futex
                .values
                .iter()
                .filter(|(value, _)| test(**value))
                .map(|(_, count)| count)
                .sum(),
        )
    };
    let one_waiter = waited
        .parts
        .values()
        .filter(|part| part.waits.count > 0)
        .count()
        <= 1;
    if share(futex.priority) >= NEARLY_ALL {
        return Class::PriorityMutex;
    }
    if share(futex.shared) >= NEARLY_ALL && share(futex.thread_numbers) >= NEARLY_ALL {
        return Class::Join;
    }
    if futex.timed_out * 2 > calls {
        return Class::TimedWait;
    }
    if value_share(&|value| value == 2) >= NEARLY_ALL && futex.wake_many == 0 && futex.requeues == 0
    {
        return Class::Mutex;
    }
    if value_share(&|value| value & 0x8000_0000 != 0 && value != u32::MAX) >= NEARLY_ALL
        && share(futex.thread_numbers) >= NEARLY_ALL
    {
        return Class::Mutex;
    }
    if one_waiter && value_share(&|value| value == 1 || value == u32::MAX) >= NEARLY_ALL {
        return Class::Parking;
    }
    if value_share(&rust_rwlock) >= NEARLY_ALL
        || probes.iter().any(|probe| rust_writers_word(probe))
    {
        return Class::RwLock;
    }
    if value_share(&|value| value == 2 || value == 3) >= NEARLY_ALL {
        return Class::RwLock;
    }
    Class::Signal
}

/// Of the state of Rust's read-write lock: bit 30 readers wait, bit 31 writers wait.
const WAITING: u32 = 0b11 << 30;
/// The others count readers; all ones are a writer.
const READERS: u32 = !WAITING;

/// A state of Rust's read-write lock that somebody waits at. Readers come to wait at a free one too:
/// a writer has let go and not yet woken them, or one that was woken goes first.
fn rust_rwlock(value: u32) -> bool {
    const READERS_WAIT: u32 = 1 << 30;
    value & READERS == 0 && value & READERS_WAIT != 0 || taken_rwlock(value)
}

/// The same, while somebody has the lock.
fn taken_rwlock(value: u32) -> bool {
    const MANY: u32 = 1 << 16;
    value & WAITING != 0 && (written(value) || (1..MANY).contains(&(value & READERS)))
}

/// Whether a writer has Rust's read-write lock in this state.
pub(super) const fn written(state: u32) -> bool {
    state & READERS == READERS
}

/// True for the state word of Rust's read-write lock, where its readers wait.
pub(super) fn readers_wait_at(waited: &Waited) -> bool {
    let values = &waited.futex.values;
    !values.is_empty() && values.iter().all(|(value, _)| rust_rwlock(*value))
}

/// Writers of Rust's read-write lock wait at the word after the state.
fn rust_writers_word(probe: &Probe) -> bool {
    const WORD_BEFORE: usize = 3;
    const WRITERS_WAIT: u32 = 1 << 31;
    let state = probe.words[WORD_BEFORE];
    state & WRITERS_WAIT != 0 && taken_rwlock(state)
}

fn kernel(waited: &Waited) -> Class {
    if waited.waits.count == 0 {
        Class::Unused
    } else if waited.flags & flag::PER_CPU != 0 {
        Class::KernelPerCpu
    } else if waited.flags & flag::MUTEX != 0 {
        Class::KernelMutex
    } else if waited.flags & flag::SPIN != 0 {
        Class::KernelSpin
    } else {
        Class::KernelRw
    }
}
