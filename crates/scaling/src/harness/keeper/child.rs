//! What runs in the keeper after the fork: system calls only, no allocation (`signal-safety(7)`).

use std::os::fd::RawFd;
use std::ptr;
use std::time::Duration;

use libc::{c_int, pid_t};

use super::events::Events;
use super::launch::Launch;
use super::process_list::for_each_process;
use super::{GRACE, POLITE, Wire, poll_for};

/// The keeper's life: wait for a byte, run, reply.
pub(super) fn keep(launch: &Launch, parent: pid_t, go: RawFd, reply: RawFd) {
    // SAFETY: plain system calls on this process; the signal set is initialised by sigemptyset.
    let signals = unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut signals);
        for signal in [libc::SIGCHLD, libc::SIGTERM, libc::SIGUSR1] {
            libc::signal(signal, libc::SIG_DFL);
            libc::sigaddset(&raw mut signals, signal);
        }
        libc::sigprocmask(libc::SIG_SETMASK, &raw const signals, ptr::null_mut());
        // The parent may have died before PR_SET_PDEATHSIG took hold.
        if libc::getppid() != parent {
            return;
        }
        signals
    };
    let events = if launch.count_events {
        Events::open()
    } else {
        Events::none()
    };
    let mut pinned: Option<usize> = None; // the copy whose mask this process has now
    loop {
        if !wait_for_go(go, &signals) {
            return;
        }
        let wire = run_once(launch, &signals, &events, &mut pinned);
        // SAFETY: `wire` is plain numbers, shorter than PIPE_BUF, so it is written whole.
        let written = unsafe { libc::write(reply, (&raw const wire).cast(), size_of::<Wire>()) };
        if written < 0 {
            return;
        }
    }
}

/// Waits for a byte on `go` or for the order to end. SIGTERM is blocked, so it is looked for beside
/// the pipe.
fn wait_for_go(go: RawFd, signals: &libc::sigset_t) -> bool {
    loop {
        // SAFETY: one initialised pollfd; the mask lets SIGTERM and the others interrupt the wait
        // only here.
        unsafe {
            let mut watched = poll_for(go);
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            let ready = libc::ppoll(
                &raw mut watched,
                1,
                ptr::null(),
                signals_without_end(signals, &mut none),
            );
            if ready == 1 {
                let mut byte = 0_u8;
                return libc::read(go, (&raw mut byte).cast(), 1) == 1;
            }
        }
    }
}

/// While idle the default action of SIGTERM ends the keeper at once: it has no children then.
fn signals_without_end(
    signals: &libc::sigset_t,
    room: &mut libc::sigset_t,
) -> *const libc::sigset_t {
    *room = *signals;
    // SAFETY: `room` is an initialised set.
    unsafe { libc::sigdelset(room, libc::SIGTERM) };
    room
}

fn run_once(
    launch: &Launch,
    signals: &libc::sigset_t,
    events: &Events,
    pinned: &mut Option<usize>,
) -> Wire {
    let mut wire = Wire::default();
    drop_pending_cut(signals);
    let before = children_usage();
    let events_before = events.read();
    let start = now();
    let mut running = 0;
    for (place, mask) in launch.masks.iter().enumerate() {
        set_mask(
            mask.as_ref().unwrap_or(&launch.home),
            place,
            pinned,
            launch.masks.len(),
        );
        let mut pid = 0;
        // SAFETY: all pointers come from `Launch`, laid out before the fork; argv and envp end with
        // null.
        let error = unsafe {
            libc::posix_spawnp(
                &raw mut pid,
                launch.argv[0],
                &raw const launch.actions,
                &raw const launch.attributes,
                launch.argv.as_ptr(),
                launch.envp.as_ptr(),
            )
        };
        launch.pids[place].set(if error == 0 { pid } else { 0 });
        if error == 0 {
            running += 1;
        } else {
            (wire.kind, wire.value) = (4, error);
        }
    }
    let deadline = start + launch.timeout.as_nanos() as u64;
    let mut end_asked = false;
    while running > 0 {
        let (pid, status) = reap(libc::WNOHANG);
        if pid > 0 {
            if let Some(copy) = launch.pids.iter().find(|copy| copy.get() == pid) {
                let took = now() - start;
                wire.wall_ns = wire.wall_ns.max(took);
                wire.copies_per_second += 1e9 / took as f64;
                copy.set(-pid); // ended, its group may live on
                running -= 1;
                if wire.kind == 0 {
                    (wire.kind, wire.value) = judge(status);
                }
            }
            continue;
        }
        let left = deadline.saturating_sub(now());
        let signal = if left == 0 {
            libc::SIGUSR1
        } else {
            wait_signal(signals, left)
        };
        if signal == libc::SIGUSR1 || signal == libc::SIGTERM {
            wire.kind = 3;
            wire.wall_ns = wire.wall_ns.max(now() - start);
            end_asked = signal == libc::SIGTERM;
            break;
        }
    }
    wire.outlived = clear(launch, signals, wire.kind == 3);
    let after = children_usage();
    wire.user_us = micros(after.ru_utime) - micros(before.ru_utime);
    wire.system_us = micros(after.ru_stime) - micros(before.ru_stime);
    wire.minor = (after.ru_minflt - before.ru_minflt) as u64;
    wire.major = (after.ru_majflt - before.ru_majflt) as u64;
    wire.voluntary = (after.ru_nvcsw - before.ru_nvcsw) as u64;
    wire.involuntary = (after.ru_nivcsw - before.ru_nivcsw) as u64;
    let events_after = events.read();
    for place in 0..3 {
        if let (Some(a), Some(b)) = (events_before[place], events_after[place]) {
            wire.counted |= 1 << place;
            wire.events[place] = b - a;
        }
    }
    if end_asked {
        // SAFETY: everything was ended by `clear`; the parent has gone or does not want an answer.
        unsafe { libc::_exit(0) };
    }
    wire
}

/// Puts this process on the cores of a copy, which inherits them. A setting with one copy does this
/// once only.
fn set_mask(mask: &libc::cpu_set_t, place: usize, pinned: &mut Option<usize>, copies: usize) {
    if copies == 1 && *pinned == Some(place) {
        return;
    }
    // SAFETY: the set has the size that is passed.
    unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), mask) };
    *pinned = Some(place);
}

/// Ends whatever still runs and reaps it; returns how many processes had to be ended after a
/// command that ended itself.
fn clear(launch: &Launch, signals: &libc::sigset_t, cut_short: bool) -> u32 {
    let start = now();
    let mut ended = 0;
    loop {
        let (pid, _) = reap(libc::WNOHANG);
        if pid < 0 {
            return if cut_short { 0 } else { ended }; // no children left
        }
        if pid > 0 {
            continue;
        }
        let waited = Duration::from_nanos(now() - start);
        let patience = if cut_short { Duration::ZERO } else { GRACE };
        if waited >= patience {
            let signal = if waited < patience + POLITE {
                libc::SIGTERM
            } else {
                libc::SIGKILL
            };
            for copy in &launch.pids {
                let group = copy.get().abs();
                if group > 1 {
                    // SAFETY: a process group that a child of ours leads or led; members are
                    // descendants of ours.
                    unsafe { libc::kill(-group, signal) };
                }
            }
            ended = ended.max(signal_children(signal));
        }
        wait_signal(signals, 2_000_000);
    }
}

/// Sends `signal` to every direct child of this process; returns their number. Orphans of the
/// command are direct children because this process is a subreaper; what they leave behind follows
/// in the next round.
fn signal_children(signal: c_int) -> u32 {
    let mut count = 0;
    // SAFETY: getpid has no preconditions.
    let own = unsafe { libc::getpid() };
    for_each_process(|pid, parent| {
        if parent == own {
            // SAFETY: a child of ours that is not reaped keeps its number.
            unsafe { libc::kill(pid, signal) };
            count += 1;
        }
    });
    count
}

fn judge(status: c_int) -> (i32, i32) {
    if libc::WIFSIGNALED(status) {
        (2, libc::WTERMSIG(status))
    } else if libc::WEXITSTATUS(status) == 0 {
        (0, 0)
    } else {
        (1, libc::WEXITSTATUS(status))
    }
}

fn reap(flags: c_int) -> (pid_t, c_int) {
    let mut status = 0;
    // SAFETY: `status` is alive during the call.
    (unsafe { libc::waitpid(-1, &raw mut status, flags) }, status)
}

fn wait_signal(signals: &libc::sigset_t, nanoseconds: u64) -> c_int {
    let limit = libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000).cast_signed(),
        tv_nsec: (nanoseconds % 1_000_000_000).cast_signed(),
    };
    // SAFETY: both pointers are alive during the call; no information about the signal is asked
    // for.
    unsafe { libc::sigtimedwait(signals, ptr::null_mut(), &raw const limit) }
}

/// An order to cut a run short that came after that run had ended must not cut the next one.
fn drop_pending_cut(signals: &libc::sigset_t) {
    let mut cut = *signals;
    // SAFETY: `cut` is an initialised set.
    unsafe {
        libc::sigdelset(&raw mut cut, libc::SIGTERM);
    }
    while wait_signal(&cut, 0) > 0 {}
}

fn children_usage() -> libc::rusage {
    // SAFETY: rusage is plain numbers; zeroes are a value.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    }
}

const fn micros(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64
}

/// Nanoseconds of the monotonic clock.
fn now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is alive during the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
