//! What the kernel and others keep in small files and in the names of files.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::process;

/// The text of a file, without the white space around it.
pub(crate) fn trimmed(path: impl AsRef<Path>) -> io::Result<String> {
    Ok(fs::read_to_string(path)?.trim().to_owned())
}

/// The same, empty where it cannot be read.
pub(crate) fn trimmed_or_empty(path: impl AsRef<Path>) -> String {
    trimmed(path).unwrap_or_default()
}

/// The text of a file, empty where it cannot be read.
pub(crate) fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The entries of a directory, name and path; none where it cannot be read.
pub(crate) fn entries(directory: impl AsRef<Path>) -> impl Iterator<Item = (String, PathBuf)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
}

/// The entries whose name, `<prefix><pid>-…`, is that of a dead process of ours; the process too.
pub(crate) fn leftovers(
    directory: impl AsRef<Path>,
    prefix: &str,
) -> impl Iterator<Item = (u32, String, PathBuf)> {
    entries(directory).filter_map(move |(name, path)| {
        let owner = process::owner(&name, prefix)?;
        (!process::is_alive(owner)).then_some((owner, name, path))
    })
}
