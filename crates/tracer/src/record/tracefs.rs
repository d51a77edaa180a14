//! Access to tracefs, without leaving a trace of it.
//!
//! Only the `format` files are read; perf turns the tracepoints on and off. Where tracefs is not
//! mounted, a thread takes a mount namespace of its own, mounts it there, reads, and ends: the
//! mount ends with it, however the program ends.

use std::ffi::CString;
use std::path::{Path, PathBuf};

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
        |what: &str| RecordError::NoTracefs(format!("{what}: {}", std::io::Error::last_os_error()));
    let target = &place.to_string_lossy();
    // SAFETY: unshare concerns this thread alone; it has no memory arguments.
    if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
        return Err(failed(
            "it is not mounted, and a private mount namespace was refused",
        ));
    }
    mount("none", "/", None, libc::MS_REC | libc::MS_PRIVATE)
        .map_err(|()| failed("making the mounts private failed"))?;
    mount(
        "tracefs",
        target,
        Some("tracefs"),
        libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC,
    )
    .map_err(|()| failed("mounting it was refused"))?;
    Ok(place.to_path_buf())
}

fn mount(source: &str, target: &str, kind: Option<&str>, flags: libc::c_ulong) -> Result<(), ()> {
    let source = CString::new(source).map_err(drop)?;
    let target = CString::new(target).map_err(drop)?;
    let kind = kind.map(CString::new).transpose().map_err(drop)?;
    let kind = kind.as_ref().map_or(std::ptr::null(), |kind| kind.as_ptr());
    // SAFETY: all pointers are to terminated strings that live through the call, or null where
    // mount(2) allows it.
    let result = unsafe {
        libc::mount(
            source.as_ptr(),
            target.as_ptr(),
            kind,
            flags,
            std::ptr::null(),
        )
    };
    if result == 0 { Ok(()) } else { Err(()) }
}
