//! A second kernel on a core of its own: User Mode Linux, from Debian's package `user-mode-linux`.
//!
//! The guest is the packaged kernel with an initramfs that holds one static program. It shares two
//! things with its host: a file of memory, which the guest sees as `/dev/mmapper` and both sides use
//! as a [`icc::Link`]; and interfaces of the namespace that it was started in, on which the guest's
//! driver opens raw sockets (`vec0`, `vec1`, …). It needs no virtualisation hardware.
//!
//! The guest's processes form one process group, killed when the [`Guest`] drops. A guest whose
//! starter died without dropping it is found by its name and killed by [`sweep_leftovers`].
//!
//! What it cannot do: more than one core per guest (User Mode Linux is a uniprocessor), and the
//! guest's system calls and faults cost far more than on the metal. The figures of a deployment on
//! it are those of this kind of kernel-per-core, and the reports name it.

use std::{
    fs::{self, File},
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use host::{CoreId, Namespace, process, temporary};
use icc::{Link, Mapping, Peer, PeerWatch};

use super::archive::Archive;

/// The kernel's program, as Debian installs it.
const KERNEL: &str = "/usr/bin/linux.uml";
/// Every guest's name begins so, followed by the process that started it.
const NAME: &str = "corelane-guest-";
/// A guest that has not joined its link by then has failed.
const BOOT_PATIENCE: Duration = Duration::from_secs(15);
/// Silence after which a guest counts as gone: many times the agent's slowest turn.
const BEAT_PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of memory that a link lies in.
pub const LINK_BYTES: usize = 4 << 20;

/// Why a guest could not be had.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The kernel's program is missing.
    #[error(
        "{KERNEL} is not installed: a kernel per core without KVM needs Debian's package user-mode-linux"
    )]
    NoKernel,
    /// The program for the guest is missing.
    #[error("{path}: {source}; build it with \"make guest\"")]
    NoProgram {
        /// Where it was looked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Files or processes of the host failed.
    #[error("cannot {doing}: {source}")]
    Host {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The link could not be made.
    #[error(transparent)]
    Link(#[from] icc::LinkError),
    /// The guest ended or stayed silent.
    #[error("the guest did not come up ({outcome}); the end of its console:\n{console}")]
    Boot {
        /// Exit status or time passed.
        outcome: String,
        /// Its last lines.
        console: String,
    },
}

/// What a guest is to have.
#[derive(Debug, Clone)]
pub struct Plan<'a> {
    /// The core that all of the guest runs on.
    pub core: CoreId,
    /// Where its interfaces lie.
    pub namespace: &'a Namespace,
    /// Interfaces of the namespace: `vec0`, `vec1`, … in the guest, in this order.
    pub interfaces: &'a [&'a str],
    /// Largest IP packet on them in bytes.
    pub mtu: u32,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// The static program that becomes the guest's first process.
    pub program: &'a Path,
}

/// A running guest and the link to it.
pub struct Guest {
    child: Child,
    link: Link<Mapping>,
    watch: PeerWatch,
    started: Instant,
    boot: Duration,
    directory: temporary::Directory,
}

impl Guest {
    /// Boots a guest and waits until its program has joined the link.
    ///
    /// # Errors
    /// [`GuestError`]; nothing is left running.
    pub fn boot(plan: &Plan<'_>) -> Result<Self, GuestError> {
        if !Path::new(KERNEL).exists() {
            return Err(GuestError::NoKernel);
        }
        let program = fs::read(plan.program).map_err(|source| GuestError::NoProgram {
            path: plan.program.to_owned(),
            source,
        })?;
        let directory = temporary::Directory::new("guest")
            .map_err(host("make a directory for the guest's files"))?;
        let initramfs = directory.path().join("initramfs");
        fs::write(&initramfs, file_system(&program)).map_err(host("write the guest's files"))?;
        let shared = directory.path().join("shared");
        let link = Link::create(shared_memory(&shared).map_err(host("make shared memory"))?)?;
        let console = File::create(directory.path().join("console"))
            .map_err(host("make a file for the guest's console"))?;

        let name = format!("{NAME}{}-{}", std::process::id(), plan.core);
        let mut command: Command = plan.namespace.command("taskset");
        command
            .arg("-c")
            .arg(plan.core.0.to_string())
            .arg(KERNEL)
            .arg(format!("umid={name}"))
            .arg(format!("uml_dir={}/", directory.path().display()))
            .arg(format!("mem={}M", plan.memory_mib))
            .arg(format!("initrd={}", initramfs.display()))
            .arg(format!("iomem=mmapper,{}", shared.display()))
            .args(["con=null", "con0=null,fd:1", "quiet", "panic=-1"]);
        for (index, interface) in plan.interfaces.iter().enumerate() {
            command.arg(format!(
                "vec{index}:transport=raw,ifname={interface},depth=128,gro=0,mtu={}",
                plan.mtu
            ));
        }
        let child = command
            .env("TMPDIR", directory.path())
            .process_group(0)
            .stdin(Stdio::null())
            .stderr(Stdio::from(
                console
                    .try_clone()
                    .map_err(host("share the guest's console"))?,
            ))
            .stdout(Stdio::from(console))
            .spawn()
            .map_err(host("start the guest's kernel"))?;

        let mut guest = Self {
            child,
            link,
            watch: PeerWatch::new(BEAT_PATIENCE.as_nanos() as u64, 0),
            started: Instant::now(),
            boot: Duration::ZERO,
            directory,
        };
        guest.wait_until_up()?;
        Ok(guest)
    }

    /// From the start of the kernel to its program's joining of the link.
    pub fn boot_time(&self) -> Duration {
        self.boot
    }

    /// The host's process that leads the group of all the guest's.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// The link to the guest's program.
    pub fn link(&mut self) -> &mut Link<Mapping> {
        &mut self.link
    }

    /// What is known of the guest now. A guest whose kernel has ended is closed.
    pub fn peer(&mut self) -> Peer {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return Peer::Closed;
        }
        let now = self.started.elapsed().as_nanos() as u64;
        self.link.peer(&mut self.watch, now)
    }

    /// The last lines of the guest's console.
    pub fn console(&self) -> String {
        const LINES: usize = 12;
        let text = fs::read(self.directory.path().join("console")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }

    fn wait_until_up(&mut self) -> Result<(), GuestError> {
        while self.started.elapsed() < BOOT_PATIENCE && !host::interrupted() {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(GuestError::Boot {
                    outcome: status.to_string(),
                    console: self.console(),
                });
            }
            if self.peer() == Peer::Alive {
                self.boot = self.started.elapsed();
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err(GuestError::Boot {
            outcome: format!("silent after {:.1} s", self.started.elapsed().as_secs_f64()),
            console: self.console(),
        })
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        kill_group(self.child.id());
        let _ = self.child.wait();
    }
}

/// Kills guests whose starter is dead.
pub fn sweep_leftovers() {
    let Ok(entries) = fs::read_dir("/proc") else {
        return;
    };
    for entry in entries.flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if starter(&String::from_utf8_lossy(&line)).is_some_and(|by| !process::is_alive(by)) {
            kill_group(pid);
        }
    }
}

/// The process that started the guest with this command line, if it is one of ours.
fn starter(command_line: &str) -> Option<u32> {
    let name = command_line
        .split('\0')
        .find_map(|word| word.strip_prefix("umid=")?.strip_prefix(NAME))?;
    name.split('-').next()?.parse().ok()
}

/// Kills a process group and minds no error: it may be gone.
pub(crate) fn kill_group(leader: u32) {
    if let Ok(leader) = libc::pid_t::try_from(leader) {
        // SAFETY: kill takes numbers only; a group that is gone is an error we do not mind.
        unsafe { libc::kill(-leader, libc::SIGKILL) };
    }
}

/// Sparse memory of [`LINK_BYTES`] that two sides map.
pub(crate) fn shared_memory(path: &Path) -> io::Result<Mapping> {
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)?;
    file.set_len(LINK_BYTES as u64)?;
    Mapping::of(&file, LINK_BYTES)
}

/// The guest's root: its program, a console, and the places it mounts things on.
fn file_system(program: &[u8]) -> Vec<u8> {
    let mut archive = Archive::default();
    for directory in ["dev", "proc", "sys"] {
        archive.directory(directory);
    }
    archive.character_device("dev/console", (5, 1));
    archive.executable("init", program);
    archive.finish()
}

fn host(doing: &'static str) -> impl Fn(io::Error) -> GuestError {
    move |source| GuestError::Host { doing, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_guests_are_known_by_their_command_line() {
        let line = "/usr/bin/linux.uml\0umid=corelane-guest-71-1\0mem=64M\0";
        assert_eq!(starter(line), Some(71));
        assert_eq!(starter("/usr/bin/linux.uml\0umid=somebody\0"), None);
        assert_eq!(starter("grep\0corelane-guest-71-1\0"), None);
    }
}
