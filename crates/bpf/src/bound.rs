//! Programs for one device, which the kernel must not move while it loads them.
//!
//! It notes where a bound program is (`__bpf_prog_dev_bound_init` in kernel/bpf/offload.c) before
//! the verifier works on it. A program that grows beyond its pages is moved then
//! (`bpf_prog_realloc` in kernel/bpf/core.c), and one whose constants are hidden
//! (`net.core.bpf_jit_harden`) is replaced by a copy; the note stays. When the device goes, the
//! kernel follows the note and stops, with its lock for links held. So nothing stays bound that was
//! moved, and nothing is bound where it would be.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use crate::assemble::Assembler;
use crate::sys::{self, Hook, Instruction};

/// Bytes of a page, as programs are given.
const PAGE: usize = 4096;
/// What the kernel has in front of a program's instructions (`struct bpf_prog`) is shorter, in bytes.
const FRONT: usize = 256;

/// Why nothing may be bound here, if so. Asks by a small program that is bound to nothing.
///
/// # Errors
/// The kernel's, for that program.
pub(crate) fn forbidden() -> io::Result<Option<&'static str>> {
    let mut assembler = Assembler::default();
    assembler.constant(0, 1);
    let instructions = assembler.finish();
    let (flags, bound) = (0, 0);
    let probe = sys::program_load(
        Hook::Xdp,
        "probe",
        &instructions,
        "GPL",
        flags,
        bound,
        &mut [],
    )?;
    let bytes = sys::program_bytes(probe.as_fd())? as usize;
    let hides = bytes > instructions.len() * size_of::<Instruction>();
    Ok(hides.then_some("the kernel hides constants of programs (net.core.bpf_jit_harden)"))
}

/// So many instructions that the kernel takes out before it enlarges a program, but for the first; none
/// for less than three. They are one piece that is never reached: it takes a piece out in one go, but
/// instructions that do nothing one by one, each time moving all the rest.
pub(crate) fn room(count: usize) -> Vec<Instruction> {
    let Some(over) = count.checked_sub(2).filter(|&over| over > 0) else {
        return Vec::new();
    };
    let mut assembler = Assembler::default();
    assembler.constant(0, 0);
    assembler.if_not_less(0, 0, BEHIND);
    (0..over).for_each(|_| assembler.constant(0, 0));
    assembler.label(BEHIND);
    let mut room = assembler.finish();
    room.truncate(count);
    room
}

/// `room` for `others` instructions, or somewhat more: all end on the same page, whether what stands in
/// front of them counts or not. [`has_grown`] does not know how long that is.
pub(crate) fn beside_an_edge(room: usize, others: usize) -> usize {
    let bytes = (room + others) * size_of::<Instruction>();
    if bytes.next_multiple_of(PAGE) - bytes < FRONT {
        room + FRONT / size_of::<Instruction>()
    } else {
        room
    }
}

/// The label behind that piece.
const BEHIND: &str = "behind";

/// Whether the kernel has given the program more pages than these instructions need, so that it has
/// moved it.
///
/// # Errors
/// When /proc does not say.
pub(crate) fn has_grown(program: BorrowedFd<'_>, instructions: &[Instruction]) -> io::Result<bool> {
    let path = format!("/proc/self/fdinfo/{}", program.as_raw_fd());
    let text = fs::read_to_string(&path)?;
    let memory = text
        .lines()
        .find_map(|line| line.strip_prefix("memlock:")?.trim().parse().ok())
        .ok_or_else(|| io::Error::other(format!("{path} has no number `memlock`")))?;
    // What stands in front of the instructions changes nothing ([`beside_an_edge`]).
    Ok(size_of_val(instructions).div_ceil(PAGE) * PAGE < memory)
}

#[cfg(test)]
#[path = "../tests/unit/bound.rs"]
mod tests;
