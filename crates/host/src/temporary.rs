//! Directories that go away by themselves.

use std::path::Path;
use std::{fs, io};

use tempfile::{Builder, TempDir};

use crate::files;

const PREFIX: &str = "corelane-";

/// A directory `corelane-<pid>-<name>-<something>` in the system's place for temporary files, for
/// us alone; removed when dropped.
#[derive(Debug)]
pub struct Directory(TempDir);

impl Directory {
    /// Makes an empty directory.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(name: &str) -> io::Result<Self> {
        let prefix = format!("{PREFIX}{}-{name}-", std::process::id());
        Builder::new().prefix(&prefix).tempdir().map(Self)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// Removes directories whose process is dead.
pub fn sweep_leftovers() {
    for (_, _, path) in files::leftovers(std::env::temp_dir(), PREFIX) {
        if path.symlink_metadata().is_ok_and(|kind| kind.is_dir()) {
            let _ = fs::remove_dir_all(path);
        }
    }
}
