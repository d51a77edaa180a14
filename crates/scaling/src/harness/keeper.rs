//! A keeper: a small process of ours that starts a command again and again, times it, and outlives
//! everything that the command starts.
//!
//! The keeper is forked once for each setting and then waits on a pipe; a byte makes it run the
//! command once, leave one [`Outcome`] in memory that both share, and say so by a byte. That keeps
//! the cost of a run to one `posix_spawn` and two pipe writes. It is a child subreaper in a session
//! of its own: whatever the command leaves running becomes the keeper's child, so the keeper can
//! count it and end it. When this process dies, by Ctrl-C or by `SIGKILL`, the kernel sends the
//! keeper `SIGTERM` and it ends everything first.
//!
//! Owns: the keeper process, the pipe ends and the memory in which it leaves outcomes. After `fork`
//! the keeper runs in a copy of a process that may have had threads, so it only makes system calls
//! and touches memory that was laid out before (`signal-safety(7)`).
//!
//! What it cannot do: give the command a terminal; follow a process that moves to another PID
//! namespace.

mod child;
mod events;
mod launch;
mod process_list;

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::ptr;
use std::thread;
use std::time::Duration;

use launch::Launch;
use rustix::event::{self, PollFd, PollFlags, Timespec};
use rustix::fs;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{self, Pid, Signal, WaitOptions};
use thiserror::Error;

/// What a keeper runs.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The program (searched in `PATH`) and its arguments.
    pub argv: Vec<CString>,
    /// The environment, `NAME=value`.
    pub env: Vec<CString>,
    /// One entry for each copy started at the same time: the cores it may use, or `None` for those
    /// that this process may use.
    pub copies: Vec<Option<Vec<u32>>>,
    /// After this long everything is ended and the run counts as hung.
    pub timeout: Duration,
    /// What the command prints: thrown away, or read (counted, the last bytes kept).
    pub capture: bool,
    /// Count migrations, context switches and, where the machine has them, instructions and cycles
    /// of the process tree.
    pub count_events: bool,
    /// Run the command again whenever it ends, until the keeper is dropped; no run has an outcome.
    pub repeat: bool,
    /// Asked while a run is under way; yes ends it.
    pub interrupted: fn() -> bool,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Exit {
    /// Every copy returned 0.
    #[default]
    Success,
    /// A copy returned this code.
    Code(i32),
    /// A copy was ended by this signal.
    Signal(i32),
    /// The time limit passed.
    TimedOut,
    /// The program could not be started; the error number says why.
    NotStarted(i32),
}

/// What one run cost.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub exit: Exit,
    /// From before the first copy was started until the last copy had ended.
    pub wall: Duration,
    /// Sum over the copies of one over their own seconds: the rate at which copies were being
    /// finished.
    pub copies_per_second: f64,
    /// User CPU time of the process tree.
    pub user: Duration,
    /// System CPU time of the process tree.
    pub system: Duration,
    /// Page faults without input or output.
    pub minor_faults: u64,
    /// Page faults that read from a file.
    pub major_faults: u64,
    /// Context switches for waiting.
    pub voluntary_switches: u64,
    /// Context switches because another task was due.
    pub involuntary_switches: u64,
    /// Processes that were still running after the command had ended, and were ended.
    pub outlived: u32,
    /// Moves from core to core, where counted.
    pub migrations: Option<u64>,
    /// Instructions retired, where counted.
    pub instructions: Option<u64>,
    /// Cycles not halted, where counted.
    pub cycles: Option<u64>,
    /// Bytes that the command printed, where captured.
    pub printed: u64,
    /// The last bytes that it printed on both streams, where captured; at most [`TAIL`].
    pub tail: Vec<u8>,
}

/// How many of the last printed bytes are kept.
pub const TAIL: usize = 64 * 1024;

/// How long processes that outlive the command may take to end by themselves.
const GRACE: Duration = Duration::from_millis(50);
/// How long a process asked to end may take before it is killed.
const POLITE: Duration = Duration::from_millis(200);
/// Pause before a keeper that has not heard the order to end is told again.
const AGAIN: Duration = Duration::from_millis(2);
/// How often a wait for the command looks whether it is interrupted.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Why a run has no outcome.
#[derive(Debug, Error)]
pub enum KeeperError {
    /// A system call failed.
    #[error("cannot {what}: {source}")]
    System {
        /// What was attempted.
        what: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The keeper itself is gone.
    #[error(
        "the process that runs the command ended unexpectedly; run again, and report it if it \
         happens twice"
    )]
    Gone,
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

fn system<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> KeeperError {
    move |source| KeeperError::System {
        what,
        source: source.into(),
    }
}

/// Memory for an outcome that the keeper has too.
struct Desk(*mut Outcome);

impl Desk {
    fn new() -> io::Result<Self> {
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: the kernel chooses a place that nothing else has.
        let memory =
            unsafe { mmap_anonymous(ptr::null_mut(), size_of::<Outcome>(), access, flags) };
        Ok(Self(memory?.cast()))
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this size; the keeper has a mapping of its own.
        let _ = unsafe { munmap(self.0.cast(), size_of::<Outcome>()) };
    }
}

/// A running keeper. It belongs to the thread that made it: the kernel ends it with that thread.
pub struct Keeper {
    pid: Pid,
    go: File,
    reply: File,
    output: Option<File>,
    desk: Desk, // not to be sent, as the keeper must not be
    interrupted: fn() -> bool,
}

impl Keeper {
    /// Forks a keeper for `spec`.
    ///
    /// # Errors
    /// When pipes or the process cannot be made, or `spec` names no program.
    pub fn start(spec: &Spec) -> Result<Self, KeeperError> {
        if spec.argv.is_empty() || spec.copies.is_empty() {
            return Err(system("run an empty command")(io::Error::from(
                io::ErrorKind::InvalidInput,
            )));
        }
        let (go_read, go) = pipe_with(PipeFlags::CLOEXEC).map_err(system("make a pipe"))?;
        let (reply, reply_write) = pipe_with(PipeFlags::CLOEXEC).map_err(system("make a pipe"))?;
        let null = File::options()
            .read(true)
            .write(true)
            .open("/dev/null")
            .map_err(system("open /dev/null"))?;
        let (output, output_write) = if spec.capture {
            let (read, write) = pipe_with(PipeFlags::CLOEXEC).map_err(system("make a pipe"))?;
            fs::fcntl_setfl(&read, fs::OFlags::NONBLOCK).map_err(system("set up a pipe"))?;
            (Some(read), Some(write))
        } else {
            (None, None)
        };
        let launch = Launch::prepare(spec, &null, output_write.as_ref())
            .map_err(system("prepare the command"))?;
        let desk = Desk::new().map_err(system("share memory"))?;
        let parent = process::getpid();
        // SAFETY: the child only runs `keep`, which allocates nothing and makes system calls only.
        let forked = unsafe { libc::fork() };
        if forked < 0 {
            return Err(system("start a process")(io::Error::last_os_error()));
        }
        let Some(pid) = Pid::from_raw(forked) else {
            child::keep(
                &launch,
                parent,
                go_read.as_fd(),
                reply_write.as_fd(),
                desk.0,
            );
            // SAFETY: _exit ends this process without running anything of the copied parent.
            unsafe { libc::_exit(0) }
        };
        Ok(Self {
            pid,
            go: File::from(go),
            reply: File::from(reply),
            output: output.map(File::from),
            desk,
            interrupted: spec.interrupted,
        })
    }

    /// Runs the command once and waits for it.
    ///
    /// # Errors
    /// When interrupted, or the keeper is gone. A command that fails or hangs is an [`Outcome`],
    /// not an error.
    pub fn run(&mut self) -> Result<Outcome, KeeperError> {
        self.begin()?;
        self.finish()
    }

    /// Starts a run without waiting.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn begin(&mut self) -> Result<(), KeeperError> {
        self.go.write_all(b"g").map_err(|_| KeeperError::Gone)
    }

    /// Waits for the run that [`Self::begin`] started.
    ///
    /// # Errors
    /// When interrupted, or the keeper is gone.
    pub fn finish(&mut self) -> Result<Outcome, KeeperError> {
        let mut printed = Printed::default();
        loop {
            if (self.interrupted)() {
                return Err(KeeperError::Interrupted);
            }
            let mut watched = [&self.reply]
                .into_iter()
                .chain(&self.output)
                .map(|file| PollFd::new(file, PollFlags::IN))
                .collect::<Vec<_>>();
            match event::poll(&mut watched, Some(&LOOK)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(system("wait for the command")(error)),
            }
            let is_ready =
                |place: usize| (watched.get(place)).is_some_and(|pipe| !pipe.revents().is_empty());
            let (replied, has_printed) = (is_ready(0), is_ready(1));
            if has_printed && let Some(output) = &mut self.output {
                printed.drain(output);
            }
            if replied {
                break;
            }
        }
        self.reply
            .read_exact(&mut [0])
            .map_err(|_| KeeperError::Gone)?;
        if let Some(output) = &mut self.output {
            printed.drain(output);
        }
        let excess = printed.tail.len().saturating_sub(TAIL);
        printed.tail.drain(..excess);
        // SAFETY: the keeper, a copy of this program, has written an outcome there before the byte,
        // and writes the next one after the next order only. Its tail is empty and owns nothing.
        let outcome = unsafe { self.desk.0.read() };
        Ok(Outcome {
            printed: printed.bytes,
            tail: printed.tail,
            ..outcome
        })
    }

    /// The keeper's process number: the parent or an ancestor of everything the command starts.
    pub const fn pid(&self) -> i32 {
        self.pid.as_raw_pid()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // The keeper is our child and not reaped; on SIGTERM it ends its children and itself. An
        // order that comes before it listens, or while it clears up after a run, is lost, so the
        // order is given until it is heard.
        while let Ok(None) = process::waitpid(Some(self.pid), WaitOptions::NOHANG) {
            let _ = process::kill_process(self.pid, Signal::TERM);
            thread::sleep(AGAIN);
        }
    }
}

#[derive(Default)]
struct Printed {
    bytes: u64,
    tail: Vec<u8>,
}

impl Printed {
    /// Reads what there is; the pipe does not block.
    fn drain(&mut self, output: &mut File) {
        let mut buffer = vec![0_u8; TAIL];
        while let Ok(count) = output.read(&mut buffer) {
            if count == 0 {
                break;
            }
            self.bytes += count as u64;
            self.tail.extend_from_slice(&buffer[..count]);
            if self.tail.len() > 2 * TAIL {
                self.tail.drain(..self.tail.len() - TAIL);
            }
            if count < buffer.len() / 2 {
                break; // the writer is slower than we are; look at the reply in between
            }
        }
    }
}
