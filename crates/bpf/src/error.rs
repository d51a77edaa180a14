//! What can go wrong between a program file and a running program, each with what to do about it.

use std::io;

/// An error of this crate; its text names the thing, the value and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The object file is not what this loader reads.
    #[error("eBPF object: {0}; rebuild it with `make bpf`")]
    Object(String),
    /// A map could not be created.
    #[error("creating eBPF map `{map}` ({bytes} bytes): {error}{}", remedy(error))]
    CreateMap {
        /// Its name in the C source.
        map: String,
        /// Size of all values.
        bytes: u64,
        /// The kernel's answer.
        error: io::Error,
    },
    /// Reading, writing or mapping a map failed.
    #[error("eBPF map `{map}`: {action}: {error}")]
    Map {
        /// Its name in the C source.
        map: String,
        /// What was tried.
        action: &'static str,
        /// The kernel's answer.
        error: io::Error,
    },
    /// The kernel refused the program; `log` is the end of the verifier's explanation.
    #[error(
        "the kernel refused eBPF program `{program}`: {error}{}\n{log}",
        remedy(error)
    )]
    Refused {
        /// Its name in the C source.
        program: String,
        /// The kernel's answer.
        error: io::Error,
        /// The last lines of the verifier's log; empty if it wrote none.
        log: String,
    },
    /// The program must not be bound to its device; unbound it may be loaded.
    #[error(
        "eBPF program `{program}` is not bound to its device: {why}; the kernel would fail when \
         the device goes"
    )]
    NotBound {
        /// Its name in the C source.
        program: String,
        /// What would have the kernel move it.
        why: String,
    },
    /// The interface has an XDP program already.
    #[error(
        "interface {interface}: another XDP program is attached; remove it (`ip link set dev \
         {interface} xdp off`, or end the program that holds it) and try again"
    )]
    Busy {
        /// Name of the interface.
        interface: String,
    },
    /// Another process forwards what arrives at the interface.
    #[error(
        "interface {interface}: another Corelane has its program at tc; end that one and try again"
    )]
    Held {
        /// Name of the interface.
        interface: String,
    },
    /// The driver has no native XDP and native was required.
    #[error(
        "interface {interface}: native XDP was required and its driver refuses it: {error}. Shrink \
         the MTU if the driver's XDP takes no such frames, or run in generic mode without the \
         requirement"
    )]
    NotNative {
        /// Name of the interface.
        interface: String,
        /// The kernel's answer.
        error: io::Error,
    },
    /// Attaching failed for another reason.
    #[error("attaching to interface {interface}: {error}{}", remedy(error))]
    Attach {
        /// Name of the interface.
        interface: String,
        /// The kernel's answer.
        error: io::Error,
    },
    /// No such interface in this network namespace.
    #[error("no interface `{0}` in this network namespace; `ip link` lists them")]
    NoInterface(String),
    /// Running a program by hand failed.
    #[error("running eBPF program `{program}`: {error}")]
    Run {
        /// Its name in the C source.
        program: String,
        /// The kernel's answer.
        error: io::Error,
    },
}

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What helps against the common refusals of bpf(2).
fn remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "; run as root or with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON"
        }
        Some(libc::ENOMEM) => "; free memory, or raise the limit of locked memory (`ulimit -l`)",
        Some(libc::ENOSYS) => "; this kernel has no bpf(2)",
        _ => "",
    }
}
