//! A recording from its start to its file: open, enable, drain, close.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use host::clock::now_ns;
use host::process::is_alive;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::param::page_size;
use rustix::process::{Pid, Resource, Signal, getrlimit, kill_process, setrlimit};

use super::drain::{Drain, Drained, Stop};
use super::points::{paths, points, switches};
use super::refusal::refusal;
use super::sources::Core;
use super::{Options, RecordError, Target, machine, tracefs};
use crate::format::last::ANALYSED;
use crate::format::write::FileWriter;
use crate::trace::{Header, Scope, Trace};

/// A recording under way. Dropping it ends it and forgets what was heard; the command, if there is
/// one, is ended too.
#[derive(Debug)]
pub struct Recording {
    stop: Arc<Stop>,
    drain: Option<JoinHandle<Result<Drained, RecordError>>>,
    scope: Scope,
    child: Option<Child>,
    start: u64,
    exit: String,
    output: PathBuf,
}

/// A recording that has ended well.
#[derive(Debug)]
pub struct Recorded {
    /// Bytes of the trace.
    pub bytes: u64,
    /// Events lost, by core.
    pub lost: Vec<(u16, u64)>,
    output: PathBuf,
    /// Holds the trace when its output is memory.
    _file: BufWriter<File>,
}

impl Recorded {
    /// Reads the trace back: of a long one, the last part.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn into_trace(self) -> Result<Trace, RecordError> {
        Ok(Trace::open_last(&self.output, ANALYSED)?)
    }
}

impl Recording {
    /// Opens the tracepoints, lets events flow, and starts the command if there is one.
    ///
    /// # Errors
    /// [`RecordError`]: no right, no tracefs, no such process or command, output not writable.
    /// Nothing is left behind.
    pub fn start(options: &Options) -> Result<Self, RecordError> {
        if let Target::Process(process) = options.target
            && !is_alive(process)
        {
            return Err(RecordError::NoProcess(process));
        }
        let mut header = Header {
            command: describe(&options.target),
            stacks: options.stacks.is_some(),
            ..machine::header()
        };
        let pages = options.ring_bytes.div_ceil(page_size()).next_power_of_two();
        let formats = tracefs::formats(&options.system, &paths(options))?;
        let switches = switches(options, &mut header);
        let (decoders, wanted) = points(
            options,
            &formats,
            switches.as_ref().map(|(_, which)| *which),
            &mut header,
        )?;
        raise_file_limit(header.cores.len() * (wanted.len() + 1));
        let cores = header
            .cores
            .iter()
            .map(|cpu| Core::open(*cpu, pages, &wanted, &options.system))
            .collect::<Result<Vec<_>, _>>()?;
        let switches = switches.map(|(switches, _)| switches);
        let (file, output) = create(options.output.as_deref())?;
        let file = FileWriter::new(BufWriter::new(file), &header);
        let mut file = file.map_err(RecordError::unwritable(&output))?;
        let last = options.last.map(|last| last.as_nanos() as u64);
        if let Some(last) = last {
            file.keep_last(last);
        }
        for core in &cores {
            core.enable()
                .map_err(|cause| refusal(&cause, &options.system))?;
        }
        let mut drain = Drain::new(cores, switches, decoders, file, output.clone());
        drain.tasks(machine::threads());
        drain.look_at_the(last);
        let stop = Arc::new(Stop::default());
        let handle = std::thread::Builder::new()
            .name("corelane-trace".to_owned())
            .spawn({
                let stop = Arc::clone(&stop);
                move || drain.run(&stop)
            })
            .map_err(|cause| RecordError::Broken(cause.to_string()))?;
        let mut recording = Self {
            stop,
            drain: Some(handle),
            scope: Scope::Everything,
            child: None,
            start: now_ns(),
            exit: String::new(),
            output,
        };
        match &options.target {
            Target::Everything => {}
            Target::Process(process) => recording.scope = Scope::Process(*process),
            Target::Command(words) => {
                let child = spawn(words)?;
                recording.scope = Scope::Process(child.id());
                recording.child = Some(child);
            }
        }
        Ok(recording)
    }

    /// The process under study, if it is one.
    pub fn process(&self) -> Option<u32> {
        match self.scope {
            Scope::Everything => None,
            Scope::Process(process) => Some(process),
        }
    }

    /// True when the command or process under study has ended, or the recorder itself has.
    pub fn ended(&mut self) -> bool {
        if self.drain.as_ref().is_none_or(JoinHandle::is_finished) {
            return true;
        }
        match (&mut self.child, &self.scope) {
            (Some(child), _) => match child.try_wait() {
                Ok(Some(status)) => {
                    self.exit = status.to_string();
                    true
                }
                Ok(None) => false,
                Err(_) => true,
            },
            (None, Scope::Process(process)) => !is_alive(*process),
            (None, Scope::Everything) => false,
        }
    }

    /// Ends the recording; a command that still runs is asked to end, and killed after two seconds.
    ///
    /// # Errors
    /// When the output could not be written.
    pub fn stop(mut self) -> Result<Recorded, RecordError> {
        let end = self.stop.now();
        let handle = self.drain.take();
        self.end_child();
        let drained = handle
            .ok_or_else(|| RecordError::Broken("it had ended already".to_owned()))?
            .join()
            .map_err(|_| RecordError::Broken("its thread panicked".to_owned()))??;
        let mut trailer = drained.trailer;
        trailer.scope = self.scope.clone();
        trailer.start = self.start;
        trailer.end = end;
        trailer.exit = std::mem::take(&mut self.exit);
        if let Some(begins) = drained.file.begins(end)
            && begins > trailer.start
        {
            trailer.start = begins;
            // They count from the recording's beginning.
            trailer.holds.clear();
        }
        let output = self.output.clone();
        let written = drained.file.written();
        let file = drained.file.finish(&trailer);
        let file = file.map_err(RecordError::unwritable(&output))?;
        Ok(Recorded {
            bytes: std::fs::metadata(&output).map_or(written, |found| found.len()),
            lost: trailer.lost,
            output,
            _file: file,
        })
    }

    fn end_child(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        if let Ok(Some(status)) = child.try_wait() {
            self.exit = status.to_string();
            return;
        }
        // It has not been waited for, so its number is still its own.
        let _ = kill_process(Pid::from_child(&child), Signal::TERM);
        let patience = Instant::now() + Duration::from_secs(2);
        while Instant::now() < patience {
            if let Ok(Some(status)) = child.try_wait() {
                self.exit = format!("{status}, ended by the recorder");
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // The child may have ended since; then these two do nothing.
        let _ = child.kill();
        let _ = child.wait();
        "killed by the recorder".clone_into(&mut self.exit);
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.stop.now();
        self.end_child();
        if let Some(handle) = self.drain.take() {
            // A recording that is dropped is not asked for its result.
            let _ = handle.join();
        }
    }
}

/// The file to write to, and its path; without one, a file in memory.
fn create(output: Option<&Path>) -> Result<(File, PathBuf), RecordError> {
    if let Some(path) = output {
        let file = File::create(path).map_err(RecordError::unwritable(path))?;
        return Ok((file, path.to_owned()));
    }
    let memory = memfd_create("corelane-trace", MemfdFlags::CLOEXEC);
    let memory = memory.map_err(|cause| RecordError::Output {
        path: "memory".to_owned(),
        cause: cause.into(),
    })?;
    let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
    Ok((File::from(memory), path.into()))
}

fn describe(target: &Target) -> String {
    match target {
        Target::Command(words) => words
            .iter()
            .map(|word| word.to_string_lossy())
            .collect::<Vec<_>>()
            .join(" "),
        Target::Process(process) => std::fs::read_to_string(format!("/proc/{process}/comm"))
            .map_or_else(
                |_| format!("process {process}"),
                |name| format!("process {process} ({})", name.trim_end()),
            ),
        Target::Everything => "everything".to_owned(),
    }
}

fn spawn(words: &[OsString]) -> Result<Child, RecordError> {
    let failed = |program: &OsStr, cause| RecordError::Command {
        command: program.to_string_lossy().into_owned(),
        cause,
    };
    let Some((program, arguments)) = words.split_first() else {
        let none = io::Error::other("no command was given");
        return Err(failed(OsStr::new(""), none));
    };
    let child = Command::new(program).args(arguments).spawn();
    child.map_err(|cause| failed(program, cause))
}

/// Every core and tracepoint needs a descriptor; the soft limit of 1024 is too few for many cores.
fn raise_file_limit(needed: usize) {
    let wanted = needed as u64 + 256;
    let mut limit = getrlimit(Resource::Nofile);
    // No limit is none.
    if limit.current.is_some_and(|current| current < wanted) {
        limit.current = Some(limit.maximum.map_or(wanted, |most| wanted.min(most)));
        // A refusal shows itself when the descriptors run out.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}
