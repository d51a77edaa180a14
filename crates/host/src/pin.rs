//! Pinning: a thread stays on one core while the guard lives.

use std::io;
use std::marker::PhantomData;

use rustix::thread::CpuSet;

use crate::cores::{CoreId, allowed_cores, bind, write_list};

/// A thread could not be pinned.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot pin to core {core}: {source}; choose among the cores that this process may use \
     ({allowed})"
)]
pub struct PinError {
    /// The core that was asked for.
    pub core: CoreId,
    /// The cores that are allowed, as the kernel writes them.
    pub allowed: String,
    /// What the kernel said.
    pub source: io::Error,
}

/// Keeps the thread that made it on one core; dropping it gives the thread its former cores back.
///
/// It cannot be sent to another thread, for it speaks of this one.
#[derive(Debug)]
pub struct Pinned {
    core: CoreId,
    before: Vec<CoreId>,
    of_this_thread: PhantomData<*const ()>,
}

impl Pinned {
    /// Pins the calling thread to `core`.
    ///
    /// # Errors
    /// When `core` is not online or not allowed to this process.
    pub fn to(core: CoreId) -> Result<Self, PinError> {
        let before = allowed_cores().unwrap_or_default();
        match bind(0, &[core]) {
            Ok(()) => Ok(Self {
                core,
                before,
                of_this_thread: PhantomData,
            }),
            Err(source) => Err(PinError {
                core,
                allowed: write_list(&before),
                source,
            }),
        }
    }

    /// The core.
    pub fn core(&self) -> CoreId {
        self.core
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // Who had every core of its cpuset is left without a bound of its own: the kernel keeps
        // such a bound when the cpuset grows again (`user_cpus_ptr` in kernel/sched/core.c).
        let every: Vec<CoreId> = (0..CpuSet::MAX_CPU as u32).map(CoreId).collect();
        let unbound = bind(0, &every).and_then(|()| allowed_cores());
        if unbound.is_ok_and(|cores| cores == self.before) {
            return;
        }
        // If the cores have meanwhile been taken from us, staying pinned harms nobody.
        let _ = bind(0, &self.before);
    }
}
