//! Ctrl-C without leftovers: the signal sets a flag, loops poll it and return, guards run as on any
//! other way out.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Once};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};

/// Exit code after a second Ctrl-C, as shells count it: 128 + SIGINT.
const EXIT_AFTER_SECOND: i32 = 130;

static FLAG: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
static INSTALLED: Once = Once::new();

/// The work was stopped by a signal; what had been set up has been removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("interrupted; everything that was set up has been removed")]
pub struct Interrupted;

/// Makes SIGINT, SIGTERM and SIGHUP set the flag that [`interrupted`] reads; a second signal ends
/// the process at once.
///
/// Calling it again does nothing.
///
/// # Errors
/// When a handler cannot be installed.
pub fn on_signal() -> io::Result<()> {
    let mut result = Ok(());
    INSTALLED.call_once(|| {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // The order matters: the first handler ends the process if the flag is set already, the
            // second sets it.
            let flag = || Arc::clone(&FLAG);
            result = register_conditional_shutdown(signal, EXIT_AFTER_SECOND, flag())
                .and_then(|_| register(signal, flag()))
                .map(drop);
            if result.is_err() {
                break;
            }
        }
    });
    result
}

/// Whether a signal has asked this process to end. One relaxed load: cheap enough for every burst.
pub fn interrupted() -> bool {
    FLAG.load(Ordering::Relaxed)
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
