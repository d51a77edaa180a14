//! What verbs share: the options for results, and how the program ends.
//!
//! # Exit codes
//! 0: it went well, and the answer is yes. 1: it failed. 2: the command line is wrong. 3: the answer
//! is no (different, unmet, missed, slower, not ready, something left to change). 4: it cannot be
//! told. 130: interrupted. A reader that has
//! read enough is no error.

use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use host::cleanup::{self, Interrupted};
use report::Document;
use router::log::Level;
use serde::Serialize;

/// What a verb's `run` returns: the exit code of a finished run, or why there is none.
pub(crate) type Outcome = Result<ExitCode, Box<dyn Error + Send + Sync>>;

/// Exit code after an error: a missing right, a file that cannot be read, a failed measurement.
const FAILED: u8 = 1;
/// Exit code when the answer is no.
const NO: u8 = 3;
/// Exit code of a run that a signal ended.
const INTERRUPTED: u8 = 130;

/// The exit code of an answer.
pub(crate) fn answer(yes: bool) -> ExitCode {
    if host::interrupted() {
        ExitCode::from(INTERRUPTED)
    } else {
        ExitCode::from(if yes { 0 } else { NO })
    }
}

/// Where a verb's help has the options of every verb: below its own.
const LAST: usize = 900;

/// How much is said beside the result: options of every verb.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Talk {
    /// Say errors alone: no progress, no hints
    #[arg(short, long, global = true, conflicts_with = "verbose", display_order = LAST)]
    quiet: bool,
    /// Say each step that is done
    #[arg(short, long, global = true, display_order = LAST)]
    verbose: bool,
}

impl Talk {
    /// From now on so much is said.
    pub(crate) fn set(&self) {
        let (talk, log) = match (self.quiet, self.verbose) {
            (true, _) => (report::Talk::Quiet, Level::Warning),
            (_, true) => (report::Talk::Verbose, Level::Detail),
            _ => (report::Talk::Usual, Level::Info),
        };
        talk.set();
        log.set_least();
    }
}

/// Where the raw result goes; flatten it into the arguments of a verb.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Json {
    /// Write the raw result to FILE; without FILE to standard output, and nothing else there
    #[arg(long = "json", value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    file: Option<PathBuf>,
}

impl Json {
    /// The file that was named.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Whether standard output is for the raw result alone.
    pub(crate) fn is_alone(&self) -> bool {
        self.file() == Some(Path::new("-"))
    }

    /// Prints for people, unless standard output is for the raw result, and writes that.
    pub(crate) fn deliver<T: Serialize + ?Sized>(
        &self,
        text: &str,
        raw: &T,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        if !self.is_alone() {
            print(text)?;
        }
        self.write(raw)
    }

    /// Writes the raw result, if anybody wants it.
    pub(crate) fn write<T: Serialize + ?Sized>(
        &self,
        raw: &T,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        if let Some(path) = self.file() {
            report::json::write(path, raw)?;
        }
        Ok(())
    }
}

/// Where a result and its report go; flatten it into the arguments of a verb.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Written {
    #[command(flatten)]
    pub(crate) json: Json,
    /// Write the report as one web page to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// Options of every command that measures; flatten them into the verb's own arguments.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ResultOptions {
    #[command(flatten)]
    pub(crate) written: Written,
    /// Measure less: shorter and fewer trials
    #[arg(long)]
    pub(crate) quick: bool,
    /// Seed of everything random; the result carries it
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

/// A result of earlier that is shown again; flatten it into a verb's `report`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Stored {
    /// What --json wrote
    #[arg(value_name = "FILE")]
    pub(crate) stored: PathBuf,
    #[command(flatten)]
    pub(crate) written: Written,
}

impl Written {
    /// Prints the report and writes the files asked for.
    pub(crate) fn deliver<T: Serialize + ?Sized>(&self, document: &Document, raw: &T) -> Outcome {
        self.json
            .deliver(&report::terminal::render(document), raw)?;
        self.write_page(document)?;
        Ok(answer(true))
    }

    /// Writes the files asked for.
    pub(crate) fn write<T: Serialize + ?Sized>(
        &self,
        document: &Document,
        raw: &T,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.json.write(raw)?;
        self.write_page(document)
    }

    fn write_page(&self, document: &Document) -> Result<(), Box<dyn Error + Send + Sync>> {
        if let Some(path) = &self.html {
            report::html::write(path, document)?;
        }
        Ok(())
    }
}

/// Does `work`, which leaves nothing outside this process, and forgets it when a signal comes: for
/// what takes long and cannot look for signals itself.
///
/// # Errors
/// [`Interrupted`] as soon as a signal has come.
pub(crate) fn unless_interrupted<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Box<dyn Error + Send + Sync>> {
    const LOOK: Duration = Duration::from_millis(20);
    cleanup::on_signal()?;
    let (done, result) = channel();
    let worker = thread::spawn(move || {
        // Nobody hears it after a signal.
        let _ = done.send(work());
    });
    loop {
        cleanup::check()?;
        match result.recv_timeout(LOOK) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let panic = worker.join().err();
    std::panic::resume_unwind(panic.unwrap_or_else(|| Box::new("it said nothing")))
}

/// Prints to standard output; a reader that has read enough (`| head`) is no error.
pub(crate) fn print(text: &str) -> io::Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}

/// Ends the program: prints an error with its causes to standard error.
pub(crate) fn exit_code(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("corelane: {error}");
            let mut cause = error.source();
            while let Some(reason) = cause {
                eprintln!("  because: {reason}");
                cause = reason.source();
            }
            // Whatever else an interrupted measurement says of its end.
            ExitCode::from(if error.is::<Interrupted>() || host::interrupted() {
                INTERRUPTED
            } else {
                FAILED
            })
        }
    }
}
