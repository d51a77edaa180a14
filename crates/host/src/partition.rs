//! Cores set apart under one kernel: an isolated cpuset partition, made, read back, taken away.
//!
//! With control groups of version 2 that is `cpuset.cpus.partition = isolated`
//! (`Documentation/admin-guide/cgroup-v2.rst`). With version 1 (`cpusets(7)`) nobody isolates for
//! us: every task that may move goes to a set of the remaining cores, load balancing is switched
//! off at the root, and the isolated cores get an exclusive set of their own. Kernel threads bound
//! to a core stay on it under either version.
//!
//! What the kernel accepted is read back and compared; a partition it does not confirm is an error,
//! not a hope. [`Partition`] undoes all of it when dropped, [`sweep_leftovers`] does so after a
//! crash.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::cores::write_list;
use crate::{CoreId, files};

const NAME: &str = "corelane-partition-";

/// Why there is no partition.
#[derive(Debug, thiserror::Error)]
pub enum PartitionError {
    /// The kernel offers no cpuset controller.
    #[error(
        "no cpuset controller is mounted (cgroup v2 without \"cpuset\", no v1 cpuset): mount it, \
         or run without the partitioned deployment"
    )]
    None,
    /// Nothing would remain for the others.
    #[error("isolating cores {isolated} leaves none for the rest of the system: isolate fewer")]
    All {
        /// Cores asked for.
        isolated: String,
    },
    /// A file of the controller could not be written or read.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The kernel took the settings and did something else.
    #[error(
        "{path} reads \"{found}\" where \"{wanted}\" was written: the kernel did not grant the \
         partition"
    )]
    NotGranted {
        /// The file read back.
        path: PathBuf,
        /// Its content.
        found: String,
        /// What it should be.
        wanted: String,
    },
}

/// Which control groups hold the partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    /// cpusets of version 1.
    V1,
    /// Isolated partitions of version 2.
    V2,
}

/// Cores set apart, until dropped.
#[derive(Debug)]
pub struct Partition {
    version: Version,
    root: PathBuf,
    isolated: PathBuf,
}

impl Partition {
    /// Sets `cores` apart from the rest of `all`.
    ///
    /// # Errors
    /// [`PartitionError`]; what was begun is undone.
    pub fn isolate(cores: &[CoreId], all: &[CoreId]) -> Result<Self, PartitionError> {
        let mut rest = all.to_vec();
        rest.retain(|core| !cores.contains(core));
        if rest.is_empty() || cores.is_empty() {
            return Err(PartitionError::All {
                isolated: write_list(cores),
            });
        }
        sweep_leftovers();
        let (version, root) = controller().ok_or(PartitionError::None)?;
        let own = format!("{NAME}{}", std::process::id());
        // From here on the guard undoes what follows.
        let partition = Self {
            version,
            isolated: root.join(format!("{own}-isolated")),
            root,
        };
        match version {
            Version::V1 => partition.isolate_v1(cores, &rest, &own)?,
            Version::V2 => partition.isolate_v2(cores)?,
        }
        Ok(partition)
    }

    /// Moves a process, with all its threads, into the partition.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn take(&self, process: u32) -> Result<(), PartitionError> {
        write(&self.isolated.join("cgroup.procs"), &process.to_string())
    }

    fn isolate_v1(
        &self,
        cores: &[CoreId],
        rest: &[CoreId],
        own: &str,
    ) -> Result<(), PartitionError> {
        let memory = read(&self.root.join("cpuset.mems"))?;
        let others = self.root.join(format!("{own}-rest"));
        for (set, cores) in [(&others, rest), (&self.isolated, cores)] {
            fs::create_dir(set).map_err(at(set))?;
            write(&set.join("cpuset.mems"), &memory)?;
            write(&set.join("cpuset.cpus"), &write_list(cores))?;
        }
        write(&self.isolated.join("cpuset.cpu_exclusive"), "1")?;
        move_tasks(&self.root, &others);
        write(&self.root.join("cpuset.sched_load_balance"), "0")?;
        write(&self.isolated.join("cpuset.sched_load_balance"), "0")?;
        confirm(
            &self.isolated.join("cpuset.effective_cpus"),
            &write_list(cores),
        )?;
        confirm(&others.join("cpuset.effective_cpus"), &write_list(rest))?;
        confirm(&self.root.join("cpuset.sched_load_balance"), "0")
    }

    fn isolate_v2(&self, cores: &[CoreId]) -> Result<(), PartitionError> {
        write(&self.root.join("cgroup.subtree_control"), "+cpuset")?;
        fs::create_dir(&self.isolated).map_err(at(&self.isolated))?;
        write(&self.isolated.join("cpuset.cpus"), &write_list(cores))?;
        write(&self.isolated.join("cpuset.cpus.partition"), "isolated")?;
        confirm(&self.isolated.join("cpuset.cpus.partition"), "isolated")?;
        confirm(
            &self.isolated.join("cpuset.cpus.effective"),
            &write_list(cores),
        )
    }
}

impl Drop for Partition {
    fn drop(&mut self) {
        undo(
            &self.root,
            &format!("{NAME}{}-", std::process::id()),
            self.version,
        );
    }
}

/// Undoes partitions whose process is dead.
pub fn sweep_leftovers() {
    let Some((version, root)) = controller() else {
        return;
    };
    for (owner, _, _) in files::leftovers(&root, NAME) {
        undo(&root, &format!("{NAME}{owner}-"), version);
    }
}

/// Gives every task of the sets named `prefix…` back to the root and removes the sets.
fn undo(root: &Path, prefix: &str, version: Version) {
    for (_, set) in files::entries(root).filter(|(name, _)| name.starts_with(prefix)) {
        // A task that starts another while it is moved leaves it behind, and one that is just
        // ending keeps its set for a moment.
        for _ in 0..500 {
            move_tasks(&set, root);
            if fs::remove_dir(&set).is_ok() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(4));
        }
    }
    if version == Version::V1 {
        // Balancing at the root is the kernel's default; only a partition switches it off.
        let _ = write(&root.join("cpuset.sched_load_balance"), "1");
    }
}

/// Moves what may move. Kernel threads bound to their core refuse, and tasks end meanwhile.
fn move_tasks(from: &Path, to: &Path) {
    for task in files::text(from.join("cgroup.procs")).lines() {
        let _ = fs::write(to.join("cgroup.procs"), task);
    }
}

/// Where cpusets are: version 2 when its root has the controller, else a mounted version 1.
fn controller() -> Option<(Version, PathBuf)> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    find_controller(&mounts, |root| files::text(root.join("cgroup.controllers")))
}

fn find_controller(
    mounts: &str,
    controllers: impl Fn(&Path) -> String,
) -> Option<(Version, PathBuf)> {
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((Path::new(words.next()?), words.next()?, words.next()?))
    });
    let v2 = |&(root, kind, _): &(&Path, &str, &str)| {
        kind == "cgroup2"
            && controllers(root)
                .split_whitespace()
                .any(|name| name == "cpuset")
    };
    let v1 = |&(_, kind, options): &(&Path, &str, &str)| {
        kind == "cgroup" && options.split(',').any(|option| option == "cpuset")
    };
    let of = |version| move |(root, _, _): (&Path, &str, &str)| (version, root.to_owned());
    mounts
        .clone()
        .find(v2)
        .map(of(Version::V2))
        .or_else(|| mounts.clone().find(v1).map(of(Version::V1)))
}

fn confirm(path: &Path, wanted: &str) -> Result<(), PartitionError> {
    let found = read(path)?;
    if found == wanted {
        return Ok(());
    }
    Err(PartitionError::NotGranted {
        path: path.to_owned(),
        found,
        wanted: wanted.to_owned(),
    })
}

fn read(path: &Path) -> Result<String, PartitionError> {
    files::trimmed(path).map_err(at(path))
}

fn write(path: &Path, value: &str) -> Result<(), PartitionError> {
    fs::write(path, value).map_err(at(path))
}

fn at(path: &Path) -> impl Fn(io::Error) -> PartitionError {
    move |source| PartitionError::File {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
#[path = "../tests/unit/partition.rs"]
mod tests;
