//! Other tasks of the machine: which cores they may use, and whether they come before the rest.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, io};

use host::{CoreId, Namespace};

use crate::deployment::{DeploymentError, host};
use crate::partition::cpu_list;

/// Binds every thread of a process to some cores and reads back that they are.
pub(crate) fn bind(pid: u32, cores: &[CoreId]) -> Result<(), DeploymentError> {
    let wanted = cpu_list(cores);
    let output = Command::new("taskset")
        .args(["-a", "-c", "-p", &wanted, &pid.to_string()])
        .output()
        .map_err(host("run taskset (package util-linux)"))?;
    for thread in threads(pid).map_err(host("list threads"))? {
        let status = fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
        let found = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
            .map_or("none", str::trim);
        if !output.status.success() || found != wanted {
            return Err(DeploymentError::NotBound {
                what: format!("thread {thread}"),
                found: found.to_owned(),
                wanted,
            });
        }
    }
    Ok(())
}

/// The threads of a process.
pub(crate) fn threads(pid: u32) -> io::Result<Vec<u32>> {
    let entries = fs::read_dir(format!("/proc/{pid}/task"))?;
    Ok(entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect())
}

/// A process and all that stem from it.
pub(crate) fn descendants(ancestor: u32) -> Vec<u32> {
    let mut found = vec![ancestor];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(children_of(parent));
        next += 1;
    }
    found
}

/// A child of a process.
pub(crate) fn child_of(parent: u32) -> Option<u32> {
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
pub(crate) enum Rank {
    /// Takes turns with the others.
    Normal,
    /// The first-in-first-out policy with this priority, 1 to 99 (sched(7)): before all normal
    /// tasks.
    First(i32),
}

/// Gives one thread a rank; its children inherit it.
pub(crate) fn rank(thread: u32, rank: Rank) -> io::Result<()> {
    let (policy, priority) = match rank {
        Rank::Normal => (libc::SCHED_OTHER, 0),
        Rank::First(priority) => (libc::SCHED_FIFO, priority),
    };
    // SAFETY: plain integers, of which some C libraries have more than others; zero is a valid
    // value of each.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    let thread = libc::pid_t::try_from(thread).map_err(io::Error::other)?;
    // SAFETY: a number and parameters that are read only and alive during the call.
    match unsafe { libc::sched_setscheduler(thread, policy, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Gives an interface's NAPI a thread of its own on `core`, before all normal tasks there: a
/// softirq comes before tasks too, and a thread without that waits for milliseconds while the
/// cable's 256 places fill.
pub(crate) fn napi_to_thread(
    device: &Namespace,
    interface: &str,
    core: CoreId,
) -> Result<(), DeploymentError> {
    let before = napi_threads(interface);
    threaded(device, interface, true)?;
    for &thread in napi_threads(interface).difference(&before) {
        bind(thread, &[core])?;
        rank(thread, Rank::First(1)).map_err(host("give a NAPI thread a real-time priority"))?;
    }
    Ok(())
}

/// Has NAPI run as a softirq again, on the core where packets arrive.
pub(crate) fn napi_to_softirq(device: &Namespace, interface: &str) -> Result<(), DeploymentError> {
    threaded(device, interface, false)
}

fn threaded(device: &Namespace, interface: &str, on: bool) -> Result<(), DeploymentError> {
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
        .map_err(host(&doing))?;
    if status.success() {
        return Ok(());
    }
    Err(host(&doing)(io::Error::other(status.to_string())))
}

/// NAPI threads by the interface's name: `napi/u0-1234`.
pub(crate) fn napi_threads(interface: &str) -> BTreeSet<u32> {
    let prefix = format!("napi/{interface}-");
    processes(|directory| {
        let name = fs::read_to_string(directory.join("comm")).ok()?;
        name.starts_with(&prefix).then_some(())
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;

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
        if host::process::is_root() {
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
