//! Clocks of a trial: the host's, and a simulated one, in which a busy machine does not disturb.
//! With the simulated one a trial over memory is a plain computation.

use std::cell::Cell;

use host::clock::now_ns;

/// Where the engine takes its time from.
pub trait Clock {
    /// Nanoseconds since some beginning; never goes back.
    fn now_ns(&self) -> u64;
    /// Returns at `deadline_ns`, or earlier when `stop` says so.
    fn wait_until(&self, deadline_ns: u64, stop: impl Fn() -> bool);
    /// Whether its time is that of the machine, which others can take.
    fn is_real(&self) -> bool {
        true
    }
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct Monotonic;

impl Clock for Monotonic {
    #[inline]
    fn now_ns(&self) -> u64 {
        now_ns()
    }

    fn wait_until(&self, deadline_ns: u64, stop: impl Fn() -> bool) {
        wait_until(deadline_ns, stop);
    }
}

/// A clock that moves on by a fixed step at every reading, as if the work in between took that
/// long.
#[derive(Debug)]
pub struct Simulated {
    now_ns: Cell<u64>,
    step_ns: u64,
}

impl Simulated {
    /// A clock with a step in ns.
    pub fn new(step_ns: u64) -> Self {
        Self {
            now_ns: Cell::new(1_000_000),
            step_ns,
        }
    }
}

impl Clock for Simulated {
    fn now_ns(&self) -> u64 {
        self.now_ns.set(self.now_ns.get() + self.step_ns);
        self.now_ns.get()
    }

    fn wait_until(&self, deadline_ns: u64, _: impl Fn() -> bool) {
        self.now_ns.set(self.now_ns.get().max(deadline_ns));
    }

    fn is_real(&self) -> bool {
        false
    }
}

/// Waits until `deadline_ns`: sleeps while it is far, spins at the end. Returns early when `stop`
/// says so.
pub fn wait_until(deadline_ns: u64, stop: impl Fn() -> bool) {
    const SPIN_NS: u64 = 200_000;
    const NAP_NS: u64 = 50_000_000;
    loop {
        let left = deadline_ns.saturating_sub(now_ns());
        if left == 0 || stop() {
            return;
        }
        if left > SPIN_NS {
            std::thread::sleep(std::time::Duration::from_nanos(
                (left - SPIN_NS).min(NAP_NS),
            ));
        } else {
            std::hint::spin_loop();
        }
    }
}
