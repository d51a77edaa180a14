//! A recording: what a router did in its last seconds, in one document (`corelane-recording/1`), which
//! the console's page shows as it shows a router.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::console::{Frame, Point};
use super::forms::{self, Hitters};

/// Name and version of the form.
pub const SCHEMA: &str = "corelane-recording/1";
/// Where the points are put.
const EMPTY: &str = "\"points\":[]";

/// What a router did in its last seconds.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recording {
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    schema: &'static str,
    /// Of the program.
    version: &'static str,
    /// Name of the router on its machine.
    instance: String,
    /// When it was made, milliseconds since 1970.
    time_ms: u64,
    why: Why,
    /// One for each second, the oldest first.
    points: Vec<Point>,
    /// Frames that were sampled, or looked at in the console, the oldest first: 256 samples at most.
    frames: Vec<Frame>,
    /// Who most of the traffic was, where somebody looked at that.
    hitters: Option<Hitters>,
}

/// Why it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Why {
    /// `asked`, `above`, `stall` or `different`.
    pub(crate) trigger: &'static str,
    /// In words.
    pub(crate) said: String,
}

/// The document, in one line.
pub(crate) fn document(
    instance: String,
    why: Why,
    points: &[Arc<str>],
    frames: Vec<Frame>,
    hitters: Option<Hitters>,
) -> String {
    let line = forms::line(&Recording {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        instance,
        time_ms: now_ms(),
        why,
        points: Vec::new(),
        frames,
        hitters,
    });
    // Points are documents already.
    match line.split_once(EMPTY) {
        Some((before, after)) => format!("{before}\"points\":[{}]{after}", points.join(",")),
        None => line,
    }
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}
