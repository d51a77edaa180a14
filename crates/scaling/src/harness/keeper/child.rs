//! What runs in the keeper after the fork: system calls only, no allocation (`signal-safety(7)`).

use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::time::{Duration, Instant};

use libc::c_int;
use rustix::io;
use rustix::process::{self, Pid, Signal, WaitOptions, WaitStatus};
use rustix::thread::{CpuSet, sched_setaffinity};

use super::events::Events;
use super::launch::Launch;
use super::process_list::for_each_process;
use super::{Exit, GRACE, Outcome, POLITE};

/// The keeper's life: wait for a byte, run, leave the outcome at `desk`, reply. No call before the
/// loop is ever refused.
pub(super) fn keep(
    launch: &Launch,
    parent: Pid,
    go: BorrowedFd<'_>,
    reply: BorrowedFd<'_>,
    desk: *mut Outcome,
) {
    let _ = process::setsid();
    let _ = process::set_parent_process_death_signal(Some(Signal::TERM));
    let _ = process::set_child_subreaper(Some(process::getpid()));
    // SAFETY: plain system calls on this process; the signal set is initialised by sigemptyset.
    let signals = unsafe {
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut signals);
        for signal in [libc::SIGCHLD, libc::SIGTERM] {
            libc::signal(signal, libc::SIG_DFL);
            libc::sigaddset(&raw mut signals, signal);
        }
        libc::sigprocmask(libc::SIG_SETMASK, &raw const signals, ptr::null_mut());
        signals
    };
    // The parent may have died before its death became a signal.
    if process::getppid() != Some(parent) {
        return;
    }
    let events = if launch.count_events {
        Events::open()
    } else {
        Events::none()
    };
    let mut pinned: Option<usize> = None; // the copy whose mask this process has now
    while wait_for_go(go, &signals) {
        let outcome = loop {
            let Some(outcome) = run_once(launch, &signals, &events, &mut pinned) else {
                return;
            };
            if !launch.repeat {
                break outcome;
            }
            // A command that cannot be started waits for nothing, and hears no order in a run; one
            // that comes while a run is cleared up is lost.
            let told = wait_signal(&signals, Duration::ZERO) == libc::SIGTERM;
            if told || process::getppid() != Some(parent) {
                return;
            }
        };
        // SAFETY: shared memory for one outcome, mapped before the fork; the parent reads it after
        // the byte only. Nothing is dropped there, and an outcome of ours owns no memory.
        unsafe { desk.write(outcome) };
        if io::write(reply, &[0]).is_err() {
            return;
        }
    }
}

/// Waits for a byte on `go` or for the order to end. SIGTERM is blocked, so it is looked for beside
/// the pipe.
fn wait_for_go(go: BorrowedFd<'_>, signals: &libc::sigset_t) -> bool {
    loop {
        let mut watched = libc::pollfd {
            fd: go.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let mut idle = *signals;
        // SAFETY: one initialised pollfd and an initialised set. While idle the default action of
        // SIGTERM ends the keeper at once: it has no children then.
        let ready = unsafe {
            libc::sigdelset(&raw mut idle, libc::SIGTERM);
            libc::ppoll(&raw mut watched, 1, ptr::null(), &raw const idle)
        };
        if ready == 1 {
            return io::read(go, &mut [0_u8]) == Ok(1);
        }
    }
}

/// Runs every copy once; `None` when told to end instead.
fn run_once(
    launch: &Launch,
    signals: &libc::sigset_t,
    events: &Events,
    pinned: &mut Option<usize>,
) -> Option<Outcome> {
    let mut outcome = Outcome::default();
    let before = children_usage();
    let events_before = events.read();
    let start = Instant::now();
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
            outcome.exit = Exit::NotStarted(error);
        }
    }
    let mut end_asked = false;
    while running > 0 {
        if let Ok(Some((pid, status))) = process::wait(WaitOptions::NOHANG) {
            let pid = pid.as_raw_pid();
            if let Some(copy) = launch.pids.iter().find(|copy| copy.get() == pid) {
                outcome.wall = start.elapsed();
                outcome.copies_per_second += 1.0 / outcome.wall.as_secs_f64();
                copy.set(-pid); // ended, its group may live on
                running -= 1;
                if outcome.exit == Exit::Success {
                    outcome.exit = exit(status);
                }
            }
            continue;
        }
        let left = launch.timeout.saturating_sub(start.elapsed());
        end_asked = !left.is_zero() && wait_signal(signals, left) == libc::SIGTERM;
        if left.is_zero() || end_asked {
            outcome.exit = Exit::TimedOut;
            outcome.wall = start.elapsed();
            break;
        }
    }
    outcome.outlived = clear(launch, signals, outcome.exit == Exit::TimedOut);
    let after = children_usage();
    outcome.user = duration(after.ru_utime).saturating_sub(duration(before.ru_utime));
    outcome.system = duration(after.ru_stime).saturating_sub(duration(before.ru_stime));
    outcome.minor_faults = (after.ru_minflt - before.ru_minflt) as u64;
    outcome.major_faults = (after.ru_majflt - before.ru_majflt) as u64;
    outcome.voluntary_switches = (after.ru_nvcsw - before.ru_nvcsw) as u64;
    outcome.involuntary_switches = (after.ru_nivcsw - before.ru_nivcsw) as u64;
    let events_after = events.read();
    let counted = |place: usize| Some(events_after[place]? - events_before[place]?);
    outcome.migrations = counted(0);
    outcome.instructions = counted(1);
    outcome.cycles = counted(2);
    (!end_asked).then_some(outcome)
}

/// Puts this process on the cores of a copy, which inherits them. A setting with one copy does this
/// once only.
fn set_mask(mask: &CpuSet, place: usize, pinned: &mut Option<usize>, copies: usize) {
    if copies == 1 && *pinned == Some(place) {
        return;
    }
    // The kernel refuses cores that have gone; the run then has those that it had.
    let _ = sched_setaffinity(None, mask);
    *pinned = Some(place);
}

/// Ends whatever still runs and reaps it; returns how many processes had to be ended after a
/// command that ended itself.
fn clear(launch: &Launch, signals: &libc::sigset_t, cut_short: bool) -> u32 {
    let start = Instant::now();
    let patience = if cut_short { Duration::ZERO } else { GRACE };
    let mut ended = 0;
    loop {
        match process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => continue,
            Ok(None) => {}
            Err(_) => return if cut_short { 0 } else { ended }, // no children left
        }
        let waited = start.elapsed();
        if waited >= patience {
            let signal = if waited < patience + POLITE {
                Signal::TERM
            } else {
                Signal::KILL
            };
            for copy in &launch.pids {
                // A process group that a child of ours leads or led; members are descendants of
                // ours.
                if let Some(group) = Pid::from_raw(copy.get().abs()) {
                    let _ = process::kill_process_group(group, signal);
                }
            }
            ended = ended.max(signal_children(signal));
        }
        wait_signal(signals, Duration::from_millis(2));
    }
}

/// Sends `signal` to every direct child of this process; returns their number. Orphans of the
/// command are direct children because this process is a subreaper; what they leave behind follows
/// in the next round.
fn signal_children(signal: Signal) -> u32 {
    let mut count = 0;
    let own = process::getpid();
    for_each_process(|pid, parent| {
        if parent == own {
            // A child of ours that is not reaped keeps its number.
            let _ = process::kill_process(pid, signal);
            count += 1;
        }
    });
    count
}

fn exit(status: WaitStatus) -> Exit {
    match (status.terminating_signal(), status.exit_status()) {
        (Some(signal), _) => Exit::Signal(signal),
        (None, Some(code @ 1..)) => Exit::Code(code),
        _ => Exit::Success,
    }
}

fn wait_signal(signals: &libc::sigset_t, limit: Duration) -> c_int {
    let limit = libc::timespec {
        tv_sec: limit.as_secs().cast_signed(),
        tv_nsec: limit.subsec_nanos().into(),
    };
    // SAFETY: both pointers are alive during the call; no information about the signal is asked
    // for.
    unsafe { libc::sigtimedwait(signals, ptr::null_mut(), &raw const limit) }
}

fn children_usage() -> libc::rusage {
    // SAFETY: rusage is plain numbers; zeroes are a value.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    }
}

const fn duration(time: libc::timeval) -> Duration {
    Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000)
}
