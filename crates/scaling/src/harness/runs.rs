//! Runs of a job at one setting, one after another: the ground made ready before each, and a run
//! that does not succeed turned into words that name the setting, the way it ended and the remedy.

use std::time::Duration;

use host::cores::CoreId;
use thiserror::Error;

use super::keeper::{Exit, Keeper, KeeperError, Outcome, Spec};
use super::plan::{BadArgument, Job, Mode, Placement, Setting};
use super::watch::{Watched, watch};

/// Why there is no measurement.
#[derive(Debug, Error)]
pub enum SweepError {
    /// The command failed.
    #[error("{what}{}", tail(.printed))]
    Command {
        /// Which run, how it ended, what to do.
        what: String,
        /// What the command printed last.
        printed: String,
    },
    /// The harness failed.
    #[error(transparent)]
    Keeper(#[from] KeeperError),
    /// The command cannot be passed on.
    #[error(transparent)]
    Argument(#[from] BadArgument),
}

fn tail(printed: &str) -> String {
    if printed.is_empty() {
        String::new()
    } else {
        format!("; it printed:\n{printed}")
    }
}

/// A job at a setting, ready to run.
pub struct Runs<'a> {
    job: &'a Job,
    setting: Setting,
    keeper: Keeper,
}

impl<'a> Runs<'a> {
    /// Starts the keeper of `job` at `setting`.
    ///
    /// # Errors
    /// When the keeper cannot be started, or an argument cannot be passed on.
    pub fn start(job: &'a Job, setting: Setting) -> Result<Self, SweepError> {
        Self::of(job, setting, &job.spec(setting)?)
    }

    /// The same for a trial: what the command prints is read, and events are counted.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn trial(job: &'a Job, setting: Setting) -> Result<Self, SweepError> {
        let mut spec = job.spec(setting)?;
        spec.capture = true;
        spec.count_events = true;
        Self::of(job, setting, &spec)
    }

    /// The job as `setting` has it, but with everything on `core`.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn confined(job: &'a Job, setting: Setting, core: CoreId) -> Result<Self, SweepError> {
        let mut spec = job.spec(setting)?;
        for copy in &mut spec.copies {
            *copy = Some(vec![core.0]);
        }
        spec.timeout *= setting.cores;
        Self::of(job, setting, &spec)
    }

    fn of(job: &'a Job, setting: Setting, spec: &Spec) -> Result<Self, SweepError> {
        Ok(Self {
            job,
            setting,
            keeper: Keeper::start(spec)?,
        })
    }

    /// Makes the ground ready, with the same care as the command itself; [`Self::run`] and
    /// [`Self::watch`] do that themselves.
    ///
    /// # Errors
    /// When the preparing command does not succeed.
    pub fn prepare(&self) -> Result<(), SweepError> {
        let Some(command) = &self.job.prepare else {
            return Ok(());
        };
        let ready = Job {
            command: command.clone(),
            mode: Mode::Copies,
            timeout: Duration::from_mins(10),
            progress: None,
            prepare: None,
            ..self.job.clone()
        };
        Runs::trial(&ready, Placement::Free.on(1))?.run_prepared()?;
        Ok(())
    }

    /// Runs the command once.
    ///
    /// # Errors
    /// When it does not succeed, and when interrupted.
    pub fn run(&mut self) -> Result<Outcome, SweepError> {
        self.prepare()?;
        self.run_prepared()
    }

    /// The same on ground that is ready.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_prepared(&mut self) -> Result<Outcome, SweepError> {
        let outcome = self.keeper.run()?;
        self.succeeded(&outcome)?;
        Ok(outcome)
    }

    /// Runs the command once and watches its tasks.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn watch(&mut self) -> Result<(Outcome, Watched), SweepError> {
        self.prepare()?;
        let (outcome, watched) = watch(&mut self.keeper)?;
        self.succeeded(&outcome)?;
        Ok((outcome, watched))
    }

    fn succeeded(&self, outcome: &Outcome) -> Result<(), SweepError> {
        let program = self.job.command.first().map_or("", String::as_str);
        let cores = self.setting.cores;
        let place = format!(" on {cores} core{}", if cores == 1 { "" } else { "s" });
        succeeded(program, &place, self.job.timeout, outcome)
    }

    /// The process that is an ancestor of everything the command starts.
    pub fn pid(&self) -> i32 {
        self.keeper.pid()
    }

    /// The setting.
    pub const fn setting(&self) -> Setting {
        self.setting
    }
}

/// Turns a run of `program` in `place` that did not succeed into an error.
pub(super) fn succeeded(
    program: &str,
    place: &str,
    timeout: Duration,
    outcome: &Outcome,
) -> Result<(), SweepError> {
    let printed = last_lines(&outcome.tail);
    let what = match outcome.exit {
        Exit::Success => return Ok(()),
        Exit::NotStarted(libc::ENOENT) => {
            format!("{program} is not installed or not in PATH; install it or give its full path")
        }
        Exit::NotStarted(number) => {
            format!(
                "{program} cannot be started: {}",
                std::io::Error::from_raw_os_error(number)
            )
        }
        Exit::TimedOut => format!(
            "{program}{place} did not end within {:.0} s and was ended with all it started; raise \
             --timeout if it needs longer",
            timeout.as_secs_f64()
        ),
        Exit::Signal(number) => format!("{program}{place} was ended by signal {number}"),
        Exit::Code(code) if wants_terminal(&printed) => format!(
            "{program}{place} returned {code}; it seems to want a terminal, and has none here \
             (input is empty): use an option that runs it unattended"
        ),
        Exit::Code(code) => {
            format!("{program}{place} returned {code}; a command that fails cannot be measured")
        }
    };
    Err(SweepError::Command { what, printed })
}

fn wants_terminal(printed: &str) -> bool {
    let text = printed.to_lowercase();
    ["tty", "terminal", "inappropriate ioctl", "standard input"]
        .iter()
        .any(|word| text.contains(word))
}

/// The last lines of what a command printed.
pub fn last_lines(tail: &[u8]) -> String {
    let text = String::from_utf8_lossy(&tail[tail.len().saturating_sub(2000)..]);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(5)..].join("\n")
}

#[cfg(test)]
#[path = "../../tests/unit/runs.rs"]
mod tests;
