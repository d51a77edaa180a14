//! `corelane trace report` and `corelane trace diff`.

use std::path::{Path, PathBuf};

use tracer::Trace;
use tracer::analyse::Analysis;
use tracer::format::last::ANALYSED;
use tracer::format::read::ReadError;
use tracer::summary::Summary;

use super::lines;
use crate::common::{Json, Outcome, answer, unless_interrupted};

/// Say what a trace means: the verdict, and on request all figures (JSON) and pictures (HTML)
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The trace
    #[arg(value_name = "FILE")]
    trace: PathBuf,
    #[command(flatten)]
    json: Json,
    /// Write the report with the timeline as one web page to FILE
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Compare two traces of a program: what became better, and whether the prediction held
#[derive(clap::Args)]
pub(crate) struct DiffArguments {
    /// The trace before the change
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// The trace after it
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    #[command(flatten)]
    json: Json,
}

/// Reports.
pub(super) fn run(arguments: &Arguments) -> Outcome {
    let (path, page) = (arguments.trace.clone(), arguments.html.is_some());
    let (sentences, raw, page) = unless_interrupted(move || {
        let trace = Trace::open_last(&path, ANALYSED)?;
        let analysis = Analysis::new(&trace);
        let verdict = tracer::verdict::verdict(&trace, &analysis);
        let raw = Summary::with_verdict(&trace, &analysis, &verdict);
        let page = page.then(|| tracer::export::page::document(&trace, &analysis));
        Ok::<_, ReadError>((verdict.sentences, raw, page))
    })??;
    arguments.json.deliver(&lines(&sentences), &raw)?;
    if let (Some(path), Some(page)) = (&arguments.html, &page) {
        report::html::write(path, page)?;
    }
    Ok(answer(true))
}

/// Name and version of the JSON form of a comparison.
const SCHEMA: &str = "corelane-trace-diff/1";

/// What `corelane trace diff` says of two recordings, before and after a change.
#[derive(serde::Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Comparison {
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    schema: &'static str,
    sentences: Vec<String>,
    before: Summary,
    after: Summary,
}

impl Comparison {
    /// What [`tracer::diff::compare`] said of them, and both.
    pub(super) fn new(sentences: Vec<String>, before: Summary, after: Summary) -> Self {
        Self {
            schema: SCHEMA,
            sentences,
            before,
            after,
        }
    }
}

/// Compares.
pub(super) fn diff(arguments: &DiffArguments) -> Outcome {
    let summary = |path: &Path| {
        let path = path.to_owned();
        unless_interrupted(move || {
            let trace = Trace::open(&path)?;
            Ok::<_, ReadError>(Summary::new(&trace, &Analysis::new(&trace)))
        })
    };
    let (before, after) = (summary(&arguments.before)??, summary(&arguments.after)??);
    let sentences = tracer::diff::compare(&before, &after);
    let text = lines(&sentences);
    let raw = Comparison::new(sentences, before, after);
    arguments.json.deliver(&text, &raw)?;
    Ok(answer(true))
}
