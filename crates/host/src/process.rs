//! Processes: those that we start, and questions about any.
//!
//! A child that we start leads a group of its own ([`Group`]): Ctrl-C ends us first, who then end
//! it, and the group is killed as a whole, so that nothing that its leader started stays. When we
//! are killed ourselves and can drop nothing, the kernel kills the leader if it was asked to
//! ([`end_with_thread`]); what it had started is then found by its group.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use rustix::io::Errno;
pub use rustix::process::Signal;
use rustix::process::{
    Pid, getppid, kill_process, kill_process_group, set_parent_process_death_signal,
};

/// Pause between two looks at a child that is waited for.
const LOOK: Duration = Duration::from_millis(10);

/// What a system call's result says: below zero, the error is the thread's `errno`.
///
/// # Errors
/// That error.
pub fn checked<T: Default + PartialOrd>(result: T) -> io::Result<T> {
    if result < T::default() {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Whether this process acts as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The calling thread's number.
pub fn this_thread() -> u32 {
    rustix::thread::gettid()
        .as_raw_nonzero()
        .get()
        .cast_unsigned()
}

/// Whether a process with this id exists (a zombie counts as dead: it will not clean up any more).
pub fn is_alive(pid: u32) -> bool {
    let directory = format!("/proc/{pid}");
    stat(Path::new(&directory)).is_some_and(|fields| !fields.starts_with(['Z', 'X']))
}

/// What the file `stat` of a process says from the state on. The name before it may hold anything,
/// and ends with the last parenthesis (`proc_pid_stat(5)`).
pub(crate) fn stat(process: &Path) -> Option<String> {
    let text = fs::read_to_string(process.join("stat")).ok()?;
    Some(text.rsplit_once(") ")?.1.to_owned())
}

/// A child that leads a process group; the group is killed when this is dropped.
#[derive(Debug)]
pub struct Group {
    /// The leader. Whoever waits for it ends the group's life.
    pub leader: Child,
}

impl Group {
    /// Starts it.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let leader = command.process_group(0).spawn()?;
        Ok(Self { leader })
    }

    /// How the leader ended; `None` while it runs.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.leader.try_wait().ok().flatten()
    }

    /// Waits until the leader has ended; `None` when it still runs after `patience`.
    pub fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + patience;
        loop {
            let ended = self.ended();
            if ended.is_some() || Instant::now() > deadline {
                return ended;
            }
            thread::sleep(LOOK);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        kill_group(self.leader.id());
        let _ = self.leader.wait();
    }
}

/// Has the kernel kill what `command` becomes when the thread that starts it ends, however it ends.
pub fn end_with_thread(command: &mut Command) -> &mut Command {
    let parent = pid(std::process::id());
    let bind_lives = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have died before that took hold.
        if getppid() == parent {
            Ok(())
        } else {
            Err(Errno::SRCH.into())
        }
    };
    // SAFETY: the closure makes system calls that may be made between fork and exec, and neither
    // allocates nor locks (signal-safety(7)).
    unsafe { command.pre_exec(bind_lives) }
}

/// Has what `command` becomes read nothing and print nothing.
pub fn silent(command: &mut Command) -> &mut Command {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
}

/// Sends a signal to a process; an error when it is gone.
///
/// # Errors
/// What the kernel says.
pub fn signal(process: u32, signal: Signal) -> io::Result<()> {
    let process = pid(process).ok_or(Errno::SRCH)?;
    Ok(kill_process(process, signal)?)
}

/// Kills a process group and minds no error: it may be gone.
pub fn kill_group(leader: u32) {
    if let Some(leader) = pid(leader) {
        let _ = kill_process_group(leader, Signal::KILL);
    }
}

/// The kernel's kind of number, of which 0 means the caller.
pub(crate) fn pid(number: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(number).ok()?)
}

/// The id of the process that owns a name of ours, `<prefix><pid>-…`; `None` when the name is not
/// of that form.
pub fn owner(name: &str, prefix: &str) -> Option<u32> {
    name.strip_prefix(prefix)?.split('-').next()?.parse().ok()
}
