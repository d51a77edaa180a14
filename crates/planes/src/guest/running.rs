//! A guest while it runs: its processes, its link, its console, whatever kernel it has.
//!
//! The guest's processes, on the host, are those of a process namespace of its own: when the first
//! of them ends, all do. It is killed when the [`Guest`] drops, and by the kernel when the guest's
//! starter is killed. What is left all the same is found by its name and killed by
//! [`sweep_leftovers`].

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use host::process::{self, Signal};
use host::tasks::child_of;
use host::temporary;
use icc::{Link, Mapping, Peer};

use super::archive::Archive;
use super::image::Module;
use super::plan::{Files, Kind, Plan};
use super::{qemu, uml};
use crate::error::{Error, host};
use crate::linked::Linked;

/// Every guest's name begins so, followed by the process that started it.
const NAME: &str = "corelane-guest-";
/// The first process of a guest's process namespace: the kernel is its child, for a first process
/// cannot abort (`pid_namespaces(7)`).
const FIRST: &str = "\"$@\"; exit $?";
/// How long a killed guest may take to be gone.
const END_PATIENCE: Duration = Duration::from_secs(2);

/// A running guest and the link to it.
pub struct Guest {
    kind: Kind,
    linked: Linked,
    boot: Duration,
    directory: temporary::Directory,
    _cables: Option<qemu::Cables>,
}

impl Guest {
    /// Boots a guest and waits until its program has joined the link.
    ///
    /// # Errors
    /// [`Error`]; nothing is left running.
    pub fn boot(plan: &Plan<'_>) -> Result<Self, Error> {
        let program = fs::read(plan.program).map_err(|source| Error::NoProgram {
            path: plan.program.to_owned(),
            source,
        })?;
        let modules = match plan.kind {
            Kind::UserModeLinux => uml::modules()?,
            Kind::Kvm | Kind::Emulated => qemu::modules()?,
        };
        let directory = temporary::Directory::new("guest")
            .map_err(host("make a directory for the guest's files"))?;
        let files = Files {
            name: format!("{NAME}{}-{}", std::process::id(), plan.core),
            initramfs: directory.path().join("initramfs"),
            shared: directory.path().join("shared"),
            directory: directory.path().to_owned(),
        };
        fs::write(&files.initramfs, file_system(&program, &modules))
            .map_err(host("write the guest's files"))?;
        let link = Linked::link(&files.shared)?;
        let console = File::create(directory.path().join("console"))
            .map_err(host("make a file for the guest's console"))?;

        let mut command: Command = plan.namespace.command("unshare");
        command
            .args([
                "--pid",
                "--fork",
                "--kill-child",
                "sh",
                "-c",
                FIRST,
                "guest",
            ])
            .args(["taskset", "-c", &plan.core.0.to_string()]);
        let cables = match plan.kind {
            Kind::UserModeLinux => {
                uml::arguments(&mut command, plan, &files);
                None
            }
            Kind::Kvm | Kind::Emulated => Some(qemu::arguments(&mut command, plan, &files)?),
        };
        let errors = console.try_clone();
        command
            .env("TMPDIR", directory.path())
            .stdin(Stdio::null())
            .stderr(errors.map_err(host("share the guest's console"))?)
            .stdout(console);

        let mut guest = Self {
            kind: plan.kind,
            linked: Linked::start(&mut command, link)?,
            boot: Duration::ZERO,
            directory,
            _cables: cables,
        };
        let up = guest.linked.wait_until_up(plan.patience);
        guest.boot = up.map_err(|outcome| Error::Boot {
            outcome,
            console: guest.console(),
        })?;
        Ok(guest)
    }

    /// From the start of the kernel to its program's joining of the link.
    pub fn boot_time(&self) -> Duration {
        self.boot
    }

    /// What its kernel runs in.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The host's process that is the guest's kernel, and leads all others of the guest.
    pub fn process(&self) -> u32 {
        let outer = self.linked.process();
        child_of(outer).and_then(child_of).unwrap_or(outer)
    }

    /// The link to the guest's program.
    pub fn link(&mut self) -> &mut Link<Mapping> {
        &mut self.linked.link
    }

    /// What is known of the guest now. A guest whose kernel has ended is closed.
    pub fn peer(&mut self) -> Peer {
        self.linked.peer()
    }

    /// The last lines of the guest's console.
    pub fn console(&self) -> String {
        const LINES: usize = 12;
        let text = fs::read(self.directory.path().join("console")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let kernel = self.process();
        process::kill_group(self.linked.process());
        // The kernel ends the namespace's processes in its own time; until then they have their
        // interfaces.
        let since = Instant::now();
        while process::is_alive(kernel) && since.elapsed() < END_PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
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
            // It may have ended meanwhile.
            let _ = process::signal(pid, Signal::KILL);
        }
    }
}

/// The process that started the guest with this command line, if it is one of ours.
fn starter(command_line: &str) -> Option<u32> {
    command_line
        .split('\0')
        .filter_map(|word| word.split_once('='))
        .filter(|(key, _)| matches!(*key, "umid" | "guest"))
        .find_map(|(_, name)| process::owner(name, NAME))
}

/// The guest's root: its program, a console, the places it mounts things on, and modules in the
/// order to load them.
fn file_system(program: &[u8], modules: &[Module]) -> Vec<u8> {
    let mut archive = Archive::default();
    for directory in ["dev", "proc", "sys", "modules"] {
        archive.directory(directory);
    }
    archive.character_device("dev/console", (5, 1));
    archive.executable("init", program);
    for (number, module) in modules.iter().enumerate() {
        archive.executable(
            &format!("modules/{number:02}-{}", module.name),
            &module.content,
        );
    }
    archive.finish()
}

#[cfg(test)]
#[path = "../../tests/unit/running.rs"]
mod tests;
