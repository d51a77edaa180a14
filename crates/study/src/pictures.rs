//! The three pictures: what the cores did with one worker, with two workers at the table's lock,
//! and with two apart.
//!
//! Each is a short trace of the `memory` engine in this process, taken after the measurements so
//! that it costs them nothing. Root only; without it the study is whole but for the pictures, and
//! says so.

use std::sync::Arc;
use std::time::Duration;

use dut::case::SMALLEST;
use dut::device::Setting;
use dut::error::Error;
use dut::memory;
use dut::routes::Routes;
use fib::TableOrganisation;
use host::CoreId;
use port::memory::Replay;
use router::user_plane::memory_engine::Trial;
use router::user_plane::test_traffic::{self, Destinations};
use serde::{Deserialize, Serialize};
use tracer::analyse::Analysis;
use tracer::record::{self, Options, Unwinding};
use tracer::summary::Summary;

/// Routes in the table: the pictures are about the lock, not about the table's size.
const ROUTES: usize = 20_000;
/// Frames replayed.
const FRAMES: usize = 4096;
/// The lock of the locked organisation covers this many bytes, the table behind it more.
const LOCK_BYTES: usize = 64;

/// One picture.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Picture {
    /// What was traced.
    pub(crate) title: String,
    /// What the profiler found.
    pub(crate) trace: Summary,
    /// The timeline, for the page only.
    #[serde(skip)]
    pub(crate) timeline: String,
}

/// Takes the pictures, each of such a `length`, or says in a sentence why there are none.
pub(crate) fn take(cores: &[CoreId], length: Duration, seed: u64) -> Result<Vec<Picture>, String> {
    let explain = |error: Error| format!("No traces were taken: {error}.");
    let Some(two) = cores.get(..2) else {
        return Err("No traces were taken: they compare one core with two.".to_owned());
    };
    if !host::process::is_root() {
        return Err(
            "No traces were taken: the profiler needs root (`sudo corelane study`).".to_owned(),
        );
    }
    let traffic = Traffic::new(two, length, seed).map_err(explain)?;
    [
        (
            "One core: the worker runs without a break",
            TableOrganisation::Locked,
            &two[..1],
        ),
        (
            "Two cores at one locked table",
            TableOrganisation::Locked,
            two,
        ),
        (
            "Two cores, a table for each",
            TableOrganisation::PerCore,
            two,
        ),
    ]
    .into_iter()
    .enumerate()
    .map(|(index, (title, organisation, cores))| {
        traffic.picture(index + 1, title, organisation, cores)
    })
    .collect::<Result<_, Error>>()
    .map_err(explain)
}

struct Traffic {
    setting: Setting,
    frames: Arc<Replay>,
    length: Duration,
}

impl Traffic {
    fn new(cores: &[CoreId], length: Duration, seed: u64) -> Result<Self, Error> {
        let mut prefixes = fib::generated::internet(seed);
        prefixes.v4.truncate(ROUTES);
        prefixes.v6.clear();
        let destinations = fib::generated::addresses_hitting(seed, &prefixes.v4, FRAMES);
        let frames = test_traffic::frames(Destinations::V4(&destinations), SMALLEST as usize)?;
        let routes = Routes {
            prefixes,
            destinations,
            destinations_v6: Vec::new(),
            from: String::new(),
        };
        Ok(Self {
            setting: Setting::new(cores, &Arc::new(routes), seed),
            frames: Arc::new(frames),
            length,
        })
    }

    fn picture(
        &self,
        number: usize,
        title: &str,
        organisation: TableOrganisation,
        cores: &[CoreId],
    ) -> Result<Picture, Error> {
        let engine = memory::engine(Some(organisation), &self.setting)?;
        let _name = engine.lock_address().map(|address| {
            marker::name_lock(address, LOCK_BYTES, fib::organisation::Locked::LOCK_NAME)
        });
        let trial = Trial {
            cores,
            frames: &self.frames,
            duration: self.length,
            route_changes_per_second: 0,
        };
        // A lock that is mostly polled for is known by where its waiters sleep.
        let options = Options {
            stacks: Some(Unwinding::FramePointers),
            ..Options::default()
        };
        let (outcome, trace) = record::record_while(&options, || engine.run(&trial))?;
        outcome?;
        let analysis = Analysis::new(&trace);
        Ok(Picture {
            title: title.to_owned(),
            trace: Summary::new(&trace, &analysis),
            timeline: tracer::export::page::timeline(&analysis, &format!("trace-{number}")),
        })
    }
}

#[cfg(test)]
#[path = "../tests/unit/pictures.rs"]
mod tests;
