//! Clocks, sleeps and niceness of the calling thread for the experiments that keep time.

use std::num::NonZeroU64;

use host::RealTime;
use host::cores::CoreId;
use host::pin::Pinned;
use rustix::process::setpriority_process;
use rustix::thread::{clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Highest first-in-first-out priority that the experiments use: below the kernel's own watchdogs.
pub const PRIORITY: u32 = 63;

/// Keeps the calling thread on `core`, and if it is to be `first`, before all normal ones there,
/// while the guards live. Says what was refused.
pub fn placed(core: CoreId, first: bool) -> ((Option<Pinned>, Option<RealTime>), Option<String>) {
    let pin = Pinned::to(core).map_err(|error| error.to_string());
    let ask = || RealTime::first_in_first_out(PRIORITY).map_err(|refused| refused.to_string());
    let rank = first.then(ask).transpose();
    let refused = pin.as_ref().err().or(rank.as_ref().err()).cloned();
    ((pin.ok(), rank.ok().flatten()), refused)
}

/// Makes the calling thread give way to every other.
pub fn give_way() {
    // The weakest niceness, which is never refused.
    let _ = setpriority_process(None, 19);
}

/// Lets timers of the calling thread fire when they are due and not up to 50 µs later.
pub fn exact_timers() {
    // One nanosecond, which is never refused.
    let _ = set_current_timer_slack(Some(NonZeroU64::MIN));
}

/// Sleeps until the monotonic clock shows `nanoseconds`.
pub fn sleep_until(nanoseconds: u64) {
    let time = Timespec {
        tv_sec: (nanoseconds / 1_000_000_000).cast_signed(),
        tv_nsec: (nanoseconds % 1_000_000_000).cast_signed(),
    };
    // A signal ends the sleep early.
    let _ = clock_nanosleep_absolute(rustix::thread::ClockId::Monotonic, &time);
}

/// Switches that other tasks forced on the calling thread since it began.
pub fn forced_switches() -> i64 {
    // SAFETY: rusage is plain numbers, and is alive during the call.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage.ru_nivcsw
    }
}

/// CPU seconds of the calling thread.
pub fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[cfg(test)]
#[path = "../../tests/unit/realtime.rs"]
mod tests;
