//! Clocks, sleeps and niceness of the calling thread for the experiments that keep time.

/// Highest first-in-first-out priority that the experiments use: below the kernel's own watchdogs.
pub const PRIORITY: i32 = 63;

/// Makes the calling thread give way to every other.
pub fn give_way() {
    // SAFETY: 0 is the calling thread on Linux, 19 the weakest niceness.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
}

/// Lets timers of the calling thread fire when they are due and not up to 50 µs later.
pub fn exact_timers() {
    // SAFETY: takes a number of nanoseconds and concerns this thread only.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// Nanoseconds of the monotonic clock.
pub fn now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is alive during the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Sleeps until the monotonic clock shows `nanoseconds`.
pub fn sleep_until(nanoseconds: u64) {
    let time = libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000).cast_signed(),
        tv_nsec: (nanoseconds % 1_000_000_000).cast_signed(),
    };
    // SAFETY: the time is alive during the call; the rest of an interrupted sleep is not asked for.
    unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &raw const time,
            std::ptr::null_mut(),
        )
    };
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
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is alive during the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_ends_after_its_time() {
        let due = now() + 2_000_000;
        sleep_until(due);
        assert!(now() >= due);
        assert!(cpu_seconds() >= 0.0 && forced_switches() >= 0);
    }
}
