//! The system calls of a running router. The kernel refuses it every other.
//!
//! What is not among [`ALLOWED`] fails with `EPERM`, which the log then has as the reason of
//! whatever failed. What is among [`FATAL`] ends the process with `SIGSYS`: no router has a use for
//! it, so whoever calls it is not the router any more. The kernel forwards from then on, and its
//! log names the call. The filters hold for the calling thread and all that it starts, for good.
//! Calls are told apart by their number alone, so the kernel remembers the answer for each and runs
//! no filter for it.
//!
//! `SystemCallFilter=` of `dist/corelane.service` has the same calls as [`ALLOWED`]; a test
//! compares them. A call that only another C library or kernel needs belongs here too: glibc falls
//! back from newer calls to older ones.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{BpfProgram, Error, SeccompAction, SeccompFilter, TargetArch, apply_filter};

/// A system call by its name in `libc`, which has `SYS_` before that of the kernel, and its number.
pub type Call = (&'static str, c_long);

macro_rules! calls {
    ($($call:ident)*) => {
        &[$((stringify!($call), libc::$call)),*]
    };
}

/// What a router needs from its first instruction to its end, with any engine.
pub const ALLOWED: &[Call] = calls! {
    // Memory.
    SYS_brk SYS_ftruncate SYS_madvise SYS_membarrier SYS_memfd_create SYS_mlock SYS_mmap SYS_mprotect SYS_mremap SYS_munlock
    SYS_munmap
    // Threads, signals, time, the end.
    SYS_clock_getres SYS_clock_gettime SYS_clock_nanosleep SYS_clone SYS_clone3 SYS_exit
    SYS_exit_group SYS_futex SYS_getcpu SYS_gettimeofday SYS_nanosleep SYS_restart_syscall SYS_rseq
    SYS_rt_sigaction SYS_rt_sigprocmask SYS_rt_sigreturn SYS_sched_getaffinity
    SYS_sched_setaffinity SYS_sched_yield SYS_set_robust_list SYS_set_tid_address SYS_sigaltstack
    SYS_tgkill
    // Who and where it is.
    SYS_arch_prctl SYS_capget SYS_capset SYS_getegid SYS_geteuid SYS_getgid SYS_getpid SYS_getppid
    SYS_getrandom SYS_getrlimit SYS_gettid SYS_getuid SYS_prctl SYS_prlimit64 SYS_sysinfo SYS_uname
    // More filters, which can only be stricter.
    SYS_seccomp
    // Files, and the directory of the socket.
    SYS_access SYS_chmod SYS_close SYS_close_range SYS_dup SYS_dup2 SYS_dup3 SYS_faccessat
    SYS_faccessat2 SYS_fchmod SYS_fchmodat SYS_fcntl SYS_fstat SYS_fstatfs SYS_getcwd
    SYS_getdents64 SYS_ioctl SYS_lseek SYS_lstat SYS_mkdir SYS_mkdirat SYS_newfstatat SYS_open
    SYS_openat SYS_pipe2 SYS_pread64 SYS_pwrite64 SYS_read SYS_readlink SYS_readlinkat SYS_readv
    SYS_stat SYS_statfs SYS_statx SYS_unlink SYS_unlinkat SYS_write SYS_writev
    // Sockets.
    SYS_accept SYS_accept4 SYS_bind SYS_connect SYS_epoll_create1 SYS_epoll_ctl SYS_getpeername
    SYS_getsockname SYS_getsockopt SYS_listen SYS_poll SYS_ppoll SYS_recvfrom SYS_recvmmsg SYS_recvmsg SYS_sendmmsg SYS_sendmsg
    SYS_sendto SYS_setsockopt SYS_shutdown SYS_socket SYS_socketpair
    // Programs in the kernel.
    SYS_bpf
};

/// What ends the process: other programs, other processes, other namespaces, the kernel itself.
pub const FATAL: &[Call] = calls! {
    SYS_execve SYS_execveat SYS_ptrace SYS_process_vm_readv SYS_process_vm_writev SYS_setns
    SYS_unshare SYS_chroot SYS_pivot_root SYS_mount SYS_umount2 SYS_init_module SYS_finit_module
    SYS_delete_module SYS_kexec_load SYS_kexec_file_load SYS_reboot
};

/// Leaves the calling thread, and what it starts from now on, only these calls.
///
/// # Errors
/// When the kernel has no filters for system calls (`CONFIG_SECCOMP_FILTER`) or refuses them.
pub fn restrict() -> Result<(), Error> {
    // The kernel takes the strictest answer of all filters.
    apply_filter(&filter(
        FATAL,
        SeccompAction::Allow,
        SeccompAction::KillProcess,
    )?)?;
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    apply_filter(&filter(ALLOWED, refused, SeccompAction::Allow)?)
}

fn filter(
    calls: &[Call],
    others: SeccompAction,
    these: SeccompAction,
) -> Result<BpfProgram, Error> {
    let numbers: BTreeMap<_, _> = calls.iter().map(|(_, call)| (*call, Vec::new())).collect();
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    Ok(SeccompFilter::new(numbers, others, these, arch)?.try_into()?)
}
