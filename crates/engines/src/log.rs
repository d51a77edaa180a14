//! One line per thing that happened, on standard error, as `key=value` pairs.
//!
//! The control plane logs what an operator would ask about later; nothing on a packet's way logs.
//! It waits for nobody: a line for which there is no room, because nobody reads, is left out, and
//! the next one says how many were.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::Write;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// A pipe that is ready for writing takes so many bytes at once (`PIPE_BUF`).
const LONGEST: usize = 4096;
/// Lines left out since the latest that was written.
static LEFT_OUT: AtomicU64 = AtomicU64::new(0);
/// Lines that are kept for who looks later, and how many bytes of each.
const KEPT: usize = 200;
const KEPT_BYTES: usize = 512;
static RECENT: Mutex<Option<Recent>> = Mutex::new(None);
/// What matters less is not said.
static LEAST: AtomicU8 = AtomicU8::new(Level::Info as u8);

/// How much it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// Each thing that is done.
    Detail,
    /// As it should be.
    Info,
    /// Works, and somebody should look.
    Warning,
    /// Does not work.
    Error,
}

impl Level {
    /// From now on what matters less is not said; before, [`Level::Info`] is the least.
    pub fn set_least(self) {
        LEAST.store(self as u8, Ordering::Relaxed);
    }

    /// Whether lines of this level are written.
    pub fn is_told(self) -> bool {
        self as u8 >= LEAST.load(Ordering::Relaxed)
    }

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Detail => "detail",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// The lines that were written last.
#[derive(Debug, Default)]
struct Recent {
    lines: VecDeque<Said>,
    /// The number of the next line.
    next: u64,
}

/// A line that was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// When, since 1970.
    pub seconds: f64,
    /// How much it matters.
    pub level: Level,
    /// The event and its pairs.
    pub text: String,
}

/// From now on the latest lines are kept for [`since`], in some 100 KiB.
pub fn keep() {
    recent().get_or_insert_default();
}

/// The lines from a number on that are still kept, and the number of the next.
pub fn since(number: u64) -> (Vec<Said>, u64) {
    let recent = recent();
    let Some(recent) = &*recent else {
        return (Vec::new(), 0);
    };
    let first = recent.next - recent.lines.len() as u64;
    let lines = recent.lines.iter();
    let lines = lines.skip(number.saturating_sub(first) as usize).cloned();
    (lines.collect(), recent.next)
}

/// Nobody ends while holding it.
fn recent() -> MutexGuard<'static, Option<Recent>> {
    RECENT.lock().unwrap_or_else(PoisonError::into_inner)
}

fn remember(seconds: f64, level: Level, text: &str) {
    if let Some(recent) = &mut *recent() {
        let text = &text[..text.floor_char_boundary(KEPT_BYTES)];
        let text = text.to_owned();
        recent.lines.push_back(Said {
            seconds,
            level,
            text,
        });
        recent.next += 1;
        if recent.lines.len() > KEPT {
            recent.lines.pop_front();
        }
    }
}

/// Writes one line, if its level is told; values with blanks, quotes or equals signs are quoted.
pub fn write(level: Level, event: &str, pairs: &[(&str, String)]) {
    if !level.is_told() {
        return;
    }
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64());
    let mut text = event.to_owned();
    for (key, value) in pairs {
        // Writing to a string does not fail.
        let _ = write!(text, " {key}={}", quoted(value));
    }
    remember(seconds, level, &text);
    let line = format!("time={seconds:.3} level={} event={text}", level.name());
    put(&mut std::io::stderr(), &LEFT_OUT, line);
}

fn put(out: &mut (impl AsFd + Write), left_out: &AtomicU64, mut line: String) {
    let mut ready = [PollFd::new(&*out, PollFlags::OUT)];
    if poll(&mut ready, Some(&Timespec::default())) == Ok(0) {
        left_out.fetch_add(1, Ordering::Relaxed);
        return;
    }
    let before = left_out.swap(0, Ordering::Relaxed);
    if before > 0 {
        // Writing to a string does not fail.
        let _ = write!(line, " left_out={before}");
    }
    line.truncate(line.floor_char_boundary(LONGEST - 1));
    line.push('\n');
    // Nobody is left to tell when standard error is closed.
    let _ = out.write_all(line.as_bytes());
}

fn quoted(value: &str) -> String {
    let plain = |c: char| !c.is_whitespace() && !c.is_control() && c != '"' && c != '=';
    if !value.is_empty() && value.chars().all(plain) {
        value.to_owned()
    } else {
        format!("{value:?}")
    }
}

/// `log!(Level::Info, "event", key = value, name_of_variable)`.
#[doc(hidden)]
#[macro_export]
macro_rules! log_line {
    ($level:expr, $event:expr $(, $key:ident $(= $value:expr)?)* $(,)?) => {
        $crate::log::write(
            $level,
            $event,
            &[$((stringify!($key), $crate::log_value!($key $(, $value)?))),*],
        )
    };
}

/// The text of a value in [`log!`].
#[doc(hidden)]
#[macro_export]
macro_rules! log_value {
    ($key:ident) => {
        $key.to_string()
    };
    ($key:ident, $value:expr) => {
        $value.to_string()
    };
}

pub use crate::log_line as log;

#[cfg(test)]
#[path = "../tests/unit/log.rs"]
mod tests;
