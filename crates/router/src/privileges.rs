//! Gives up every right that a running router does not need.
//!
//! Kept are [`KEPT`]: `CAP_NET_ADMIN` for neighbours, for links to programs and for looking at
//! rules, `CAP_BPF` and `CAP_PERFMON` for loading the program again for an interface that came back
//! or was added. Engines with sockets keep [`KEPT_FOR_SOCKETS`] too, to open them again. The
//! threads that are started afterwards inherit the reduced set; workers, whose sockets are open,
//! give up everything ([`give_up`]).

use std::io;

/// Capabilities kept, by number and name (`linux/capability.h`).
pub const KEPT: [(u32, &str); 3] = [(12, "CAP_NET_ADMIN"), (38, "CAP_PERFMON"), (39, "CAP_BPF")];

/// Kept by engines that open sockets on interfaces: `CAP_NET_RAW` to open them, `CAP_IPC_LOCK` for
/// the memory that they share with the kernel.
pub const KEPT_FOR_SOCKETS: [(u32, &str); 2] = [(13, "CAP_NET_RAW"), (14, "CAP_IPC_LOCK")];

const VERSION_3: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Sets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

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
    let mut header = Header {
        version: VERSION_3,
        pid: 0,
    };
    let mut sets = [Sets::default(); 2];
    // SAFETY: version 3 reads a header and writes two sets, which is what the pointers are to.
    let read = unsafe { libc::syscall(libc::SYS_capget, &raw mut header, sets.as_mut_ptr()) };
    if read != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut kept = [Sets::default(); 2];
    for &(number, _) in wanted {
        let (word, bit) = ((number / 32) as usize, 1 << (number % 32));
        let held = sets[word].permitted & bit;
        kept[word].permitted |= held;
        kept[word].effective |= held;
    }
    // SAFETY: no pointers; from here on no program that this one might start gains rights.
    let frozen = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: version 3 reads a header and two sets, which is what the pointers are to.
    let set = unsafe { libc::syscall(libc::SYS_capset, &raw const header, kept.as_ptr()) };
    if frozen != 0 || set != 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
