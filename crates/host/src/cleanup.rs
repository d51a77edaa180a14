//! Ctrl-C without leftovers: the signal sets a flag, loops poll it and return, guards run as on any
//! other way out.

use std::io;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{exit, register};

use crate::clock::now_ns;

/// Exit code after a second Ctrl-C, as shells count it: 128 + SIGINT.
const EXIT_AFTER_SECOND: i32 = 130;
/// So many ms after the first, the same signal asks for nothing new: `timeout` sends its signal to
/// its child, and at once to the group of which the child is one.
const SAME_REQUEST: u64 = 1000;

/// The first signal, as [`request`] writes it; 0 before.
static FIRST: AtomicU64 = AtomicU64::new(0);
static INSTALLED: Once = Once::new();

/// The work was stopped by a signal; what had been set up has been removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("interrupted; everything that was set up has been removed")]
pub struct Interrupted;

/// Makes SIGINT, SIGTERM and SIGHUP set the flag that [`interrupted`] reads. A second signal ends
/// the process at once, unless it is the same within a second.
///
/// Calling it again does nothing.
///
/// # Errors
/// When a handler cannot be installed.
pub fn on_signal() -> io::Result<()> {
    let mut result = Ok(());
    INSTALLED.call_once(|| {
        result = [SIGINT, SIGTERM, SIGHUP]
            .into_iter()
            .try_for_each(|signal| {
                // SAFETY: `heard` reads the clock, changes an atomic and calls `_exit`: a handler
                // may do all of that.
                unsafe { register(signal, move || heard(signal)) }.map(drop)
            });
    });
    result
}

/// Takes down the first signal; ends the process on another.
fn heard(signal: i32) {
    let now = request(signal, now_ns() / 1_000_000);
    let first = FIRST.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
    if first.is_err_and(|first| is_another(first, now)) {
        exit(EXIT_AFTER_SECOND);
    }
}

/// A signal and the ms of the monotonic clock when it came, in one number: a handler has no lock.
fn request(signal: i32, milliseconds: u64) -> u64 {
    milliseconds << 8 | u64::from(signal.unsigned_abs())
}

/// Whether `now` asks for more than `first`.
fn is_another(first: u64, now: u64) -> bool {
    let (waited, differ) = ((now >> 8).saturating_sub(first >> 8), now ^ first);
    differ & 0xFF != 0 || waited > SAME_REQUEST
}

/// Whether a signal has asked this process to end. One relaxed load: cheap enough for every burst.
pub fn interrupted() -> bool {
    FIRST.load(Ordering::Relaxed) != 0
}

/// [`Interrupted`] once a signal has come, for use with `?` in loops.
///
/// # Errors
/// When a signal has come.
pub fn check() -> Result<(), Interrupted> {
    if interrupted() {
        Err(Interrupted)
    } else {
        Ok(())
    }
}
