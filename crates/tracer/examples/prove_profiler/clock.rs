//! What a program measures of itself: how long its steps took that one thread does at a time, and
//! how long the others. The profiler has no part in it.
//!
//! Equal steps do not take equal time. A thread that has just waited begins with cold caches on a
//! core that slept, and the steps under a lock are those before which threads wait. The share of
//! steps is then not the share of time. One operation in eight, by chance, is timed by its thread's
//! own processor clock: time off the core does not count, nor does a call of the lock.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One operation in so many is timed.
const ONE_IN: u64 = 8;

/// Steps of one kind: all, the timed ones and their time in nanoseconds.
#[derive(Default)]
struct Part {
    steps: AtomicU64,
    timed: AtomicU64,
    time: AtomicU64,
}

/// Steps that one thread did.
#[derive(Clone, Copy, Default)]
pub(crate) struct Steps {
    all: u64,
    timed: u64,
    time: u64,
}

/// What the threads of a program did.
#[derive(Default)]
pub(crate) struct Ledger {
    serial: Part,
    rest: Part,
}

/// The processor time of the calling thread, in nanoseconds.
pub(crate) fn processor_time() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call fills the structure that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// What the clock shows of no work at all: its own price, the least of many.
pub(crate) fn price() -> u64 {
    let nothing = |_| {
        let start = processor_time();
        processor_time() - start
    };
    (0..200).map(nothing).min().unwrap_or(0)
}

/// Random numbers, each thread's its own.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(0x9e37_79b9_7f4a_7c15 ^ (seed << 7))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Whether an operation with this random number is timed.
pub(crate) fn chosen(random: u64) -> bool {
    (random >> 32).is_multiple_of(ONE_IN)
}

impl Steps {
    /// Does `work` of so many steps, and times it when asked to.
    pub(crate) fn of(&mut self, steps: u64, timed: bool, price: u64, work: impl FnOnce()) {
        self.all += steps;
        if !timed {
            return work();
        }
        let start = processor_time();
        work();
        self.time += (processor_time() - start).saturating_sub(price);
        self.timed += steps;
    }
}

impl Part {
    fn add(&self, steps: Steps) {
        self.steps.fetch_add(steps.all, Relaxed);
        self.timed.fetch_add(steps.timed, Relaxed);
        self.time.fetch_add(steps.time, Relaxed);
    }

    /// The time of all steps at the pace of the timed ones.
    fn time(&self) -> f64 {
        let load = |number: &AtomicU64| number.load(Relaxed) as f64;
        load(&self.steps) * load(&self.time) / load(&self.timed).max(1.0)
    }
}

impl Ledger {
    /// Adds what a thread did.
    pub(crate) fn add(&self, serial: Steps, rest: Steps) {
        self.serial.add(serial);
        self.rest.add(rest);
    }

    /// The share of the work's time that one thread spends at a time, where any was timed.
    pub(crate) fn serial_share(&self) -> Option<f64> {
        let (serial, rest) = (self.serial.time(), self.rest.time());
        (serial + rest > 0.0).then(|| serial / (serial + rest))
    }
}
