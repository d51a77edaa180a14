//! What this crate makes of the machine, used as others use it.

mod bed;
mod cores;
mod environment;
mod loops;
mod namespace;
mod napi;
mod offload;
mod partition;
mod pin;
mod pressure;
mod process;
mod settings;
mod temporary;
mod topology;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held by tests that move threads between cores: an isolated core takes no thread of another test.
static CORES: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    CORES.lock().unwrap_or_else(PoisonError::into_inner)
}
