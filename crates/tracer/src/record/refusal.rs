//! What to do when the kernel refuses.

use std::io;
use std::path::Path;

use super::{RecordError, System};

/// What to do about a refused `perf_event_open`.
pub(super) fn refusal(cause: &io::Error, system: &System) -> RecordError {
    let root = rustix::process::geteuid().is_root();
    explain(cause, system, root)
}

fn explain(cause: &io::Error, system: &System, root: bool) -> RecordError {
    let read = |path: &Path| {
        std::fs::read_to_string(path)
            .map(|text| text.trim().to_owned())
            .unwrap_or_default()
    };
    let remedy = match cause.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            let lockdown = read(&system.lockdown);
            if lockdown.contains("[confidentiality]") {
                "the kernel is locked down (confidentiality); start it with lockdown=integrity or \
                 none"
                    .to_owned()
            } else if root {
                "root is not enough here: a container or seccomp filter forbids perf_event_open; \
                 give it CAP_PERFMON and CAP_SYS_ADMIN, or record on the host with --pid"
                    .to_owned()
            } else {
                format!(
                    "run as root, or give the program CAP_PERFMON and CAP_DAC_READ_SEARCH \
                     (kernel.perf_event_paranoid is {}). `corelane trace report` reads a trace \
                     recorded elsewhere without any rights",
                    read(&system.paranoid)
                )
            }
        }
        Some(libc::EMFILE | libc::ENFILE) => "too many open files: one for every tracepoint and \
                                              core is needed; raise `ulimit -n`"
            .to_owned(),
        Some(libc::ENOSYS) => "the kernel is built without CONFIG_PERF_EVENTS".to_owned(),
        Some(libc::ENODEV | libc::ENOENT) => {
            "a core went offline or the tracepoint is gone; try again".to_owned()
        }
        _ => "see perf_event_open(2)".to_owned(),
    };
    RecordError::Refused {
        cause: io::Error::from_raw_os_error(cause.raw_os_error().unwrap_or(0)),
        remedy,
    }
}

#[cfg(test)]
#[path = "../../tests/unit/refusal.rs"]
mod tests;
