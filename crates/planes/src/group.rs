//! Processes that we start: each leads a group of its own, and none outlives us.
//!
//! A group is killed as a whole, so that nothing that its leader started stays. When we are killed
//! ourselves and can drop nothing, the kernel kills the leader (`PR_SET_PDEATHSIG`, prctl(2)); what
//! it had started is then found by its group.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Has `command` lead a process group and end with the thread that starts it, however that ends.
pub(crate) fn own_group(command: &mut Command) -> &mut Command {
    let parent = std::process::id();
    let end_with_parent = move || {
        // SAFETY: prctl and getppid take numbers only, and both may be called between fork and exec
        // (signal-safety(7)).
        let parent_lives = unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == 0
                && u32::try_from(libc::getppid()) == Ok(parent)
        };
        if parent_lives {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    };
    // SAFETY: the closure neither allocates nor locks; see above.
    unsafe { command.process_group(0).pre_exec(end_with_parent) }
}

/// Kills a process and minds no error: it may be gone.
pub(crate) fn kill(process: u32) {
    if let Ok(process) = libc::pid_t::try_from(process) {
        // SAFETY: kill takes numbers only; a process that is gone is an error we do not mind.
        unsafe { libc::kill(process, libc::SIGKILL) };
    }
}

/// Kills a process group and minds no error: it may be gone.
pub(crate) fn kill_group(leader: u32) {
    if let Ok(leader) = libc::pid_t::try_from(leader) {
        // SAFETY: kill takes numbers only; a group that is gone is an error we do not mind.
        unsafe { libc::kill(-leader, libc::SIGKILL) };
    }
}
