//! `corelane trace export`: the trace for other tools.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use tracer::Trace;
use tracer::analyse::Analysis;

use crate::common::Outcome;

/// Write a trace for Perfetto, or as lines of text
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The trace
    #[arg(value_name = "FILE")]
    trace: PathBuf,
    /// Write Perfetto's format to FILE (open it at ui.perfetto.dev or with its trace processor)
    #[arg(long, value_name = "FILE", required_unless_present = "text")]
    perfetto: Option<PathBuf>,
    /// Write one line for each event to FILE (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
}

/// Exports.
pub(super) fn run(arguments: &Arguments) -> Outcome {
    let trace = Trace::open(&arguments.trace)?;
    if let Some(path) = &arguments.perfetto {
        let mut out = create(path)?;
        tracer::export::perfetto::write(&trace, &Analysis::new(&trace), &mut out)?;
        out.flush()?;
    }
    if let Some(path) = &arguments.text {
        let mut out = create(path)?;
        match tracer::export::text::write(&trace, &mut out).and_then(|()| out.flush()) {
            // A pager that was closed has seen enough.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
            other => other?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn create(path: &PathBuf) -> Result<Box<dyn Write>, String> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(BufWriter::new(std::io::stdout().lock())));
    }
    let file =
        File::create(path).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(Box::new(BufWriter::new(file)))
}
