//! The one clock: `CLOCK_MONOTONIC`, which eBPF programs on this host read too.

/// Nanoseconds of the monotonic clock.
#[inline]
pub fn now_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes one timespec of ours; the clock exists on every Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// What one reading costs, ns: the mean of many.
pub fn cost_ns() -> f64 {
    const READINGS: u32 = 10_000;
    let start = now_ns();
    for _ in 0..READINGS {
        std::hint::black_box(now_ns());
    }
    (now_ns() - start) as f64 / f64::from(READINGS)
}

/// Waits until `deadline_ns`: sleeps while it is far, spins at the end. Returns early when `stop` says so.
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
