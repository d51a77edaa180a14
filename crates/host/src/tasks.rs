//! Tasks of the machine: who started them, which cores they may use.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

use crate::cores::{self, allowed_to, write_list};
use crate::{CoreId, files, process};

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

/// The system refuses what was being done.
pub(crate) fn refused(doing: &str) -> impl Fn(io::Error) -> TaskError {
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
    for thread in threads(process).map_err(refused("list a process's threads"))? {
        let bound = cores::bind(thread, cores);
        let found = allowed_to(thread).unwrap_or_default();
        if bound.is_err() || found != cores {
            return Err(TaskError::NotBound {
                thread,
                found: write_list(&found),
                wanted: write_list(cores),
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

/// The parent of a process; none when it is gone.
pub fn parent_of(pid: u32) -> Option<u32> {
    parent_in(Path::new(&format!("/proc/{pid}")))
}

fn parent_in(directory: &Path) -> Option<u32> {
    // State and parent come first.
    process::stat(directory)?.split(' ').nth(1)?.parse().ok()
}

fn children_of(parent: u32) -> BTreeSet<u32> {
    processes(|directory| parent_in(directory) == Some(parent))
}

/// Every process, also the kernel's.
pub fn all() -> BTreeSet<u32> {
    processes(|_| true)
}

fn processes(wanted: impl Fn(&Path) -> bool) -> BTreeSet<u32> {
    let numbered =
        files::entries("/proc").filter_map(|(name, path)| Some((name.parse().ok()?, path)));
    let wanted = numbered.filter(|(_, path)| wanted(path));
    wanted.map(|(pid, _)| pid).collect()
}

/// Processes, also the kernel's, whose name begins with `prefix`.
pub(crate) fn named(prefix: &str) -> BTreeSet<u32> {
    processes(|directory| files::text(directory.join("comm")).starts_with(prefix))
}

/// The threads of this process that may run on a core alone.
pub fn own_on(core: CoreId) -> Vec<u32> {
    let mut own = threads(std::process::id()).unwrap_or_default();
    own.retain(|&thread| allowed_to(thread).is_ok_and(|cores| cores == [core]));
    own
}

/// The kernel's thread that takes over softirqs on a core when there are many. It stays the same, so it
/// is looked for once.
pub fn softirqs(core: CoreId) -> Option<u32> {
    static FOUND: Mutex<BTreeMap<CoreId, Option<u32>>> = Mutex::new(BTreeMap::new());
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let look = || named(&format!("ksoftirqd/{core}\n")).first().copied();
    *found.entry(core).or_insert_with(look)
}

/// Whether a program runs, by its name (of which the kernel keeps 15 bytes).
pub fn runs(program: &str) -> bool {
    let is = |directory: &Path| files::trimmed_or_empty(directory.join("comm")) == program;
    !processes(is).is_empty()
}

#[cfg(test)]
#[path = "../tests/unit/tasks.rs"]
mod tests;
