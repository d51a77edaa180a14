//! Times without forwarding: after an overload, and after a reset.

use report::units::FramesPerSecond;
use report::{Block, Table};

use super::cells::{nanoseconds, of, rate};
use crate::result::{Details, Report, Test};

pub(super) fn recovery(report: &Report) -> Vec<Block> {
    let mut table = Table::new("System recovery (RFC 2544 §26.5)")
        .text("frame bytes")
        .number("throughput")
        .number("overload")
        .number("recovery time")
        .number("trials")
        .text("verdict");
    for entry in of(report, Test::Recovery) {
        let Details::Recovery(found) = &entry.details else {
            continue;
        };
        table.push([
            entry.label.clone(),
            FramesPerSecond(found.throughput).to_string(),
            FramesPerSecond(found.overload).to_string(),
            if found.seconds.is_empty() {
                "-".to_owned()
            } else {
                nanoseconds(found.average * 1e9)
            },
            found.seconds.len().to_string(),
            entry.verdict.word().to_owned(),
        ]);
    }
    if table.rows.is_empty() {
        Vec::new()
    } else {
        vec![Block::Table(table)]
    }
}

pub(super) fn reset(report: &Report) -> Vec<Block> {
    let mut table = Table::new("Reset (RFC 6201)")
        .text("frame bytes")
        .text("what was done")
        .number("rate")
        .number("lost, mean")
        .number("by loss, ms")
        .number("by silence, ms")
        .number("trials")
        .text("verdict")
        .caption(
            "Two methods that check each other: lost frames over the rate, and the longest time \
             without an arrival.",
        );
    for entry in of(report, Test::Reset) {
        let Details::Reset(found) = &entry.details else {
            continue;
        };
        let mean = |values: &[f64]| {
            if values.is_empty() {
                "-".to_owned()
            } else {
                format!("{:.1}", values.iter().sum::<f64>() / values.len() as f64)
            }
        };
        let lost: Vec<f64> = found.lost.iter().map(|&lost| lost as f64).collect();
        table.push([
            entry.label.clone(),
            found.action.clone(),
            rate(entry.frames_per_second),
            mean(&lost),
            mean(&found.by_loss_ms),
            mean(&found.by_silence_ms),
            found.by_loss_ms.len().to_string(),
            entry.verdict.word().to_owned(),
        ]);
    }
    if table.rows.is_empty() {
        Vec::new()
    } else {
        vec![Block::Table(table)]
    }
}
