//! Figures as the tables write them.

use report::units::{FramesPerSecond, Nanoseconds};

use crate::result::{Entry, Report, Test};

pub(super) fn rate(value: Option<f64>) -> String {
    value.map_or_else(
        || "-".to_owned(),
        |value| FramesPerSecond(value).to_string(),
    )
}

pub(super) fn nanoseconds(value: f64) -> String {
    Nanoseconds(value.max(0.0).round() as u64).to_string()
}

pub(super) fn time(value: Option<u64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| Nanoseconds(value).to_string())
}

pub(super) fn of(report: &Report, test: Test) -> Vec<&Entry> {
    report
        .results
        .iter()
        .filter(|entry| entry.test == test)
        .collect()
}

pub(super) fn times(entry: &Entry) -> String {
    match (entry.selftest_frames_per_second, entry.frames_per_second) {
        (Some(selftest), Some(rate)) if rate > 0.0 => format!("{:.1}", selftest / rate),
        _ => "-".to_owned(),
    }
}
