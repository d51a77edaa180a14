//! Expectations of scripts: `throughput[64] >= 1.0Mpps`, `latency.worst[512] <= 100us`, `loss[64]
//! <= 0`, `reset < 500ms`.

use std::fmt;
use std::str::FromStr;

use report::quantity;

use crate::result::{Details, Entry, Report, Test};

/// One expectation.
#[derive(Debug, Clone)]
pub struct Expectation {
    test: Test,
    field: String,
    frame_bytes: Option<u32>,
    holds: Comparison,
    value: f64,
    text: String,
}

/// How a figure may lie to the value, longer signs first.
type Comparison = fn(&f64, &f64) -> bool;
const COMPARISONS: [(&str, Comparison); 4] = [
    (">=", f64::ge),
    ("<=", f64::le),
    (">", f64::gt),
    ("<", f64::lt),
];

/// A text that is no expectation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expectation \"{text}\": {what}; write for example 'throughput[64] >= 1.0Mpps' or \
     'latency.worst[512] <= 100us'"
)]
pub struct ExpectationError {
    text: String,
    what: String,
}

const LATENCY_FIELDS: [&str; 6] = ["min", "mean", "median", "p99", "worst", "max"];
impl FromStr for Expectation {
    type Err = ExpectationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = |what: &str| ExpectationError {
            text: text.to_owned(),
            what: what.to_owned(),
        };
        let (left, right, holds) = COMPARISONS
            .into_iter()
            .find_map(|(sign, holds)| {
                let (left, right) = text.split_once(sign)?;
                Some((left, right, holds))
            })
            .ok_or_else(|| fail("it has no <=, >=, < or >"))?;
        let left = left.trim();
        let (name, frame_bytes) = match left.split_once('[') {
            None => (left, None),
            Some((name, size)) => {
                let size = size.strip_suffix(']');
                let size = size
                    .ok_or_else(|| fail("the frame size lacks its ]"))?
                    .trim();
                let bytes = size
                    .parse()
                    .map_err(|_| fail("the frame size is no number"))?;
                (name, Some(bytes))
            }
        };
        let (name, field) = name.split_once('.').unwrap_or((name, ""));
        let test = report::json::named(name).ok_or_else(|| fail("there is no such test"))?;
        if !(field.is_empty() || test == Test::Latency && LATENCY_FIELDS.contains(&field)) {
            return Err(fail("there is no such figure of this test"));
        }
        let value = quantity::any(right)
            .ok_or_else(|| fail("the value is no number, or its unit is unknown"))?;
        let field = if test == Test::Latency && field.is_empty() {
            "median"
        } else {
            field
        };
        Ok(Self {
            test,
            field: field.to_owned(),
            frame_bytes,
            holds,
            value,
            text: text.to_owned(),
        })
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Expectation {
    /// Whether every row that it speaks of meets it; the reason when not. What was not measured is
    /// not met.
    ///
    /// # Errors
    /// The first row that misses it, in words.
    pub fn check(&self, report: &Report) -> Result<(), String> {
        let asked = |entry: &&Entry| {
            let size = self.frame_bytes.unwrap_or(entry.frame_bytes);
            (entry.test, entry.frame_bytes) == (self.test, size)
        };
        let mut rows = report.results.iter().filter(asked).peekable();
        if rows.peek().is_none() {
            return Err(format!(
                "expected {self}: nothing of that kind was measured"
            ));
        }
        for entry in rows {
            let Some(found) = self.figure(entry) else {
                return Err(format!(
                    "expected {self}: no valid number at {} ({})",
                    entry.label, entry.because
                ));
            };
            if !(self.holds)(&found, &self.value) {
                return Err(format!("expected {self}: found {found} at {}", entry.label));
            }
        }
        Ok(())
    }

    /// The figure of a row: frames/s, ns, a share, or frames.
    fn figure(&self, entry: &Entry) -> Option<f64> {
        match &entry.details {
            Details::Latency { points } => {
                // At nine tenths of the throughput: at all of it a delay is that of the buffers.
                let point = points
                    .iter()
                    .rev()
                    .find(|point| point.share < 0.95)
                    .or(points.last())?;
                match self.field.as_str() {
                    "min" => Some(point.min_ns as f64),
                    "mean" => Some(point.mean_ns),
                    "p99" => point.p99_ns.map(|ns| ns as f64),
                    "worst" => point.worst_ns.map(|ns| ns as f64),
                    "max" => Some(point.max_ns as f64),
                    _ => point.typical_ns.map(|ns| ns as f64),
                }
            }
            Details::Loss { points, .. } => {
                points.iter().map(|point| point.loss_ratio).reduce(f64::max)
            }
            Details::BackToBack(found) => entry.frames_per_second.map(|_| found.average),
            Details::Recovery(found) => entry.frames_per_second.map(|_| found.average * 1e9),
            Details::Reset(found) => entry.frames_per_second.map(|_| found.average_ms * 1e6),
            _ => entry.frames_per_second,
        }
    }
}

#[cfg(test)]
#[path = "../tests/unit/expect.rs"]
mod tests;
