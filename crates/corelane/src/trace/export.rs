//! `corelane trace export`: the trace for other tools.

use std::error::Error;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracer::Trace;
use tracer::analyse::Analysis;
use tracer::export::{collapsed, firefox, perfetto, text};

use crate::common::{Outcome, answer, unless_interrupted};

/// Write a trace for Perfetto, the Firefox Profiler or flame graphs, or as lines of text
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The trace
    #[arg(value_name = "FILE")]
    trace: PathBuf,
    /// Write Perfetto's format to FILE (open it at ui.perfetto.dev or with its trace processor)
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present_any = ["firefox", "collapsed", "text"]
    )]
    perfetto: Option<PathBuf>,
    /// Write a profile of time on cores and off them to FILE (open it at profiler.firefox.com)
    #[arg(long, value_name = "FILE")]
    firefox: Option<PathBuf>,
    /// Write the same as collapsed stacks with microseconds to FILE, for flame graphs
    #[arg(long, value_name = "FILE")]
    collapsed: Option<PathBuf>,
    /// Write one line for each event to FILE (`-`: standard output)
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
}

/// Exports.
pub(super) fn run(arguments: &Arguments) -> Outcome {
    let path = arguments.trace.clone();
    let trace = Arc::new(unless_interrupted(move || Trace::open(&path))??);
    let analysed: [(&Option<PathBuf>, Form); 3] = [
        (&arguments.perfetto, |trace, out| {
            perfetto::write(trace, &Analysis::new(trace), out)
        }),
        (&arguments.firefox, |trace, out| {
            firefox::write(trace, &Analysis::new(trace), out)
        }),
        (&arguments.collapsed, |trace, out| {
            collapsed::write(trace, &Analysis::new(trace), out)
        }),
    ];
    for (path, form) in analysed {
        if let Some(path) = path {
            export(path, &trace, form)?;
        }
    }
    if let Some(path) = &arguments.text {
        export(path, &trace, text::write)?;
    }
    Ok(answer(true))
}

/// One of the forms.
type Form = fn(&Trace, &mut BufWriter<Box<dyn Write>>) -> io::Result<()>;

/// Writes to `path`: to a file whole or not at all, to `-`, devices and pipes as it comes.
fn export(path: &Path, trace: &Arc<Trace>, form: Form) -> Result<(), Box<dyn Error + Send + Sync>> {
    if path == "-" {
        return stream(Box::new(io::stdout()), trace, form);
    }
    let unwritable = |error| format!("cannot write {}: {error}", path.display());
    let create = |path: &Path| File::create(path).map_err(unwritable).map(Box::new);
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return stream(create(path)?, trace, form);
    }
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{}.part", std::process::id()));
    let part = PathBuf::from(part);
    let outcome = stream(create(&part)?, trace, form)
        .and_then(|()| Ok(std::fs::rename(&part, path).map_err(unwritable)?));
    if outcome.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    outcome
}

fn stream(
    out: Box<dyn Write + Send>,
    trace: &Arc<Trace>,
    form: Form,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let trace = Arc::clone(trace);
    let written = unless_interrupted(move || {
        let mut out = BufWriter::new(out as Box<dyn Write>);
        form(&trace, &mut out).and_then(|()| out.flush())
    })?;
    match written {
        // A pager that was closed has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}
