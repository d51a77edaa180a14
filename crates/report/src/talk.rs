//! How much a program says beside its results, on standard error: what `-q` and `-v` ask for.
//!
//! The program sets it once, before anything else; until then it is [`Talk::Usual`].

use std::sync::atomic::{AtomicU8, Ordering};

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Talk {
    /// Errors alone.
    Quiet,
    /// Progress where somebody watches, and hints.
    Usual,
    /// Each step in a line of its own, whoever reads.
    Verbose,
}

static NOW: AtomicU8 = AtomicU8::new(Talk::Usual as u8);

impl Talk {
    /// From now on so much.
    pub fn set(self) {
        NOW.store(self as u8, Ordering::Relaxed);
    }

    /// How much is said now.
    pub fn now() -> Self {
        match NOW.load(Ordering::Relaxed) {
            0 => Self::Quiet,
            1 => Self::Usual,
            _ => Self::Verbose,
        }
    }
}

/// Says on standard error what is no result and no error: a hint, or where something was written.
pub fn hint(text: &str) {
    if Talk::now() > Talk::Quiet {
        eprintln!("{text}");
    }
}
