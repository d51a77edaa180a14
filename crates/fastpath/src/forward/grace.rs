//! Grace periods: when may memory that a program could still be reading be used again?
//!
//! A program runs inside a read-side section of the kernel's RCU. The kernel promises, for an
//! update of a map of maps, that it returns only when every program that could have seen the old
//! inner map has ended (`maybe_wait_bpf_programs` in `kernel/bpf/syscall.c`): it waits for a whole
//! RCU grace period. So a map of maps that nobody uses, updated with what it holds already, waits
//! for all programs that were running when the update began, ours among them.
//!
//! That takes some ten milliseconds, so a thread does it: [`Grace::request`] asks,
//! [`Grace::completed`] tells.

use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use bpf::map::Map;
use bpf::sys::{self, MapDefinition};

use crate::{Error, Result};

#[derive(Debug, Default)]
struct Progress {
    requested: u64,
    completed: u64,
    stop: bool,
    failure: Option<String>,
}

#[derive(Debug, Default)]
struct Shared {
    progress: Mutex<Progress>,
    changed: Condvar,
}

/// Waits for running programs to end, in a thread of its own.
#[derive(Debug)]
pub(super) struct Grace {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Grace {
    /// Creates the map and starts the thread.
    pub(super) fn start() -> Result<Self> {
        let of_one = |name: &str, kind| MapDefinition {
            name: name.to_owned(),
            kind,
            key_size: 4,
            value_size: 4,
            entries: 1,
            ..MapDefinition::default()
        };
        let inner = Map::create(of_one("grace_inner", sys::TYPE_ARRAY), None)?;
        let failed = |error| bpf::Error::CreateMap {
            map: "grace".to_owned(),
            bytes: 4,
            error,
        };
        let outer = of_one("grace", sys::TYPE_ARRAY_OF_MAPS);
        let outer = sys::map_create(&outer, Some(inner.as_fd()), None).map_err(failed)?;
        let shared = Arc::new(Shared::default());
        let seen = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("grace".to_owned())
            .spawn(move || {
                let inner_number = inner.as_fd().as_raw_fd().to_ne_bytes();
                wait_for_requests(&seen, || {
                    sys::map_update(outer.as_fd(), &0_u32.to_ne_bytes(), &inner_number)
                        .map_err(|error| error.to_string())
                });
            })
            .map_err(failed)?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Asks for a grace period that begins after this call; `epoch` grows from call to call.
    pub(super) fn request(&self, epoch: u64) {
        self.lock().requested = epoch;
        self.shared.changed.notify_all();
    }

    /// The largest epoch whose grace period is over.
    pub(super) fn completed(&self) -> u64 {
        self.lock().completed
    }

    /// Waits until `epoch` is over; an error when the kernel refuses to wait for us.
    pub(super) fn wait(&self, epoch: u64) -> Result<()> {
        let mut progress = self.lock();
        while progress.completed < epoch {
            if let Some(failure) = &progress.failure {
                return Err(Error::Full(format!(
                    "memory cannot be reused, because waiting for running programs failed: \
                     {failure}"
                )));
            }
            progress = self
                .shared
                .changed
                .wait(progress)
                .unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Progress> {
        self.shared
            .progress
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread: one kernel wait for all requests that have come in meanwhile.
fn wait_for_requests(shared: &Shared, wait_for_programs: impl Fn() -> Result<(), String>) {
    let lock = || {
        shared
            .progress
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    };
    loop {
        let mut progress = lock();
        while progress.requested == progress.completed && !progress.stop {
            progress = shared
                .changed
                .wait(progress)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if progress.stop {
            return;
        }
        let epoch = progress.requested;
        drop(progress);
        let outcome = wait_for_programs();
        let mut progress = lock();
        match outcome {
            Ok(()) => progress.completed = epoch,
            Err(error) => {
                // Memory is no longer reused; forwarding goes on until it is full.
                progress.failure = Some(error);
                progress.stop = true;
            }
        }
        shared.changed.notify_all();
    }
}

impl Drop for Grace {
    fn drop(&mut self) {
        self.lock().stop = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}
