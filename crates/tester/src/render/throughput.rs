//! Throughput by frame size, and the loss ratio goals.

use report::units::FramesPerSecond;
use report::{Axis, Block, Plot, Series};

use super::cells::{Columns, label, of, or_dash, rate, time, verdict};
use crate::by_cores;
use crate::result::{Details, Entry, GoalBounds, Report, Test, Throughput};

/// Bounds of a search, where there was one.
fn bounds(entry: &Entry) -> Option<&Throughput> {
    match &entry.details {
        Details::Throughput(found) => Some(found),
        _ => None,
    }
}

pub(super) fn table(report: &Report) -> Vec<Block> {
    let rows = of(report, Test::Throughput);
    let rows: Vec<&Entry> = rows.filter(|entry| by_cores::of(entry).is_none()).collect();
    let line = |mut line: Series, value: fn(&Entry) -> Option<f64>| {
        for entry in &rows {
            if let Some(value) = value(entry) {
                line = line.point(f64::from(entry.frame_bytes), value);
            }
        }
        line
    };
    let selftest = Series::reference("self-test (the tester's own limit)");
    let medium = Series::reference("medium (theory)");
    let lines = [
        line(Series::line("measured"), |entry| entry.frames_per_second),
        line(selftest, |entry| entry.selftest_frames_per_second),
        line(medium, |entry| entry.theoretical_frames_per_second),
    ];
    let mut plot = Plot::new(
        "Throughput by frame size",
        Axis::new("frame size, bytes with FCS"),
        Axis::new("frames per second").from_zero(),
    );
    let drawn = lines.into_iter().filter(|line| !line.points.is_empty());
    plot.series.extend(drawn);
    Columns::new("Throughput (RFC 2544 §26.1)", &rows)
        .text("frame bytes", |entry| label(entry))
        .number("throughput", |entry| rate(entry.frames_per_second))
        .number("bits/s", |entry| {
            let rate = entry.frames_per_second.map(FramesPerSecond);
            or_dash(rate, |rate| rate.at(entry.frame_bytes).to_string())
        })
        .number("fails at", |entry| {
            rate(bounds(entry).and_then(|found| found.upper))
        })
        .number("at most load", |entry| {
            rate(bounds(entry).and_then(|found| found.at_most_load))
        })
        .number("drain", |entry| {
            time(bounds(entry).and_then(|found| found.drain_ns))
        })
        .number("medium", |entry| rate(entry.theoretical_frames_per_second))
        .number("self-test", |entry| rate(entry.selftest_frames_per_second))
        .number("factor", |entry| factor(entry))
        .text("verdict", |entry| verdict(entry))
        .caption(
            "Highest rate in each direction without a lost, doubled or corrupted frame; sizes \
             with FCS. At most load: what came through when as much was offered as the tester \
             can, first arrival to last. Drain: for how long frames still came then, from the \
             device's buffers. The self-test is the same tester with a cable in the device's place.",
        )
        .blocks((rows.len() > 1).then_some(plot))
}

/// How many times the result the self-test reaches.
fn factor(entry: &Entry) -> String {
    let rate = entry.frames_per_second.filter(|&rate| rate > 0.0);
    or_dash(
        entry.selftest_frames_per_second.zip(rate),
        |(selftest, rate)| format!("{:.1}", selftest / rate),
    )
}

pub(super) fn goals(report: &Report) -> Vec<Block> {
    let of_entry = |entry| {
        bounds(entry)
            .into_iter()
            .flat_map(|found| &found.goals)
            .map(move |goal| (entry, goal))
    };
    let rows: Vec<(&Entry, &GoalBounds)> =
        of(report, Test::Throughput).flat_map(of_entry).collect();
    Columns::new("Loss ratio goals (MLRsearch, draft-15)", &rows)
        .text("frame bytes", |(entry, _)| label(entry))
        .text("goal", |(_, goal)| goal.name.clone())
        .number("loss ratio", |(_, goal)| {
            format!("{} %", goal.loss_ratio * 100.0)
        })
        .number("exceed ratio", |(_, goal)| {
            format!("{} %", goal.exceed_ratio * 100.0)
        })
        .number("duration sum, s", |(_, goal)| goal.duration_sum.to_string())
        .number("lower bound", |(_, goal)| rate(goal.lower))
        .number("upper bound", |(_, goal)| rate(goal.upper))
        .number("conditional throughput", |(_, goal)| rate(goal.conditional))
        .text("limit", |(_, goal)| goal.limit.clone())
        .text("regular", |(_, goal)| {
            if goal.regular { "yes" } else { "no" }.to_owned()
        })
        .blocks([])
}
