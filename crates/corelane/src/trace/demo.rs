//! `corelane trace demo`: a program with a lock in the way, the same without it, and what the
//! profiler says of both.

pub(super) mod program;

use std::path::PathBuf;
use std::thread::available_parallelism;

use report::{Block, Document};
use tracer::analyse::Analysis;
use tracer::export::page;
use tracer::record::{Kept, Options, RecordError, Recording, Target};
use tracer::summary::Summary;
use tracer::verdict::verdict;

use super::lines;
use super::record::until_ended;
use super::report::Comparison;
use crate::common::{Json, Outcome, answer, print, unless_interrupted};

/// How long each of the two programs is recorded, in milliseconds.
const LENGTH: &str = "2500";

/// Record a program with a lock in the way, on one core, on all, and without the lock; takes ten
/// seconds, needs root
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    json: Json,
    /// Write both verdicts and timelines as one web page to FILE
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// What a recording of one of the programs says.
struct Seen {
    summary: Summary,
    timeline: String,
}

/// Records both programs and compares them; then the first on one core.
pub(super) fn run(arguments: &Arguments) -> Outcome {
    let threads = available_parallelism()?.get();
    if threads < 2 {
        return Err(
            "this process may use one core only: the demonstration needs two or more, \
                    where a lock can be in the way"
                .into(),
        );
    }
    let tell = |heading: &str, sentences: &[String]| {
        if arguments.json.is_alone() {
            return Ok(());
        }
        print(&format!("{heading}\n\n{}\n", lines(sentences)))
    };
    let behind = format!(
        "{threads} threads at one table, whose lock they hold for {} % of each operation:",
        program::HELD
    );
    let turns = format!("The same {threads} threads on one core, where they take turns:");
    // Else each recording waits a second for the tracepoints of the one before. Without the right
    // to open them the recording says so.
    let _kept = Kept::open(&Options::default()).ok();
    let before = record(&[], "demo-1")?;
    tell(&behind, &before.summary.verdict)?;
    let split = "The same with a table for each thread:";
    let after = record(&["--split"], "demo-2")?;
    tell(split, &after.summary.verdict)?;
    let sentences = tracer::diff::compare(&before.summary, &after.summary);
    tell("What changed:", &sentences)?;
    let one_core = record(&["--one-core"], "demo-0")?;
    tell(&turns, &one_core.summary.verdict)?;
    if let Some(path) = &arguments.html {
        let mut document = Document::new("Trace of a program with a lock in the way, and without");
        document.verdict.clone_from(&sentences);
        for (heading, seen) in [
            (behind.as_str(), &before),
            (split, &after),
            (turns.as_str(), &one_core),
        ] {
            let verdict = seen.summary.verdict.iter().cloned().map(Block::Text);
            document = document.heading(heading.trim_end_matches(':'));
            document.blocks.extend(verdict);
            document = document.block(Block::Html(seen.timeline.clone()));
        }
        report::html::write(path, &document)?;
    }
    let raw = Comparison::new(sentences, before.summary, after.summary);
    arguments.json.write(&raw)?;
    report::hint("Your own program: corelane trace record -- COMMAND");
    Ok(answer(true))
}

/// Records one of the programs, in memory.
fn record(
    words: &[&str],
    id: &'static str,
) -> Result<Seen, Box<dyn std::error::Error + Send + Sync>> {
    host::cleanup::on_signal()?;
    let own = std::env::current_exe()?.into_os_string();
    let program = ["trace", "demo-program", "--milliseconds", LENGTH];
    let words = program.iter().chain(words).map(Into::into);
    let mut recording = Recording::start(&Options {
        target: Target::Command(std::iter::once(own).chain(words).collect()),
        ..Options::default()
    })
    .map_err(|error| format!("the demonstration records, for which it needs root: {error}"))?;
    until_ended(&mut recording, None);
    host::cleanup::check()?;
    let seen = unless_interrupted(move || {
        let trace = recording.stop()?.into_trace()?;
        let analysis = Analysis::new(&trace);
        let verdict = verdict(&trace, &analysis);
        Ok::<_, RecordError>(Seen {
            summary: Summary::with_verdict(&trace, &analysis, &verdict),
            timeline: page::timeline(&analysis, id),
        })
    })??;
    Ok(seen)
}
