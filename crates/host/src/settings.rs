//! Settings of the whole machine that an experiment changes for a moment, and their way back.
//!
//! A [`Setting`] writes a file of the kernel and writes the former value back when dropped. Before
//! it does, it notes that value in [`JOURNAL`], which only root can write to, so that
//! [`sweep_leftovers`] can give it back after a crash.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, io};

use crate::cores::write_list;
use crate::{CoreId, files};

const JOURNAL: &str = "/run";
const NAME: &str = "corelane-setting-";

/// One setting with another value, until dropped.
#[derive(Debug)]
pub struct Setting {
    path: PathBuf,
    before: String,
    note: PathBuf,
}

impl Setting {
    /// Changes the file at `path` to `value`.
    ///
    /// # Errors
    /// The kernel refuses, or the former value cannot be noted; nothing is changed then.
    pub fn change(path: &Path, value: &str) -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let before = files::trimmed(path)?;
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let note = Path::new(JOURNAL).join(format!("{NAME}{}-{number}", std::process::id()));
        fs::write(&note, format!("{}\n{before}", path.display()))?;
        // From here on dropping removes the note.
        let setting = Self {
            path: path.to_owned(),
            before,
            note,
        };
        fs::write(path, value)?;
        Ok(setting)
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        // A setting that cannot be written back has gone with its device.
        let _ = fs::write(&self.path, &self.before);
        let _ = fs::remove_file(&self.note);
    }
}

/// Gives back what dead processes had changed.
pub fn sweep_leftovers() {
    for (_, _, note) in files::leftovers(JOURNAL, NAME) {
        if let Some((path, before)) = files::text(&note).split_once('\n') {
            let _ = fs::write(path, before);
        }
        let _ = fs::remove_file(note);
    }
}

/// Has all interrupt lines of devices that can be moved come to `cores`. Those that cannot (the
/// kernel places them itself, or they belong to one core) stay.
pub fn interrupts_to(cores: &[CoreId]) -> Vec<Setting> {
    files::entries("/proc/irq")
        .filter_map(|(_, line)| {
            Setting::change(&line.join("smp_affinity_list"), &write_list(cores)).ok()
        })
        .collect()
}

/// Has the kernel's unbound workers run on `cores` (Linux, `Documentation/core-api/workqueue.rst`).
///
/// # Errors
/// As [`Setting::change`].
pub fn workers_to(cores: &[CoreId]) -> io::Result<Setting> {
    let mask = cores.iter().fold(0_u64, |mask, core| {
        mask | 1_u64.checked_shl(core.0).unwrap_or(0)
    });
    Setting::change(
        Path::new("/sys/devices/virtual/workqueue/cpumask"),
        &format!("{mask:x}"),
    )
}
