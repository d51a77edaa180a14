//! Files of processes that see another tree of files: in a container, a path means another file
//! than here, or none. They are opened through `/proc/PID/root` while the process lives, and read
//! when the recording is over.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use super::symbols::Mapping;

/// Files of one process that are kept open.
const FILES: usize = 64;

/// Where the file of a mapping is read.
#[derive(Clone, Debug, Default)]
pub(crate) enum Place {
    /// At its path.
    #[default]
    Here,
    /// It has been opened: the file, its device and its number.
    Opened(Arc<File>, (u64, u64)),
    /// It could not be opened, and its path means something else here.
    Nowhere,
}

/// Opens the files of `mappings` when `process` sees another tree of files than this one.
pub(super) fn open(process: u32, mappings: &mut [Mapping]) {
    if sees_ours(process) {
        return;
    }
    let mut opened: HashMap<String, Place> = HashMap::new();
    for mapping in mappings {
        if mapping.path.starts_with('/') {
            let full = opened.len() >= FILES;
            mapping.place = match opened.get(&mapping.path) {
                Some(place) => place.clone(),
                None if full => Place::Nowhere,
                None => {
                    let place = file(process, &mapping.path).unwrap_or(Place::Nowhere);
                    opened.entry(mapping.path.clone()).or_insert(place).clone()
                }
            };
        }
    }
}

/// A process that has ended counts as one of ours: it has no mappings any more.
fn sees_ours(process: u32) -> bool {
    let space = |of: &str| std::fs::read_link(format!("/proc/{of}/ns/mnt")).ok();
    let root = |path: &Path| {
        std::fs::metadata(path)
            .map(|root| (root.dev(), root.ino()))
            .ok()
    };
    let process = process.to_string();
    let (Some(theirs), Some(root_of_theirs)) = (
        space(&process),
        root(&Path::new("/proc").join(&process).join("root")),
    ) else {
        return true;
    };
    space("self") == Some(theirs) && root(Path::new("/")) == Some(root_of_theirs)
}

/// Only a file: to open a device may do something.
fn file(process: u32, path: &str) -> Option<Place> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let path = format!("/proc/{process}/root{path}");
    if !std::fs::symlink_metadata(&path).ok()?.is_file() {
        return None;
    }
    let file = options.open(path).ok()?;
    let found = file.metadata().ok()?;
    Some(Place::Opened(Arc::new(file), (found.dev(), found.ino())))
}
