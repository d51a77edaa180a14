//! Gives up every right that a running router does not need.
//!
//! Kept are [`KEPT`]: `CAP_NET_ADMIN` for neighbours, for links to programs and for looking at
//! rules, `CAP_BPF` and `CAP_PERFMON` for loading the program again for an interface that came back
//! or was added. Engines with sockets keep [`KEPT_FOR_SOCKETS`] too, to open them again. The
//! threads that are started afterwards inherit the reduced set; workers, whose sockets are open,
//! give up everything ([`give_up`]).

use std::io;

use rustix::thread::{self, CapabilitySet, CapabilitySets};

/// Capabilities kept, by number and name (`linux/capability.h`).
pub const KEPT: [(u32, &str); 3] = [(12, "CAP_NET_ADMIN"), (38, "CAP_PERFMON"), (39, "CAP_BPF")];

/// Kept by engines that open sockets on interfaces: `CAP_NET_RAW` to open them, `CAP_IPC_LOCK` for
/// the memory that they share with the kernel.
pub const KEPT_FOR_SOCKETS: [(u32, &str); 2] = [(13, "CAP_NET_RAW"), (14, "CAP_IPC_LOCK")];

/// Reduces the calling thread's capabilities to those of [`KEPT`] that it has, and with `sockets`
/// to those of [`KEPT_FOR_SOCKETS`] too, for good.
///
/// # Errors
/// When the kernel refuses.
pub fn reduce(sockets: bool) -> io::Result<()> {
    let more = if sockets { &KEPT_FOR_SOCKETS[..] } else { &[] };
    keep(KEPT.iter().chain(more))
}

/// Gives up every capability of the calling thread, for good.
///
/// # Errors
/// When the kernel refuses.
pub fn give_up() -> io::Result<()> {
    keep(std::iter::empty())
}

fn keep<'a>(wanted: impl Iterator<Item = &'a (u32, &'static str)>) -> io::Result<()> {
    let wanted = wanted.fold(0, |set, (number, _)| set | 1 << number);
    let kept = thread::capabilities(None)?.permitted & CapabilitySet::from_bits_retain(wanted);
    // No program that this one might start gains rights.
    thread::set_no_new_privs(true)?;
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    Ok(thread::set_capabilities(None, sets)?)
}
