//! A result in two sentences: the figure with its verdict, and why.

use report::capital;
use report::units::FramesPerSecond;

use super::cells::{nanoseconds, time};
use crate::honest::Grade;
use crate::result::{Details, Entry};

/// What a row says.
pub fn sentence(entry: &Entry) -> String {
    let what = format!("{} at {}", capital(&entry.test.name()), entry.label);
    let figure = match (&entry.details, entry.frames_per_second) {
        (_, None) => return format!("{what}: no valid number. {}.", capital(&entry.because)),
        (Details::Latency { points }, Some(_)) => points
            .iter()
            .rev()
            .find(|point| point.share < 0.95)
            .map_or_else(
                || "no delay".to_owned(),
                |point| {
                    format!(
                        "median {}, 99.9 % within {} at 90 % load",
                        time(point.typical_ns),
                        time(point.worst_ns)
                    )
                },
            ),
        (Details::BackToBack(found), Some(_)) => {
            format!(
                "{:.0} frames; corrected buffer time {}",
                found.average,
                nanoseconds(found.corrected_seconds * 1e9)
            )
        }
        (Details::Recovery(found), Some(_)) => {
            format!("{} after the overload", nanoseconds(found.average * 1e9))
        }
        (Details::Reset(found), Some(_)) => {
            format!("{:.1} ms without forwarding", found.average_ms)
        }
        (_, Some(rate)) => FramesPerSecond(rate).to_string(),
    };
    let mark = match entry.verdict {
        Grade::Limited => " at least",
        _ => "",
    };
    format!(
        "{what}:{mark} {figure}, {}. {}.",
        entry.verdict.word(),
        capital(&entry.because)
    )
}
