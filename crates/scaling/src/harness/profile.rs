//! One run under the profiler: where the time of the cores went, and which locks the program met
//! in.

use host::clock::now_ns;
use serde::{Deserialize, Serialize};
use tracer::analyse::Analysis;
use tracer::record::{Options, RecordError, Recording, Target};
use tracer::summary::Summary;
use tracer::verdict::verdict;

use super::plan::{Job, Setting};
use super::runs::{Runs, SweepError};
use crate::cause::budget::Budget;

/// What a recorded run showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Profile {
    /// Where the time of the cores went.
    pub budget: Budget,
    /// The profiler's sentences, the most important first.
    pub sentences: Vec<String>,
}

/// Runs `job` once at `setting` and records it. The inner result is the profiler's refusal, in
/// words: without the right to record (root) the sweep goes on.
///
/// # Errors
/// When the command fails or hangs, and when interrupted.
pub fn profile(job: &Job, setting: Setting) -> Result<Result<Profile, String>, SweepError> {
    let mut runs = Runs::start(job, setting)?;
    let keeper = runs.pid().unsigned_abs();
    let options = Options {
        target: Target::Process(keeper),
        ..Options::default()
    };
    runs.prepare()?;
    let recording = match Recording::start(&options) {
        Ok(recording) => recording,
        Err(refused) => return Ok(Err(refused.to_string())),
    };
    let start = now_ns();
    runs.run_prepared()?;
    let end = now_ns();
    Ok(analysed(recording, keeper, start, end).map_err(|e| e.to_string()))
}

fn analysed(
    recording: Recording,
    keeper: u32,
    start: u64,
    end: u64,
) -> Result<Profile, RecordError> {
    let mut trace = recording.stop()?.into_trace()?;
    // The keeper waits for the command all the time; what it waits for is no loss of the command's.
    trace.trailer.recorder_threads.push(keeper);
    (trace.trailer.start, trace.trailer.end) = (start, end);
    let analysis = Analysis::new(&trace);
    let judged = verdict(&trace, &analysis);
    let summary = Summary::with_verdict(&trace, &analysis, &judged);
    let seconds = |nanoseconds: u64| nanoseconds as f64 * 1e-9;
    let found = &summary.budget;
    let waits: u64 = found.waits.iter().map(|(_, time)| time).sum();
    let mut lost: Vec<(String, f64)> = found
        .waits
        .iter()
        .map(|(what, time)| (format!("waiting for {what}"), seconds(*time)))
        .collect();
    let idle = found.idle_locks + found.idle_waits;
    for (what, time) in [
        (
            "waiting, for what the profiler cannot say",
            idle.saturating_sub(waits),
        ),
        ("no further task to run", found.idle_design),
        ("a task on its way to the core", found.idle_waking),
        ("other programs on the cores", found.other),
        ("kernel threads on the cores", found.kernel),
        ("interrupts and softirqs", found.interrupts + found.softirqs),
    ] {
        lost.push((what.to_owned(), seconds(time)));
    }
    lost.retain(|(_, seconds)| *seconds > 0.0);
    lost.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok(Profile {
        budget: Budget {
            wall: seconds(found.wall),
            cores: found.cores as u32,
            program: seconds(found.program),
            polling: analysis.spinning.user_share(),
            kernel_polling: analysis.spinning.kernel_share(),
            lost,
            unknown: seconds(found.unknown + found.recorder),
            events_lost: summary.events_lost,
        },
        sentences: summary.verdict,
    })
}
