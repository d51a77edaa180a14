//! The line that a study adds to a table of results, in which figures of many machines come together.

use std::path::Path;

use dut::case::SMALLEST;
use dut::error::Error;
use host::{Environment, Noise};
use serde::Serialize;

use crate::result::Study;
use crate::row::Row;
use crate::speed_up::SpeedUp;

/// Name and version of a line's form.
const SCHEMA: &str = "corelane-study-line/2";

/// A line of `study-results.jsonl`: how fast a machine forwards the smallest frames without route
/// changes, and how that grows with cores.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Line<'a> {
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    schema: &'static str,
    /// Without the machine's name.
    environment: Environment,
    noise: &'a Noise,
    routes_from: &'a str,
    rounds: usize,
    trial_milliseconds: f64,
    forwarding: Vec<&'a Row>,
    speed_ups: Vec<&'a SpeedUp>,
}

impl<'a> Line<'a> {
    pub(crate) fn of(study: &'a Study) -> Self {
        let smallest =
            |row: &&Row| (row.key.frame_bytes, row.route_changes_per_second) == (SMALLEST, 0);
        let smallest_up = |up: &&SpeedUp| up.key.frame_bytes == SMALLEST;
        Self {
            schema: SCHEMA,
            environment: Environment {
                host: String::new(),
                ..study.environment.clone()
            },
            noise: &study.noise,
            routes_from: &study.routes_from,
            rounds: study.rounds,
            trial_milliseconds: study.trial_milliseconds,
            forwarding: study.forwarding.iter().filter(smallest).collect(),
            speed_ups: study.speed_ups.iter().filter(smallest_up).collect(),
        }
    }
}

/// Adds the study's line to a file, which is made if it is not there.
///
/// # Errors
/// When the file cannot be written.
pub fn append(file: &Path, study: &Study) -> Result<(), Error> {
    Ok(report::json::append(file, &Line::of(study))?)
}

#[cfg(test)]
#[path = "../tests/unit/line.rs"]
mod tests;
