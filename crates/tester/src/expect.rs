//! Expectations of scripts: `throughput[64] >= 1.0Mpps`, `latency.worst[512] <= 100us`, `loss[64]
//! <= 0`, `reset < 500ms`.

use std::fmt;
use std::str::FromStr;

use crate::result::{Details, Entry, Report, Test};

/// One expectation.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    test: Test,
    field: String,
    frame_bytes: Option<u32>,
    operator: Operator,
    value: f64,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    AtLeast,
    AtMost,
    Above,
    Below,
}

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

const TESTS: [Test; 9] = [
    Test::Selftest,
    Test::Throughput,
    Test::Latency,
    Test::Loss,
    Test::BackToBack,
    Test::Recovery,
    Test::Reset,
    Test::Sweep,
    Test::Bursts,
];
const LATENCY_FIELDS: [&str; 6] = ["min", "mean", "median", "p99", "worst", "max"];
/// Factors to frames/s, nanoseconds and milliseconds; what is measured in seconds takes its own
/// unit.
const UNITS: [(&str, f64); 11] = [
    ("Gpps", 1e9),
    ("Mpps", 1e6),
    ("kpps", 1e3),
    ("pps", 1.0),
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("%", 0.01),
    ("s", 1e9),
    ("", 1.0),
];

impl FromStr for Expectation {
    type Err = ExpectationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = |what: &str| ExpectationError {
            text: text.to_owned(),
            what: what.to_owned(),
        };
        let at = text
            .find(['<', '>'])
            .ok_or_else(|| fail("it has no <=, >=, < or >"))?;
        let (left, right) = text.split_at(at);
        let (operator, right) = match right {
            right if right.starts_with(">=") => (Operator::AtLeast, &right[2..]),
            right if right.starts_with("<=") => (Operator::AtMost, &right[2..]),
            right if right.starts_with('>') => (Operator::Above, &right[1..]),
            right => (Operator::Below, &right[1..]),
        };
        let left = left.trim();
        let (name, frame_bytes) = match left.split_once('[') {
            None => (left, None),
            Some((name, size)) => {
                let size = size
                    .strip_suffix(']')
                    .ok_or_else(|| fail("the frame size lacks its ]"))?;
                (
                    name,
                    Some(
                        size.trim()
                            .parse()
                            .map_err(|_| fail("the frame size is no number"))?,
                    ),
                )
            }
        };
        let (name, field) = name.split_once('.').unwrap_or((name, ""));
        let test = TESTS
            .into_iter()
            .find(|test| test.name() == name)
            .ok_or_else(|| fail("there is no such test"))?;
        if !(field.is_empty() || test == Test::Latency && LATENCY_FIELDS.contains(&field)) {
            return Err(fail("there is no such figure of this test"));
        }
        let right = right.trim();
        let split = right
            .find(|letter: char| letter != '.' && !letter.is_ascii_digit())
            .unwrap_or(right.len());
        let (number, unit) = right.split_at(split);
        let number: f64 = number.parse().map_err(|_| fail("the value is no number"))?;
        let factor = UNITS
            .iter()
            .find(|(name, _)| *name == unit.trim())
            .ok_or_else(|| fail("the unit is unknown"))?
            .1;
        let field = if test == Test::Latency && field.is_empty() {
            "median"
        } else {
            field
        };
        Ok(Self {
            test,
            field: field.to_owned(),
            frame_bytes,
            operator,
            value: number * factor,
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
        let mut rows = report
            .results
            .iter()
            .filter(|entry| {
                entry.test == self.test
                    && self
                        .frame_bytes
                        .is_none_or(|bytes| bytes == entry.frame_bytes)
            })
            .peekable();
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
            let met = match self.operator {
                Operator::AtLeast => found >= self.value,
                Operator::AtMost => found <= self.value,
                Operator::Above => found > self.value,
                Operator::Below => found < self.value,
            };
            if !met {
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
mod tests {
    use super::*;

    #[test]
    fn units_and_operators() {
        let of = |text: &str| text.parse::<Expectation>().unwrap();
        let expectation = of("throughput[64] >= 1.0Mpps");
        assert_eq!(
            (expectation.test, expectation.frame_bytes),
            (Test::Throughput, Some(64))
        );
        assert!((expectation.value - 1e6).abs() < 1e-6);
        assert!((of("latency.worst[512] <= 100 us").value - 100_000.0).abs() < 1e-6);
        assert!((of("reset<500ms").value - 5e8).abs() < 1.0);
        assert!((of("loss <= 0.1%").value - 0.001).abs() < 1e-12);
        assert_eq!(of("back-to-back > 100").test, Test::BackToBack);
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        for text in [
            "throughput[64] = 1",
            "speed > 1",
            "throughput[64 > 1",
            "throughput > x",
            "throughput.max > 1",
            "loss < 1 furlong",
        ] {
            let error = text.parse::<Expectation>().unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }
}
