//! Times without forwarding: after an overload, and after a reset.

use report::Block;

use super::cells::{Columns, label, nanoseconds, of, rate, verdict};
use crate::result::{Details, Entry, Recovery, Report, Reset, Test};

pub(super) fn recovery(report: &Report) -> Vec<Block> {
    let rows: Vec<(&Entry, &Recovery)> = of(report, Test::Recovery)
        .filter_map(|entry| match &entry.details {
            Details::Recovery(found) => Some((entry, found)),
            _ => None,
        })
        .collect();
    Columns::new("System recovery (RFC 2544 §26.5)", &rows)
        .text("frame bytes", |(entry, _)| label(entry))
        .number("throughput", |(_, found)| rate(Some(found.throughput)))
        .number("overload", |(_, found)| rate(Some(found.overload)))
        .number("recovery time", |(_, found)| match found.seconds[..] {
            [] => "-".to_owned(),
            _ => nanoseconds(found.average * 1e9),
        })
        .number("trials", |(_, found)| found.seconds.len().to_string())
        .text("verdict", |(entry, _)| verdict(entry))
        .blocks([])
}

pub(super) fn reset(report: &Report) -> Vec<Block> {
    let rows: Vec<(&Entry, &Reset)> = of(report, Test::Reset)
        .filter_map(|entry| match &entry.details {
            Details::Reset(found) => Some((entry, found)),
            _ => None,
        })
        .collect();
    Columns::new("Reset (RFC 6201)", &rows)
        .text("frame bytes", |(entry, _)| label(entry))
        .text("what was done", |(_, found)| found.action.clone())
        .number("rate", |(entry, _)| rate(entry.frames_per_second))
        .number("lost, mean", |(_, found)| {
            mean(found.lost.iter().map(|&lost| lost as f64))
        })
        .number("by loss, ms", |(_, found)| {
            mean(found.by_loss_ms.iter().copied())
        })
        .number("by silence, ms", |(_, found)| {
            mean(found.by_silence_ms.iter().copied())
        })
        .number("trials", |(_, found)| {
            (found.by_loss_ms.len() + found.never_returned as usize).to_string()
        })
        .number("never returned", |(_, found)| {
            found.never_returned.to_string()
        })
        .text("verdict", |(entry, _)| verdict(entry))
        .caption(
            "Two methods that check each other: lost frames over the rate, and the longest time \
             without an arrival.",
        )
        .blocks([])
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> String {
    match values.len() {
        0 => "-".to_owned(),
        count => format!("{:.1}", values.sum::<f64>() / count as f64),
    }
}
