//! Where the kernel tells of itself.

use std::path::PathBuf;

/// The places the recorder reads. The default is the running system; tests name others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct System {
    /// Where tracefs may be mounted, the likeliest first.
    pub tracing: Vec<PathBuf>,
    /// Mount tracefs in a mount namespace of one thread when it is at none of these places.
    pub mounts: bool,
    /// The kernel's type information.
    pub types: PathBuf,
    /// How far the kernel is locked down.
    pub lockdown: PathBuf,
    /// Who may use perf.
    pub paranoid: PathBuf,
}

impl Default for System {
    fn default() -> Self {
        Self {
            tracing: vec![
                "/sys/kernel/tracing".into(),
                "/sys/kernel/debug/tracing".into(),
            ],
            mounts: true,
            types: "/sys/kernel/btf/vmlinux".into(),
            lockdown: "/sys/kernel/security/lockdown".into(),
            paranoid: "/proc/sys/kernel/perf_event_paranoid".into(),
        }
    }
}
