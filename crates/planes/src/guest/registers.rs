//! Processors whose registers User Mode Linux has no room for.
//!
//! It sets its processes' registers by ptrace, and the host takes a processor's extended state
//! whole or not at all (`xstateregs_set`, `arch/x86/kernel/fpu/regset.c`). Linux 6.1 keeps 2,696
//! bytes of it for each task; with AMX there are 11,008, and its first process dies ("ptrace set fp
//! regs failed, errno = 14"). A kernel that is refused the extended state when it looks for it at
//! its start uses the older call instead, which is for the registers up to SSE. So that is what a
//! filter of system calls refuses here.
//!
//! # What it cannot do
//! The upper halves of vector registers are then zero after a page fault (a test of 200 faults with
//! one register: the first one), so a program that uses AVX goes wrong in such a guest: Debian's
//! static busybox dies, and glibc's `printf` skips. Our agent is built for SSE2 but for the table's
//! search, which does without there ([`are_lost`]).

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use agent::registers::are_lost;
use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, sock_filter, sock_fprog};

/// Where `seccomp_data` has the system call's number, and its first argument's lower half.
const NUMBER: u32 = 0;
const FIRST_ARGUMENT: u32 = 16;
/// `PTRACE_GETREGSET` and `PTRACE_SETREGSET` (Linux, `include/uapi/linux/ptrace.h`).
const REGISTER_SETS: [u32; 2] = [0x4204, 0x4205];

const fn load(from: u32) -> sock_filter {
    instruction(BPF_LD | BPF_W | BPF_ABS, 0, 0, from)
}

/// Skips so many instructions if what was loaded is `value`, else so many.
const fn skip(value: u32, equal: u8, different: u8) -> sock_filter {
    instruction(BPF_JMP | BPF_JEQ | BPF_K, equal, different, value)
}

const fn end(verdict: u32) -> sock_filter {
    instruction(BPF_RET | BPF_K, 0, 0, verdict)
}

const fn instruction(code: u32, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    }
}

/// Refuses ptrace's calls for sets of registers, and nothing else.
static FILTER: [sock_filter; 7] = [
    load(NUMBER),
    skip(libc::SYS_ptrace as u32, 0, 3),
    load(FIRST_ARGUMENT),
    skip(REGISTER_SETS[0], 2, 0),
    skip(REGISTER_SETS[1], 1, 0),
    end(libc::SECCOMP_RET_ALLOW),
    end(libc::SECCOMP_RET_ERRNO | libc::EIO as u32),
];

/// Has the User Mode Linux that `command` starts do with the registers that it has room for.
pub(super) fn fit(command: &mut Command) {
    if !are_lost() {
        return;
    }
    let refuse = || {
        let program = sock_fprog {
            len: FILTER.len() as u16,
            filter: FILTER.as_ptr().cast_mut(),
        };
        // SAFETY: the program is static and only read; prctl may be called between fork and exec
        // (signal-safety(7)).
        let done = unsafe {
            libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            )
        };
        if done == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    };
    // SAFETY: the closure neither allocates nor locks; see above.
    unsafe { command.pre_exec(refuse) };
}
