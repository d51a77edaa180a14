//! Gives up every right that a running router does not need.
//!
//! Kept are [`KEPT`]: `CAP_NET_ADMIN` for neighbours, for links to programs and for looking at
//! rules, `CAP_BPF` and `CAP_PERFMON` for loading the program again for an interface that came back
//! or was added. Engines with sockets keep [`KEPT_FOR_SOCKETS`] too, to open them again. The
//! threads that are started afterwards inherit the reduced set, and the bound to what any program
//! could ever gain; workers, whose sockets are open, give up everything ([`give_up`]).

use std::io;

use rustix::io::Errno;
use rustix::thread::{self, CapabilitySet, CapabilitySets};

/// Capabilities kept, by number and name (`linux/capability.h`).
pub const KEPT: [(u32, &str); 3] = [(12, "CAP_NET_ADMIN"), (38, "CAP_PERFMON"), (39, "CAP_BPF")];

/// Kept by engines that open sockets on interfaces: `CAP_NET_RAW` to open them, `CAP_IPC_LOCK` for
/// the memory that they share with the kernel.
pub const KEPT_FOR_SOCKETS: [(u32, &str); 2] = [(13, "CAP_NET_RAW"), (14, "CAP_IPC_LOCK")];

/// Reduces the calling thread's capabilities to those of [`KEPT`] that it has, and with `sockets`
/// to those of [`KEPT_FOR_SOCKETS`] too, for good; and the bounding set to the same, if it may.
///
/// # Errors
/// When the kernel refuses.
pub fn reduce(sockets: bool) -> io::Result<()> {
    let more = if sockets { &KEPT_FOR_SOCKETS[..] } else { &[] };
    let wanted = set(KEPT.iter().chain(more));
    if thread::capabilities(None)?
        .effective
        .contains(CapabilitySet::SETPCAP)
    {
        bound(wanted)?;
    }
    keep(wanted)
}

/// Gives up every capability of the calling thread, for good.
///
/// # Errors
/// When the kernel refuses.
pub fn give_up() -> io::Result<()> {
    keep(CapabilitySet::empty())
}

fn set<'a>(rights: impl Iterator<Item = &'a (u32, &'static str)>) -> CapabilitySet {
    let bits = rights.fold(0, |set, (number, _)| set | 1 << number);
    CapabilitySet::from_bits_retain(bits)
}

/// Takes everything else out of the bounding set.
fn bound(wanted: CapabilitySet) -> io::Result<()> {
    for number in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << number);
        match thread::capability_is_in_bounding_set(one) {
            Ok(true) if !wanted.contains(one) => thread::remove_capability_from_bounding_set(one)?,
            Ok(_) => {}
            // This kernel has no more.
            Err(Errno::INVAL) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn keep(wanted: CapabilitySet) -> io::Result<()> {
    let kept = thread::capabilities(None)?.permitted & wanted;
    // No program that this one might start gains rights.
    thread::set_no_new_privs(true)?;
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    Ok(thread::set_capabilities(None, sets)?)
}
