//! Settings of the whole machine that an experiment changes for a moment, and their way back.
//!
//! A [`Setting`] writes a file of the kernel and writes the former value back when dropped. Before
//! it does, it notes that value in [`JOURNAL`], which only root can write to. When this process is
//! killed, a guard process gives back what is noted, at once; what the guard cannot
//! [`sweep_leftovers`] does in the next run.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

use crate::{CoreId, files};

const JOURNAL: &str = "/run";
const NAME: &str = "corelane-setting-";
/// The guard: a shell whose input ends when the process ends that started it. What is noted in
/// files whose names begin as `$1` says it then gives back.
const GUARD: &str = r#"trap '' HUP INT TERM
cat > /dev/null
for note in "$1"*; do
    [ -e "$note" ] || continue
    { IFS= read -r path; before=$(cat); } < "$note"
    printf %s "$before" > "$path"
    rm -f "$note"
done"#;

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
        let own = format!("{JOURNAL}/{NAME}{}-", std::process::id());
        guard(&own)?;
        let note = PathBuf::from(format!("{own}{number}"));
        fs::write(&note, format!("{}\n{before}", path.display()))?;
        // From here on dropping removes the note.
        let setting = Self {
            path: path.to_owned(),
            before,
            note,
        };
        setting.set(value)?;
        Ok(setting)
    }

    /// Changes it once more.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set(&self, value: &str) -> io::Result<()> {
        fs::write(&self.path, value)
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        // A setting that cannot be written back has gone with its device.
        let _ = fs::write(&self.path, &self.before);
        let _ = fs::remove_file(&self.note);
    }
}

/// Starts the guard of notes whose names begin with `own`, unless it runs already.
fn guard(own: &str) -> io::Result<()> {
    static RUNNING: Mutex<Option<Child>> = Mutex::new(None);
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if running.is_none() {
        let mut command = Command::new("sh");
        command.args(["-c", GUARD, "sh", own]).process_group(0);
        command.stdin(Stdio::piped());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        *running = Some(command.spawn()?);
    }
    Ok(())
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
