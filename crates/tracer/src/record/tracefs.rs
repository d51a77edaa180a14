//! Access to tracefs, without leaving a trace of it.
//!
//! Only the `format` files are read; perf turns the tracepoints on and off. Where tracefs is not
//! mounted, a thread takes a mount namespace of its own, mounts it there, reads, and ends: the
//! mount ends with it, however the program ends.

use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::{RecordError, System};

/// Reads the `format` files of `events` (`subsystem/name`), `None` for each one this kernel has
/// not.
///
/// # Errors
/// [`RecordError::NoTracefs`] when tracefs is not mounted and cannot be.
pub(crate) fn formats(
    system: &System,
    events: &[String],
) -> Result<Vec<Option<String>>, RecordError> {
    if let Some(root) = system
        .tracing
        .iter()
        .find(|root| root.join("events/sched").is_dir())
    {
        return Ok(read_all(root, events));
    }
    let place = system.tracing.first().cloned().unwrap_or_default();
    if !system.mounts {
        return Err(RecordError::NoTracefs(format!(
            "it is not mounted at {}",
            place.display()
        )));
    }
    let events = events.to_vec();
    std::thread::spawn(move || {
        let root = mount_for_this_thread(&place)?;
        Ok(read_all(&root, &events))
    })
    .join()
    .unwrap_or_else(|_| {
        Err(RecordError::NoTracefs(
            "the thread that mounts it panicked".to_owned(),
        ))
    })
}

fn read_all(root: &Path, events: &[String]) -> Vec<Option<String>> {
    events
        .iter()
        .map(|event| std::fs::read_to_string(root.join("events").join(event).join("format")).ok())
        .collect()
}

fn mount_for_this_thread(place: &Path) -> Result<PathBuf, RecordError> {
    let failed =
        |what: &'static str| move |cause| RecordError::NoTracefs(format!("{what}: {cause}"));
    // SAFETY: this thread alone gets a mount namespace; its descriptors stay shared.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.map_err(failed(
        "it is not mounted, and a private mount namespace was refused",
    ))?;
    let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    mount_change("/", private).map_err(failed("making the mounts private failed"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("tracefs", place, "tracefs", flags, None).map_err(failed("mounting it was refused"))?;
    Ok(place.to_path_buf())
}
