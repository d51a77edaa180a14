//! The highest rate without loss between interfaces: RFC 2544's search, by the tester, on the lanes
//! of the closed loop.

use std::time::{Duration, Instant};

use dut::case::Case;
use dut::device::Device;
use dut::error::Error;
use dut::offer::Wanted;
use host::cleanup;
use report::Progress;
use report::units::FramesPerSecond;
use serde::{Deserialize, Serialize};
use tester::profile::Profile;
use tester::result::{Details, Entry};
use tester::trial::mostly_disturbed;

use crate::measure::engine_of;
use crate::row::Key;

/// How the study searches: the quick profile with fewer trials of a rate and a coarser end, for
/// there are some forty searches.
pub(crate) const PROFILE: Profile = Profile {
    search_seconds: 0.08,
    final_seconds: 0.1,
    resolution: 0.02,
    tries: 2,
    passes: 1,
    retries: 1,
    ..Profile::QUICK
};
/// A search begins this far above the closed loop's median: an offer beyond doubt, which one trial
/// decides, and whose forwarding rate is where to look next.
const ABOVE: f64 = 1.3;
/// No search takes longer than this many times its usual length.
const LONGEST: Duration = Duration::from_secs(6);

/// What a search of a case found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Search {
    #[serde(flatten)]
    pub(crate) key: Key,
    /// The highest rate at which nothing was lost, if there is one.
    pub(crate) no_loss_frames_per_second: Option<FramesPerSecond>,
    /// The lowest rate above it that was tried and did not hold, frames/s.
    pub(crate) above: Option<f64>,
    /// Trials that it took.
    pub(crate) trials: usize,
    /// Why there is no rate, or what is to be said of it; empty when nothing is.
    pub(crate) because: String,
}

impl Search {
    /// What an entry of the tester says.
    fn found(case: &Case, entry: Entry) -> Self {
        let Details::Throughput(bounds) = entry.details else {
            return Self::without(case, entry.because);
        };
        let trials = entry.trials.len();
        // Open bounds are a rate that held, not the highest.
        let (rate, because) = match (entry.frames_per_second, bounds.upper) {
            (_, _) if bounds.ended == "stopped" => {
                let also = mostly_disturbed(&entry.trials, "").map(|why| format!("; {why}"));
                (None, entry.because + &also.unwrap_or_default())
            }
            (Some(rate), None) => (
                Some(rate),
                "the highest rate offered held: the limit may lie above it".to_owned(),
            ),
            (Some(rate), Some(_)) => (
                Some(rate),
                mostly_disturbed(&entry.trials, "").unwrap_or_default(),
            ),
            (None, _) => (None, entry.because),
        };
        Self {
            no_loss_frames_per_second: rate.map(FramesPerSecond),
            above: bounds.upper,
            trials,
            because,
            key: case.into(),
        }
    }

    fn without(case: &Case, because: impl Into<String>) -> Self {
        Self {
            key: case.into(),
            no_loss_frames_per_second: None,
            above: None,
            trials: 0,
            because: because.into(),
        }
    }

    /// A rate against which nothing is said.
    pub(crate) fn undoubted(&self) -> Option<FramesPerSecond> {
        self.no_loss_frames_per_second
            .filter(|_| self.because.is_empty())
    }

    /// The case in words.
    fn case(&self) -> String {
        let Key {
            engine,
            table,
            workers,
            frame_bytes,
        } = &self.key;
        let plural = if *workers == 1 { "" } else { "s" };
        format!("{engine} ({table} table, {workers} worker{plural}, {frame_bytes} bytes)")
    }
}

/// A sentence for each thing that is to be said of searches, with all the cases that it is to be
/// said of.
pub(crate) fn notes(searches: &[Search]) -> Vec<String> {
    let mut said: Vec<((&str, &str), Vec<String>)> = Vec::new();
    for search in searches.iter().filter(|search| !search.because.is_empty()) {
        let what = match search.no_loss_frames_per_second {
            Some(_) => "Doubtful",
            None => "No rate was found",
        };
        let sentence = (what, search.because.as_str());
        match said.iter_mut().find(|(same, _)| *same == sentence) {
            Some((_, cases)) => cases.push(search.case()),
            None => said.push((sentence, vec![search.case()])),
        }
    }
    said.into_iter()
        .map(|((what, because), cases)| format!("{what}: {}: {because}.", cases.join(", ")))
        .collect()
}

/// Searches `cases`, each with what the closed loop gave, until `time` is over. One that finds
/// nothing keeps no other from it.
///
/// # Errors
/// When the user interrupts.
pub(crate) fn searches(
    engines: &mut [Box<dyn Device>],
    cases: &[(&Case, f64)],
    time: Duration,
) -> Result<Vec<Search>, Error> {
    let mut progress = Progress::new(cases.len());
    let end = Instant::now() + time;
    let mut found = Vec::with_capacity(cases.len());
    for &(case, closed_loop) in cases {
        progress.step(&format!("rate without loss: {case}"));
        let engine = engine_of(engines, case)?;
        found.push(search(engine.as_mut(), case, closed_loop, end));
        // After Ctrl-C an engine may fail in any way; the reason to name is the interrupt.
        cleanup::check()?;
    }
    Ok(found)
}

fn search(engine: &mut dyn Device, case: &Case, closed_loop: f64, end: Instant) -> Search {
    let now = Instant::now();
    if now >= end {
        return Search::without(case, "the time for searching was over; give --seconds more");
    }
    if closed_loop <= 0.0 {
        return Search::without(case, "nothing came through in the closed loop");
    }
    let wanted = Wanted {
        ceiling: ABOVE * closed_loop,
        profile: PROFILE,
        until: end.max(now + LONGEST / 4).min(now + LONGEST),
    };
    match engine.search(case, &wanted) {
        Ok(entry) => Search::found(case, entry),
        Err(error) => Search::without(case, error.to_string()),
    }
}
