//! What every measuring verb shares: the options for results, and how a failure ends the program.

use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use report::Document;
use serde::Serialize;

/// What a verb's `run` returns: the exit code of a finished run, or why there is none.
pub(crate) type Outcome = Result<ExitCode, Box<dyn Error + Send + Sync>>;

/// Exit code after an error: bad input, a missing right, a failed measurement.
const FAILED: u8 = 1;

/// Options of every command that measures; flatten them into the verb's own arguments.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ResultOptions {
    /// Write the raw result to FILE (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the report as one web page to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Measure less: shorter and fewer trials
    #[arg(long)]
    pub(crate) quick: bool,
    /// Seed of everything random; the result carries it
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

impl ResultOptions {
    /// Prints the report and writes the files asked for.
    pub(crate) fn deliver<T: Serialize + ?Sized>(&self, document: &Document, raw: &T) -> Outcome {
        if self.json.as_deref() != Some(Path::new("-")) {
            print(&report::terminal::render(document))?;
        }
        self.write(document, raw)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Writes the files asked for.
    pub(crate) fn write<T: Serialize + ?Sized>(
        &self,
        document: &Document,
        raw: &T,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        if let Some(path) = &self.json {
            report::json::write(path, raw)?;
        }
        if let Some(path) = &self.html {
            report::html::write(path, document)?;
        }
        Ok(())
    }
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
            ExitCode::from(FAILED)
        }
    }
}
