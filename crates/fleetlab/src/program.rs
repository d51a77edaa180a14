//! Programs that are waited for, without being deaf to Ctrl-C.

use std::fs;
use std::io::{self, Read, Seek};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use host::cleanup;
use host::process::{Group, end_with_thread};
use rustix::process::{Pid, setpriority_process};

use crate::Failure;

/// How long a program may take to end.
const END: Duration = Duration::from_mins(1);
/// `Nice=` of Debian's unit of FRR.
const NICE: i32 = -5;
/// Between two looks.
const LOOK: Duration = Duration::from_millis(5);

/// Sleeps; a signal ends that.
pub(crate) fn pause(time: Duration) -> Result<(), Failure> {
    let end = Instant::now() + time;
    while Instant::now() < end {
        cleanup::check()?;
        thread::sleep(LOOK.min(end.saturating_duration_since(Instant::now())));
    }
    Ok(cleanup::check()?)
}

/// Waits until `ready` holds; false when it does not within `limit`.
pub(crate) fn wait(
    limit: Duration,
    mut ready: impl FnMut() -> Result<bool, Failure>,
) -> Result<bool, Failure> {
    let end = Instant::now() + limit;
    while !ready()? {
        if Instant::now() > end {
            return Ok(false);
        }
        pause(LOOK)?;
    }
    Ok(true)
}

/// Runs a command to its end: its status, and all that it said. One that takes longer than `limit`
/// is killed.
pub(crate) fn run(command: &mut Command, limit: Duration) -> Result<(ExitStatus, String), Failure> {
    let name = format!("{command:?}");
    let mut said = tempfile()?;
    command.stdin(Stdio::null()).stdout(said.try_clone()?);
    let command = command.stderr(said.try_clone()?);
    let mut group = start(command)?;
    let mut status = None;
    wait(limit, || {
        status = group.ended();
        Ok(status.is_some())
    })?;
    let mut text = String::new();
    said.rewind()?;
    said.read_to_string(&mut text)?;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let status = status.ok_or_else(|| {
        format!("{name} has not ended after {limit:?}: {text}; look whether the machine is busy")
    })?;
    Ok((status, text))
}

/// Starts a program that ends with this thread at the latest.
pub(crate) fn start(command: &mut Command) -> Result<Group, Failure> {
    let program = command.get_program().display().to_string();
    Group::start(end_with_thread(command))
        .map_err(|error| format!("running {program}: {error}; install it").into())
}

/// As [`start`], before others that want a processor: as FRR's own unit has it. Some containers
/// withhold that; it runs like others there.
pub(crate) fn start_preferred(command: &mut Command) -> Result<Group, Failure> {
    let group = start(command)?;
    let process = Pid::from_child(&group.leader);
    let _refused = setpriority_process(Some(process), NICE);
    Ok(group)
}

/// Waits until it has ended: with success?
pub(crate) fn ended_well(group: &mut Group) -> Result<bool, Failure> {
    let mut status = None;
    wait(END, || {
        status = group.ended();
        Ok(status.is_some())
    })?;
    Ok(status.is_some_and(|status| status.success()))
}

/// A file without a name.
fn tempfile() -> io::Result<fs::File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    Ok(memfd_create("said", MemfdFlags::CLOEXEC)?.into())
}
