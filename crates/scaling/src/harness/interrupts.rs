//! The intervention on interrupts: the command on one core, with the device interrupts that can be
//! moved on that core or away.
//!
//! A steering changes `/proc/irq/N/smp_affinity_list` (Documentation/core-api/irq/irq-affinity.rst)
//! and puts every line back when it is dropped. A guard process does that, so that it is done too
//! when this process is killed: it waits until it is told to end or has lost its parent, and then
//! writes what it was given before the fork.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::Path;
use std::ptr;

use figures::Rounds;
use host::cores::CoreId;
use rustix::process::{self, Pid, Signal, WaitOptions};

use super::plan::{Job, Placement};
use super::runs::{Runs, SweepError};
use crate::cause::intervention::Intervention;

/// An interrupt whose cores can be chosen, and those it had.
struct Line {
    file: File,
    before: Vec<u8>,
}

impl Line {
    /// Writes from the start. The kernel's file knows no `pwrite`.
    fn write(&self, list: &[u8]) -> io::Result<()> {
        let mut file = &self.file;
        file.rewind()?;
        file.write_all(list)
    }
}

/// Interrupts that are somewhere else while this lives.
struct Steering {
    lines: Vec<Line>,
    guard: Pid,
}

impl Steering {
    /// Takes hold of every interrupt below `place` (`/proc/irq`) that may be moved. Nothing is
    /// moved yet.
    fn take(place: &Path) -> io::Result<Self> {
        let mut lines = Vec::new();
        for entry in fs::read_dir(place)?.flatten() {
            let path = entry.path().join("smp_affinity_list");
            let Ok(before) = fs::read(&path) else {
                continue;
            };
            let Ok(file) = OpenOptions::new().write(true).open(&path) else {
                continue;
            };
            let line = Line { file, before };
            // Lines that the kernel manages itself refuse even what they have already.
            if line.write(&line.before).is_ok() {
                lines.push(line);
            }
        }
        let guard = guard(&lines)?;
        Ok(Self { lines, guard })
    }

    /// Puts every interrupt on `cores`; returns how many went.
    fn put(&self, cores: &[CoreId]) -> usize {
        let names: Vec<String> = cores.iter().map(|core| core.0.to_string()).collect();
        let list = names.join(",");
        self.lines
            .iter()
            .filter(|line| line.write(list.as_bytes()).is_ok())
            .count()
    }
}

impl Drop for Steering {
    fn drop(&mut self) {
        // The guard is our child and not reaped; on SIGTERM it writes the lines back and ends.
        let _ = process::kill_process(self.guard, Signal::TERM);
        let _ = process::waitpid(Some(self.guard), WaitOptions::empty());
    }
}

/// Forks the process that puts the lines back at the end.
fn guard(lines: &[Line]) -> io::Result<Pid> {
    const LOOK_NS: libc::c_long = 50_000_000;
    let parent = process::getpid();
    // Blocked before the fork, an order to end that comes at once waits until the guard looks for
    // it.
    // SAFETY: sigemptyset initialises the one set, the call that blocks fills the other.
    let (end, before) = unsafe {
        let mut end: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut end);
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            libc::sigaddset(&raw mut end, signal);
        }
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const end, &raw mut before);
        (end, before)
    };
    // SAFETY: the child makes system calls on memory laid out before the fork and allocates nothing
    // (signal-safety(7)).
    let forked = unsafe { libc::fork() };
    if forked != 0 {
        let failed = io::Error::last_os_error();
        // SAFETY: the set was filled above.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut()) };
        let child = if forked < 0 {
            None
        } else {
            Pid::from_raw(forked)
        };
        return child.ok_or(failed);
    }
    let _ = process::setsid();
    let look = libc::timespec {
        tv_sec: 0,
        tv_nsec: LOOK_NS,
    };
    // SAFETY: both pointers are alive during the call.
    let told = || unsafe { libc::sigtimedwait(&raw const end, ptr::null_mut(), &raw const look) };
    while process::getppid() == Some(parent) && told() < 0 {}
    for line in lines {
        // What the kernel refuses now it will refuse again.
        let _ = line.write(&line.before);
    }
    // SAFETY: ends this process without running anything of the copied parent.
    unsafe { libc::_exit(0) }
}

/// Why interrupts were not moved, in words.
pub type Refused = String;

/// Runs `job` on its first core with the movable interrupts on that core and on the others, by
/// turns. The inner result is the refusal: no right, no second core, nothing that moves.
///
/// # Errors
/// When the command fails or hangs, and when interrupted.
pub fn move_interrupts(
    job: &Job,
    rounds: usize,
) -> Result<Result<Intervention, Refused>, SweepError> {
    let (own, others) = match job.order.split_first() {
        Some((own, others)) if !others.is_empty() => ([*own], others),
        _ => return Ok(Err("there is no second core to move them to".to_owned())),
    };
    let steering = match Steering::take(Path::new("/proc/irq")) {
        Ok(steering) if steering.lines.is_empty() => {
            return Ok(Err("none can be moved here: run as root, where the \
                           hypervisor lets them go"
                .to_owned()));
        }
        Ok(steering) => steering,
        Err(error) => return Ok(Err(format!("/proc/irq cannot be used: {error}"))),
    };
    let mut runs = Runs::start(job, Placement::Pinned.on(1))?;
    // Away, away again as the control, and on the command's core.
    let mut seconds = Rounds::new(3, job.seed);
    let mut moved = 0;
    seconds.run(rounds, |place| {
        moved = steering.put(if place == 2 { &own } else { others });
        Ok::<_, SweepError>(runs.run()?.wall.as_secs_f64())
    })?;
    let over_away = |place| seconds.ratio(place, 0, f64::clone);
    Ok(Ok(Intervention::new(
        format!("{moved} device interrupts on the command's core instead of another"),
        &over_away(2),
        &over_away(1),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(place: &Path) -> Vec<String> {
        let mut found: Vec<String> = fs::read_dir(place)
            .unwrap()
            .flatten()
            .filter_map(|entry| fs::read_to_string(entry.path().join("smp_affinity_list")).ok())
            .collect();
        found.sort();
        found
    }

    /// A stand-in for `/proc/irq`: plain files, which keep what is longer than what is written over
    /// them.
    fn stand_in() -> host::temporary::Directory {
        let directory = host::temporary::Directory::new("irq").unwrap();
        for number in ["24", "25"] {
            let place = directory.path().join(number);
            fs::create_dir(&place).unwrap();
            fs::write(place.join("smp_affinity_list"), "7").unwrap();
        }
        fs::create_dir(directory.path().join("26")).unwrap();
        directory
    }

    #[test]
    fn interrupts_are_put_elsewhere_and_back() {
        let directory = stand_in();
        let steering = Steering::take(directory.path()).unwrap();
        assert_eq!(steering.put(&[CoreId(3)]), 2);
        assert_eq!(lines(directory.path()), ["3", "3"]);
        drop(steering);
        assert_eq!(lines(directory.path()), ["7", "7"]);
    }

    #[test]
    fn the_guard_puts_them_back_when_its_parent_is_killed() {
        let directory = stand_in();
        // SAFETY: the child only moves lines (which allocates, but this test holds no lock of the
        // allocator's) and waits to be killed.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let steering = Steering::take(directory.path());
            if let Ok(steering) = &steering {
                steering.put(&[CoreId(1)]);
            }
            loop {
                std::thread::sleep(std::time::Duration::from_secs(1));
            }
        }
        let until = |wanted: &str| {
            let start = std::time::Instant::now();
            while lines(directory.path()) != [wanted, wanted] {
                assert!(
                    start.elapsed().as_secs() < 20,
                    "{:?}",
                    lines(directory.path())
                );
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        };
        until("1");
        // SAFETY: our child, not reaped.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, ptr::null_mut(), 0);
        }
        until("7");
    }

    #[test]
    fn real_interrupts_are_as_before() {
        let place = Path::new("/proc/irq");
        if !needs::root("to move interrupts") {
            return;
        }
        let Ok(steering) = Steering::take(place) else {
            needs::skipped!("no /proc/irq here");
            return;
        };
        let before = lines(place);
        let cores = host::cores::allowed_cores().unwrap();
        if steering.put(&cores[..1]) == 0 {
            needs::skipped!("no interrupt can be moved here");
            return;
        }
        let on_first = lines(place);
        steering.put(&cores[cores.len() - 1..]);
        assert!(cores.len() < 2 || lines(place) != on_first);
        drop(steering);
        assert_eq!(lines(place), before);
    }
}
