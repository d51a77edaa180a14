//! Tasks of the machine: who started them, which cores they may use, who comes first on one.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::{fs, io};

use crate::cores::{allow_thread, write_list};
use crate::realtime::schedule;
use crate::{CoreId, Namespace};

/// Why a task is not where, or not before whom, it should be.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// The system refuses.
    #[error("cannot {doing}: {source}")]
    Refused {
        /// What was being done.
        doing: String,
        /// What the system said.
        source: io::Error,
    },
    /// A binding that the kernel did not keep.
    #[error(
        "the kernel runs thread {thread} on cores {found}, not on {wanted}: leave the cpuset or \
         taskset that forbids these cores"
    )]
    NotBound {
        /// Which thread.
        thread: u32,
        /// Where it may run.
        found: String,
        /// Where it should.
        wanted: String,
    },
}

fn refused(doing: &str) -> impl Fn(io::Error) -> TaskError {
    let doing = doing.to_owned();
    move |source| TaskError::Refused {
        doing: doing.clone(),
        source,
    }
}

/// Binds every thread of a process to some cores and reads back that they are.
///
/// # Errors
/// [`TaskError`].
pub fn bind(process: u32, cores: &[CoreId]) -> Result<(), TaskError> {
    let wanted = write_list(cores);
    for thread in threads(process).map_err(refused("list a process's threads"))? {
        let allowed = libc::pid_t::try_from(thread)
            .map_err(io::Error::other)
            .and_then(|thread| allow_thread(thread, cores));
        let status = fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
        let found = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
            .map_or("none", str::trim);
        if allowed.is_err() || found != wanted {
            return Err(TaskError::NotBound {
                thread,
                found: found.to_owned(),
                wanted,
            });
        }
    }
    Ok(())
}

/// The threads of a process.
///
/// # Errors
/// When it is gone.
pub fn threads(pid: u32) -> io::Result<Vec<u32>> {
    let entries = fs::read_dir(format!("/proc/{pid}/task"))?;
    Ok(entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect())
}

/// A process and all that stem from it.
pub fn descendants(ancestor: u32) -> Vec<u32> {
    let mut found = vec![ancestor];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(children_of(parent));
        next += 1;
    }
    found
}

/// A child of a process.
pub fn child_of(parent: u32) -> Option<u32> {
    children_of(parent).pop_first()
}

fn children_of(parent: u32) -> BTreeSet<u32> {
    processes(|directory| {
        let stat = fs::read_to_string(directory.join("stat")).ok()?;
        // The name may hold anything; after its parenthesis come state and parent
        // (`proc_pid_stat(5)`).
        let number = stat.rsplit_once(") ")?.1.split(' ').nth(1)?;
        (number.parse() == Ok(parent)).then_some(())
    })
}

fn processes(mut wanted: impl FnMut(&Path) -> Option<()>) -> BTreeSet<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            wanted(&entry.path()).map(|()| pid)
        })
        .collect()
}

/// Who comes first on a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rank {
    /// Takes turns with the others.
    Normal,
    /// The first-in-first-out policy with this priority, 1 to 99 (sched(7)): before all normal
    /// tasks.
    First(i32),
}

/// Gives one thread a rank; its children inherit it.
///
/// # Errors
/// When the kernel refuses.
pub fn rank(thread: u32, rank: Rank) -> io::Result<()> {
    let (policy, priority) = match rank {
        Rank::Normal => (libc::SCHED_OTHER, 0),
        Rank::First(priority) => (libc::SCHED_FIFO, priority),
    };
    let thread = libc::pid_t::try_from(thread).map_err(io::Error::other)?;
    schedule(thread, policy, priority)
}

/// Gives an interface's NAPI a thread of its own on `core`, before all normal tasks there: a
/// softirq comes before tasks too, and a thread without that waits for milliseconds while the
/// cable's 256 places fill.
///
/// # Errors
/// [`TaskError`].
pub fn napi_to_thread(device: &Namespace, interface: &str, core: CoreId) -> Result<(), TaskError> {
    let before = napi_threads(interface);
    threaded(device, interface, true)?;
    for &thread in napi_threads(interface).difference(&before) {
        bind(thread, &[core])?;
        rank(thread, Rank::First(1)).map_err(refused("give a NAPI thread a real-time priority"))?;
    }
    Ok(())
}

/// Has NAPI run as a softirq again, on the core where packets arrive.
///
/// # Errors
/// [`TaskError::Refused`].
pub fn napi_to_softirq(device: &Namespace, interface: &str) -> Result<(), TaskError> {
    threaded(device, interface, false)
}

fn threaded(device: &Namespace, interface: &str, on: bool) -> Result<(), TaskError> {
    let doing = format!(
        "switch threaded NAPI of {interface} {}",
        if on { "on" } else { "off" }
    );
    let line = format!(
        "echo {} > /sys/class/net/{interface}/threaded",
        u8::from(on)
    );
    let status = device
        .command("sh")
        .args(["-c", &line])
        .stdin(Stdio::null())
        .status()
        .map_err(refused(&doing))?;
    if status.success() {
        return Ok(());
    }
    Err(refused(&doing)(io::Error::other(status.to_string())))
}

/// NAPI threads by the interface's name: `napi/u0-1234`.
pub fn napi_threads(interface: &str) -> BTreeSet<u32> {
    let prefix = format!("napi/{interface}-");
    processes(|directory| {
        let name = fs::read_to_string(directory.join("comm")).ok()?;
        name.starts_with(&prefix).then_some(())
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn processes_have_descendants_and_ranks_come_and_go() {
        let mut leader = Command::new("sleep")
            .arg("20")
            .process_group(0)
            .spawn()
            .unwrap();
        assert_eq!(descendants(leader.id()), [leader.id()]);
        assert!(descendants(std::process::id()).contains(&leader.id()));
        assert_eq!(threads(leader.id()).unwrap(), [leader.id()]);
        if crate::process::is_root() {
            rank(leader.id(), Rank::First(1)).unwrap();
            rank(leader.id(), Rank::Normal).unwrap();
        } else {
            needs::skipped!("ranks need root");
        }
        leader.kill().unwrap();
        leader.wait().unwrap();
        assert!(rank(u32::MAX, Rank::Normal).is_err());
    }
}
