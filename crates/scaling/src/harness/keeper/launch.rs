//! The command as the keeper needs it: pointers, masks and attributes laid out before the fork.

use std::cell::Cell;
use std::ffi::CString;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;
use std::{io, ptr};

use libc::{c_char, c_int, pid_t};
use rustix::thread::{CpuSet, sched_getaffinity};

use super::Spec;

/// Everything that the keeper needs, laid out before the fork.
pub(super) struct Launch {
    pub(super) argv: Vec<*mut c_char>,
    pub(super) envp: Vec<*mut c_char>,
    pub(super) masks: Vec<Option<CpuSet>>,
    pub(super) home: CpuSet,
    pub(super) pids: Vec<Cell<pid_t>>,
    pub(super) timeout: Duration,
    pub(super) count_events: bool,
    pub(super) repeat: bool,
    pub(super) actions: libc::posix_spawn_file_actions_t,
    pub(super) attributes: libc::posix_spawnattr_t,
    // The strings behind the pointers of argv and envp.
    _strings: (Vec<CString>, Vec<CString>),
}

impl Launch {
    pub(super) fn prepare(spec: &Spec, null: &File, output: Option<&OwnedFd>) -> io::Result<Self> {
        let strings = (spec.argv.clone(), spec.env.clone());
        let pointers = |list: &[CString]| -> Vec<*mut c_char> {
            list.iter()
                .map(|s| s.as_ptr().cast_mut())
                .chain([ptr::null_mut()])
                .collect()
        };
        let output = output.map_or(null.as_raw_fd(), AsRawFd::as_raw_fd);
        // SAFETY: both objects are initialised by their init functions before use, and live in the
        // result; the descriptors are open now and stay open until after the fork, when the
        // keeper has its own.
        let (actions, attributes) = unsafe {
            let mut actions = MaybeUninit::uninit();
            check(libc::posix_spawn_file_actions_init(actions.as_mut_ptr()))?;
            let mut actions = actions.assume_init();
            for (from, to) in [(null.as_raw_fd(), 0), (output, 1), (output, 2)] {
                check(libc::posix_spawn_file_actions_adddup2(
                    &raw mut actions,
                    from,
                    to,
                ))?;
            }
            let mut attributes = MaybeUninit::uninit();
            check(libc::posix_spawnattr_init(attributes.as_mut_ptr()))?;
            let mut attributes = attributes.assume_init();
            let mut none = MaybeUninit::uninit();
            libc::sigemptyset(none.as_mut_ptr());
            let mut all = MaybeUninit::uninit();
            libc::sigfillset(all.as_mut_ptr());
            check(libc::posix_spawnattr_setsigmask(
                &raw mut attributes,
                none.as_ptr(),
            ))?;
            check(libc::posix_spawnattr_setsigdefault(
                &raw mut attributes,
                all.as_ptr(),
            ))?;
            check(libc::posix_spawnattr_setpgroup(&raw mut attributes, 0))?;
            let flags = libc::POSIX_SPAWN_SETSIGMASK
                | libc::POSIX_SPAWN_SETSIGDEF
                | libc::POSIX_SPAWN_SETPGROUP;
            check(libc::posix_spawnattr_setflags(
                &raw mut attributes,
                flags as libc::c_short,
            ))?;
            (actions, attributes)
        };
        Ok(Self {
            argv: pointers(&strings.0),
            envp: pointers(&strings.1),
            masks: spec
                .copies
                .iter()
                .map(|cores| cores.as_deref().map(mask_of))
                .collect(),
            home: sched_getaffinity(None)?,
            pids: spec.copies.iter().map(|_| Cell::new(0)).collect(),
            timeout: spec.timeout,
            count_events: spec.count_events,
            repeat: spec.repeat,
            actions,
            attributes,
            _strings: strings,
        })
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        // SAFETY: both were initialised in `prepare` and are not used again.
        unsafe {
            libc::posix_spawn_file_actions_destroy(&raw mut self.actions);
            libc::posix_spawnattr_destroy(&raw mut self.attributes);
        }
    }
}

fn check(error: c_int) -> io::Result<()> {
    if error == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(error))
    }
}

fn mask_of(cores: &[u32]) -> CpuSet {
    let mut set = CpuSet::new();
    for &core in cores {
        set.set(core as usize);
    }
    set
}
