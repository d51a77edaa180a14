//! Directories that go away by themselves.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, io};

use crate::process;

const PREFIX: &str = "corelane-";

/// A directory `corelane-<pid>-<name>-<n>` in the system's place for temporary files, removed when
/// dropped.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// Makes an empty directory.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(name: &str) -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("{PREFIX}{}-{name}-{count}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes directories whose process is dead.
pub fn sweep_leftovers() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else {
        return;
    };
    for entry in entries.flatten() {
        let dead = entry
            .file_name()
            .to_str()
            .and_then(|name| process::owner(name, PREFIX))
            .is_some_and(|pid| !process::is_alive(pid));
        if dead && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gone_after_drop_and_leftovers_are_swept() {
        let directory = Directory::new("test").unwrap();
        let path = directory.path().to_owned();
        fs::write(path.join("file"), "x").unwrap();
        let leftover = std::env::temp_dir().join(format!("{PREFIX}{}-test-0", u32::MAX));
        fs::create_dir_all(&leftover).unwrap();
        sweep_leftovers();
        assert!(path.exists() && !leftover.exists());
        drop(directory);
        assert!(!path.exists());
    }
}
