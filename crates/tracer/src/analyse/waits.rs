//! Everything that threads waited at by address, counted: futex words and kernel locks.
//!
//! One walk over the events gathers for every object who waited, how long, who ended the wait, and
//! with which values the futex calls were made; [`super::classify`] then says what each object is.
//! Two things come from the structure of a futex mutex: a thread that got the lock after waiting
//! always wakes somebody when it lets go, so its hold is visible; and while somebody waits,
//! somebody holds. Acquisitions without waiting make no event and are not counted here.

mod behind;
mod gather;
mod let_go;

use std::cmp::Reverse;

pub use behind::Behind;
pub use gather::gather;
pub use let_go::{BEFORE_CALL, LetGo};

use crate::event::{FutexCall, Operation, Tid};
use crate::fast_map::FastMap;
use crate::timeline::Object;

/// Count, sum and extremes of durations in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Durations {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The longest.
    pub longest: u64,
    /// The sum of their squares.
    squares: u128,
}

impl Durations {
    /// Adds one.
    pub fn add(&mut self, duration: u64) {
        self.count += 1;
        self.sum += duration;
        self.longest = self.longest.max(duration);
        self.squares += u128::from(duration).pow(2);
    }

    /// The part of the sum that stands whatever chance did: two standard errors less, where the
    /// durations come by chance. A few of them, or one long one among them, leave little.
    pub fn certain(&self) -> f64 {
        (1.0 - 2.0 * (self.squares as f64).sqrt() / (self.sum as f64).max(1.0)).max(0.0)
    }

    /// The mean, 0 when there are none.
    pub fn mean(&self) -> f64 {
        if self.count == 0 {
            0.0
        } else {
            self.sum as f64 / self.count as f64
        }
    }
}

/// One thread's share in an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Its waits.
    pub waits: Durations,
    /// How long others waited while this thread had the lock: until it let go, from when the thread
    /// before it did.
    pub blocked_others: u64,
}

/// The values and answers of the futex calls made at a word.
#[derive(Clone, Debug, Default)]
pub struct FutexUse {
    /// Wait calls by expected value; past 64 different values the rest counts under the last.
    pub values: FastMap<u32, u64>,
    /// Wait calls without `FUTEX_PRIVATE_FLAG`.
    pub shared: u64,
    /// Priority-inheritance lock calls.
    pub priority: u64,
    /// Wait calls whose value was a living thread's number (the low 30 bits).
    pub thread_numbers: u64,
    /// Wait calls with a timeout.
    pub timed: u64,
    /// Waits that ended by their timeout.
    pub timed_out: u64,
    /// Waits refused because the word had changed already.
    pub changed: u64,
    /// Wake calls that asked for one waiter.
    pub wake_one: u64,
    /// Wake calls that asked for more.
    pub wake_many: u64,
    /// Waiters passed on to another word.
    pub requeues: u64,
    /// Sleeps ended by a thread that made no futex call: a thread's exit, a signal.
    pub ended_without_call: u64,
    /// Sleeps ended by a wake call.
    pub ended_by_call: u64,
}

/// The time during which something counts more than none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    /// Its sum so far.
    pub sum: u64,
    number: u32,
    since: u64,
}

impl Busy {
    /// One more from `time` on.
    fn begin(&mut self, time: u64) {
        if self.number == 0 {
            self.since = time;
        }
        self.number += 1;
    }

    /// One less from `time` on.
    fn end(&mut self, time: u64) {
        self.number = self.number.saturating_sub(1);
        if self.number == 0 {
            self.sum += time.saturating_sub(self.since);
        }
    }

    /// None from `time` on.
    fn close(&mut self, time: u64) {
        if self.number > 0 {
            self.number = 1;
            self.end(time);
        }
    }
}

/// Everything about one object.
#[derive(Clone, Debug, Default)]
pub struct Waited {
    /// Where it is.
    pub object: Object,
    /// The futex calls, empty for kernel locks.
    pub futex: FutexUse,
    /// `LCB_F_*` flags of a kernel lock.
    pub flags: u8,
    /// All waits of the threads under study.
    pub waits: Durations,
    /// Waits that had not ended when the recording did.
    pub unfinished: u64,
    /// Time during which at least one thread waited.
    pub contended: Busy,
    /// Time during which a woken waiter had not got a core yet.
    pub hand_off: Busy,
    /// Time between getting the lock after a wait and letting go.
    pub holds: Durations,
    /// The same, only while on a core.
    pub holds_on_core: Durations,
    /// Time on a core between letting go and waiting again.
    pub between: Durations,
    /// Wake-ups after which the thread found the lock taken again by somebody who had not waited.
    pub missed: u64,
    /// When it had been let go and nobody was known to have it, where looks fell into that; in time
    /// order.
    pub let_go: Vec<LetGo>,
    /// Futex calls at this word, waits and wakes.
    pub calls: u64,
    /// Time on a core inside the futex calls at this word.
    pub in_calls: u64,
    /// What the holders did while others waited.
    pub behind: Behind,
    /// Who took part.
    pub parts: FastMap<Tid, Part>,
    /// Code places of waits (indices into the trace's stacks) with their counts.
    pub places: FastMap<u32, u64>,
}

impl Waited {
    /// The stretch after it was let go that contains an instant for which a look was meant, or begins at
    /// most [`BEFORE_CALL`] after it.
    pub fn let_go_at(&self, instant: u64) -> Option<&LetGo> {
        let begins = instant + BEFORE_CALL;
        let after = self.let_go.partition_point(|gone| gone.from <= begins);
        let gone = self.let_go.get(after.checked_sub(1)?)?;
        (instant < gone.to).then_some(gone)
    }

    /// `tid` has waited for `length` until `time`.
    fn waited(&mut self, tid: Tid, length: u64, time: u64) {
        self.contended.end(time);
        self.waits.add(length);
        self.parts.entry(tid).or_default().waits.add(length);
    }

    /// The threads that waited, longest first.
    pub fn waiters(&self) -> Vec<(Tid, Durations)> {
        let waits = |part: &Part| (part.waits.count > 0).then_some(part.waits);
        self.threads_by(waits, |waits| waits.sum)
    }

    /// The threads that made others wait, with the time waited for them, longest first.
    pub fn holders(&self) -> Vec<(Tid, u64)> {
        let blocked = |part: &Part| (part.blocked_others > 0).then_some(part.blocked_others);
        self.threads_by(blocked, |time| *time)
    }

    /// The threads for which `of` gives something, by its time.
    fn threads_by<T>(&self, of: fn(&Part) -> Option<T>, time: fn(&T) -> u64) -> Vec<(Tid, T)> {
        let parts = self.parts.iter();
        let mut found: Vec<_> = parts
            .filter_map(|(tid, part)| Some((*tid, of(part)?)))
            .collect();
        found.sort_by_key(|(tid, part)| (Reverse(time(part)), *tid));
        found
    }
}

impl FutexUse {
    fn wait(&mut self, call: &FutexCall, is_number: bool) {
        const KINDS: usize = 64;
        let value = if self.values.len() < KINDS || self.values.contains_key(&call.value) {
            call.value
        } else {
            // Many values: a sequence counter. Which ones does not matter any more.
            u32::MAX - 1
        };
        *self.values.entry(value).or_default() += 1;
        self.shared += u64::from(!call.private);
        self.timed += u64::from(call.timeout);
        self.thread_numbers += u64::from(is_number);
        self.priority += u64::from(matches!(
            call.operation,
            Operation::LockPi | Operation::LockPi2
        ));
    }

    fn wake(&mut self, call: &FutexCall) {
        match call.operation {
            Operation::Wake | Operation::WakeBitset | Operation::UnlockPi if call.value <= 1 => {
                self.wake_one += 1;
            }
            Operation::Wake | Operation::WakeBitset => self.wake_many += 1,
            Operation::UnlockPi => self.wake_one += 1,
            _ => self.requeues += 1,
        }
    }

    /// All wait calls.
    pub fn wait_calls(&self) -> u64 {
        self.values.values().sum()
    }
}
