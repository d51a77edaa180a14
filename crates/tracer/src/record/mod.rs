//! The recorder: tracepoints in, a trace out.
//!
//! One thread of ours empties the rings of all cores ten times a second (or when one is half full),
//! turns the kernel's records into [`Event`](crate::event::Event)s and writes them in the compact
//! format; the traced programs never wait for it. What a full ring drops is counted by the kernel
//! and told.
//!
//! ```no_run
//! use tracer::record::{Options, Recording, Target};
//! let options = Options { target: Target::Process(1234), ..Options::default() };
//! let recording = Recording::start(&options)?;
//! std::thread::sleep(std::time::Duration::from_secs(2));
//! let trace = recording.stop()?.into_trace()?;
//! println!("{} events, {} lost", trace.events.len(), trace.events_lost());
//! # Ok::<(), tracer::record::RecordError>(())
//! ```

mod catalogue;
mod drain;
mod ear;
mod elsewhere;
mod kept;
mod layout;
mod looks;
mod machine;
mod maps;
mod naming;
mod points;
mod refusal;
mod ring;
mod separate;
mod session;
mod side;
mod sources;
mod stacks;
mod steal;
mod switches;
mod symbols;
mod system;
mod tracefs;
mod unwind;
mod witness;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use kept::Kept;
pub use session::{Recorded, Recording};
pub use system::System;

use crate::event::Tid;
use crate::format::read::ReadError;
use crate::trace::Trace;

/// Whose cores and locks are asked about. Scheduling is always recorded for the whole machine: the
/// thief of a core is somebody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A command, started by the recorder, with everything it starts.
    Command(Vec<OsString>),
    /// A running process, with everything it starts.
    Process(Tid),
    /// Everything.
    Everything,
}

/// How the recorder hears of switches and wake-ups; everything else comes through perf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// Two eBPF programs where the kernel takes them, else perf: the trace tells which and why.
    #[default]
    Fastest,
    /// Perf.
    Perf,
}

/// How the callers of a code place are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unwinding {
    /// The kernel follows frame pointers: about 2 µs for each place.
    FramePointers,
    /// 8 KiB of the stack are copied, and unwound by the `.eh_frame` of the programs' files. Samples
    /// of the running code are unwound too.
    Tables,
}

/// What to record.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose verdict.
    pub target: Target,
    /// Bytes of every core's ring; rounded up to a power of two of pages.
    pub ring_bytes: usize,
    /// Record code places at lock waits and wake-ups, with their callers found so.
    pub stacks: Option<Unwinding>,
    /// Record the XDP tracepoints too, which fire for bursts of packets.
    pub packets: bool,
    /// Keep the last so much alone, in memory until the end, 256 MiB of events at most; `None`: all.
    pub last: Option<Duration>,
    /// Where to write; `None` keeps the trace in memory.
    pub output: Option<PathBuf>,
    /// How switches are heard of.
    pub backend: Backend,
    /// Where the kernel is asked.
    pub system: System,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            target: Target::Everything,
            ring_bytes: 4 << 20,
            stacks: None,
            packets: false,
            last: None,
            output: None,
            backend: Backend::Fastest,
            system: System::default(),
        }
    }
}

/// Why nothing was recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The kernel refuses tracepoints.
    #[error("the kernel refuses to open tracepoints ({cause}): {remedy}")]
    Refused {
        /// What it says.
        cause: io::Error,
        /// What to do.
        remedy: String,
    },
    /// tracefs cannot be read.
    #[error(
        "tracefs cannot be read ({0}): it names the tracepoints' fields. Run as root, or mount \
         it: mount -t tracefs tracefs /sys/kernel/tracing"
    )]
    NoTracefs(String),
    /// The kernel has no scheduler tracepoints.
    #[error(
        "this kernel ({kernel}) has no usable tracepoint {point}: it needs CONFIG_TRACING and \
         CONFIG_PERF_EVENTS"
    )]
    NoPoint {
        /// `uname -r`.
        kernel: String,
        /// The tracepoint.
        point: &'static str,
    },
    /// A ring cannot be mapped.
    #[error(
        "a ring of {pages} pages for core {cpu} cannot be mapped ({cause}): take a smaller one \
         (--ring), or raise kernel.perf_event_mlock_kb"
    )]
    Ring {
        /// The core.
        cpu: u16,
        /// Its size.
        pages: usize,
        /// What the kernel says.
        cause: io::Error,
    },
    /// The command cannot be started.
    #[error("cannot start {command}: {cause}")]
    Command {
        /// The command.
        command: String,
        /// What the system says.
        cause: io::Error,
    },
    /// The process does not exist.
    #[error("there is no process {0}")]
    NoProcess(Tid),
    /// The file cannot be written.
    #[error("cannot write {path}: {cause}")]
    Output {
        /// The file.
        path: String,
        /// What the system says.
        cause: io::Error,
    },
    /// The recorder's thread ended badly.
    #[error("the recording broke off: {0}")]
    Broken(String),
    /// The trace just written cannot be read back.
    #[error("the trace just recorded cannot be read: {0}")]
    Read(#[from] ReadError),
}

impl RecordError {
    fn unwritable(output: &Path) -> impl Fn(io::Error) -> Self {
        let path = output.display().to_string();
        move |cause| Self::Output {
            path: path.clone(),
            cause,
        }
    }
}

/// Records while `work` runs in this process, whose threads are the target, and returns its result
/// and the trace.
///
/// # Errors
/// [`RecordError`] when the kernel refuses or the output cannot be written. `work` does not run
/// when recording cannot start.
pub fn record_while<T>(
    options: &Options,
    work: impl FnOnce() -> T,
) -> Result<(T, Trace), RecordError> {
    let options = Options {
        target: Target::Process(std::process::id()),
        ..options.clone()
    };
    let recording = Recording::start(&options)?;
    let result = work();
    Ok((result, recording.stop()?.into_trace()?))
}
