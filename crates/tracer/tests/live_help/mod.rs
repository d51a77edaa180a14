//! What the tests with live recordings share.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "every test file uses its own part"
)]

use std::sync::Mutex;
use std::time::{Duration, Instant};

use tracer::record::{Options, Recording, Target};

/// Held by tests that need the cores for themselves.
pub static BUSY: Mutex<()> = Mutex::new(());

/// True for root; otherwise says that the test is skipped.
pub fn root() -> bool {
    needs::root("to open tracepoints")
}

/// Works for this long.
pub fn busy(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Records this command.
pub fn command(words: &[&str]) -> Options {
    Options {
        target: Target::Command(words.iter().map(Into::into).collect()),
        ..Options::default()
    }
}

/// Records until the target has ended.
pub fn run(options: &Options) -> tracer::Trace {
    let mut recording = Recording::start(options).expect("root may record");
    while !recording.ended() {
        std::thread::sleep(Duration::from_millis(5));
    }
    recording
        .stop()
        .expect("the recording ends")
        .into_trace()
        .expect("our own trace")
}

/// Puts this thread on one core.
pub fn pin(core: usize) {
    // SAFETY: a zeroed set is an empty one; CPU_SET stays inside it; the call reads it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &raw const set);
    }
}

/// Puts this thread before all ordinary ones, so that a busy machine does not disturb what is
/// measured. False when refused.
pub fn go_before_others() -> bool {
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: reads one parameter of this thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const priority) == 0 }
}
