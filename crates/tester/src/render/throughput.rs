//! Throughput by frame size, and the loss ratio goals.

use report::units::FramesPerSecond;
use report::{Axis, Block, Plot, Series, Table};

use super::cells::{of, rate, times};
use crate::result::{Details, Report, Test};

pub(super) fn table(report: &Report) -> Vec<Block> {
    let entries = of(report, Test::Throughput);
    if entries.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new("Throughput (RFC 2544 §26.1)")
        .text("frame bytes")
        .number("throughput")
        .number("bits/s")
        .number("fails at")
        .number("at most load")
        .number("medium")
        .number("self-test")
        .number("factor")
        .text("verdict")
        .caption(
            "Highest rate in each direction without a lost, doubled or corrupted frame; sizes \
             with FCS. At most load: what came through when as much was offered as the tester \
             can. The self-test is the same tester with a cable in the device's place.",
        );
    let mut measured = Series::line("measured");
    let mut selftest = Series::reference("self-test (the tester's own limit)");
    let mut medium = Series::reference("medium (theory)");
    for entry in &entries {
        let (upper, most) = match &entry.details {
            Details::Throughput(found) => (found.upper, found.at_most_load),
            _ => (None, None),
        };
        let bits = entry.frames_per_second.map_or_else(
            || "-".to_owned(),
            |rate| FramesPerSecond(rate).at(entry.frame_bytes).to_string(),
        );
        table.push([
            entry.label.clone(),
            rate(entry.frames_per_second),
            bits,
            rate(upper),
            rate(most),
            rate(entry.theoretical_frames_per_second),
            rate(entry.selftest_frames_per_second),
            times(entry),
            entry.verdict.word().to_owned(),
        ]);
        let at = f64::from(entry.frame_bytes);
        for (series, value) in [
            (&mut measured, entry.frames_per_second),
            (&mut selftest, entry.selftest_frames_per_second),
            (&mut medium, entry.theoretical_frames_per_second),
        ] {
            if let Some(value) = value {
                *series = std::mem::replace(series, Series::line("")).point(at, value);
            }
        }
    }
    let mut plot = Plot::new(
        "Throughput by frame size",
        Axis::new("frame size, bytes with FCS"),
        Axis::new("frames per second").from_zero(),
    );
    for series in [measured, selftest, medium]
        .into_iter()
        .filter(|series| !series.points.is_empty())
    {
        plot = plot.series(series);
    }
    let mut blocks = vec![Block::Table(table)];
    if entries.len() > 1 {
        blocks.push(Block::Plot(plot));
    }
    blocks
}

pub(super) fn goals(report: &Report) -> Vec<Block> {
    let mut table = Table::new("Loss ratio goals (MLRsearch, draft-15)")
        .text("frame bytes")
        .text("goal")
        .number("loss ratio")
        .number("exceed ratio")
        .number("duration sum, s")
        .number("lower bound")
        .number("upper bound")
        .number("conditional throughput")
        .text("regular");
    for entry in of(report, Test::Throughput) {
        let Details::Throughput(found) = &entry.details else {
            continue;
        };
        for goal in &found.goals {
            table.push([
                entry.label.clone(),
                goal.name.clone(),
                format!("{} %", goal.loss_ratio * 100.0),
                format!("{} %", goal.exceed_ratio * 100.0),
                goal.duration_sum.to_string(),
                rate(goal.lower),
                rate(goal.upper),
                rate(goal.conditional),
                if goal.regular { "yes" } else { "no" }.to_owned(),
            ]);
        }
    }
    if table.rows.is_empty() {
        Vec::new()
    } else {
        vec![Block::Table(table)]
    }
}
