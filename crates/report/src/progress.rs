//! One line of progress on a terminal, and nothing at all when the output is a pipe or a file; a
//! line for each step where [`Talk::Verbose`] asks for more.

use std::io::{self, IsTerminal, Write};

use crate::Talk;

/// Columns that the line may fill before it is cut: narrower than any terminal in use.
const WIDTH: usize = 76;

/// A line on standard error that is rewritten at every step and cleared when dropped.
///
/// Silent unless standard error is a terminal and `TERM` is not `dumb`. [`Talk::Quiet`] is silent
/// everywhere; [`Talk::Verbose`] writes a line for each step, and rewrites none. It takes no clock:
/// call it at the pace of the work.
#[derive(Debug)]
pub struct Progress {
    total: usize,
    done: usize,
    shown: Shown,
}

/// How steps are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Not,
    Rewritten,
    Lines,
}

impl Progress {
    /// Progress over `total` steps; 0 when the number is not known.
    pub fn new(total: usize) -> Self {
        let capable = || std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let shown = match Talk::now() {
            Talk::Verbose => Shown::Lines,
            Talk::Usual if capable() && io::stderr().is_terminal() => Shown::Rewritten,
            Talk::Usual | Talk::Quiet => Shown::Not,
        };
        Self {
            total,
            done: 0,
            shown,
        }
    }

    /// Begins the next step and says what it is.
    pub fn step(&mut self, what: &str) {
        self.done += 1;
        self.note(what);
    }

    /// Replaces the words without counting a step.
    pub fn note(&self, what: &str) {
        let line = line(self.done, self.total, what);
        // A terminal that has gone away is no reason to stop the measurement.
        let _ = match self.shown {
            Shown::Not => Ok(()),
            Shown::Rewritten => write!(io::stderr(), "\r\x1b[2K{line}"),
            Shown::Lines => writeln!(io::stderr(), "{line}"),
        };
        let _ = io::stderr().flush();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown == Shown::Rewritten {
            let _ = write!(io::stderr(), "\r\x1b[2K");
            let _ = io::stderr().flush();
        }
    }
}

/// Whether colour may be used on standard output: a terminal, and the reader has not set
/// `NO_COLOR`.
pub fn colour_allowed() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn line(done: usize, total: usize, what: &str) -> String {
    let text = if total == 0 {
        format!("{done}  {what}")
    } else {
        format!("{done}/{total}  {what}")
    };
    text.chars().take(WIDTH).collect()
}

#[cfg(test)]
#[path = "../tests/unit/progress.rs"]
mod tests;
