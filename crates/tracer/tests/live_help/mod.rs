//! What the tests with live recordings share.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "every test file uses its own part"
)]

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

use rustix::io::fcntl_dupfd_cloexec;
use tracer::record::{Backend, Options, Recording, Target};

/// Held by tests that need the cores for themselves.
pub static BUSY: Mutex<()> = Mutex::new(());

/// True for root; otherwise says that the test is skipped.
pub fn root() -> bool {
    let root = needs::root("to open tracepoints");
    if root {
        LazyLock::force(&KEPT);
    }
    root
}

/// Descriptors of all tracepoints, silent and open until the tests end: when nobody else has a
/// tracepoint open, closing it waits for all cores, and a recording closes two dozen.
static KEPT: LazyLock<Vec<OwnedFd>> = LazyLock::new(|| {
    let options = Options {
        backend: Backend::Perf,
        packets: true,
        ..Options::default()
    };
    // Where nothing can be recorded, the tests say so.
    let Ok(recording) = Recording::start(&options) else {
        return Vec::new();
    };
    let own = std::fs::read_dir("/proc/self/fd").expect("proc is mounted");
    let copies = own.flatten().filter_map(|entry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        // SAFETY: only copied; if it is closed meanwhile, the kernel says so.
        let fd = unsafe { BorrowedFd::borrow_raw(number) };
        fcntl_dupfd_cloexec(fd, 0).ok()
    });
    let is_event = |fd: &OwnedFd| {
        let link = PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd()));
        link.read_link()
            .is_ok_and(|to| to.ends_with("anon_inode:[perf_event]"))
    };
    let kept = copies.filter(is_event).collect();
    drop(recording);
    kept
});

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
