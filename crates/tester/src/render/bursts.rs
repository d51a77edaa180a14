//! Longest bursts, and bursts that come again and again.

use report::units::FramesPerSecond;
use report::{Axis, Block, Plot, Series, Table};

use super::cells::{nanoseconds, of, rate, time};
use crate::result::{Details, Report, Test};

pub(super) fn back_to_back(report: &Report) -> Vec<Block> {
    let mut table = Table::new("Back-to-back frames (RFC 9004)")
        .text("frame bytes")
        .number("average burst")
        .number("min")
        .number("max")
        .number("deviation")
        .number("searches")
        .number("burst rate")
        .number("implied buffer")
        .number("corrected buffer")
        .text("verdict")
        .caption(
            "The burst rate is measured within the bursts: a software tester does not hold a \
             medium's smallest gap.",
        );
    let mut bars = Series::bars("average burst, frames");
    for entry in of(report, Test::BackToBack) {
        let Details::BackToBack(found) = &entry.details else {
            continue;
        };
        table.push([
            entry.label.clone(),
            format!("{:.1}", found.average),
            found
                .bursts
                .iter()
                .min()
                .map_or_else(String::new, ToString::to_string),
            found
                .bursts
                .iter()
                .max()
                .map_or_else(String::new, ToString::to_string),
            format!("{:.1}", found.deviation),
            found.bursts.len().to_string(),
            FramesPerSecond(found.burst_rate).to_string(),
            nanoseconds(found.implied_seconds * 1e9),
            nanoseconds(found.corrected_seconds * 1e9),
            entry.verdict.word().to_owned(),
        ]);
        bars = bars.point(f64::from(entry.frame_bytes), found.average);
    }
    if table.rows.is_empty() {
        return Vec::new();
    }
    let plot = Plot::new(
        "Longest burst without loss",
        Axis::new("frame size, bytes with FCS"),
        Axis::new("frames").from_zero(),
    );
    let mut blocks = vec![Block::Table(table)];
    if bars.points.len() > 1 {
        blocks.push(Block::Plot(plot.series(bars)));
    }
    blocks
}

pub(super) fn bursty(report: &Report) -> Vec<Block> {
    let mut table = Table::new("Bursty traffic (RFC 2544 §21)")
        .text("frame bytes")
        .number("frames in a burst")
        .number("smallest interval")
        .number("amounts to")
        .text("verdict")
        .caption(
            "Smallest interval between the beginnings of two bursts without loss. Within a burst \
             frames go as fast as the tester sends.",
        );
    let mut lines = Vec::new();
    for entry in of(report, Test::Bursts) {
        let Details::Bursts { points } = &entry.details else {
            continue;
        };
        let mut line = Series::line(format!("{} bytes", entry.label));
        for point in points {
            table.push([
                entry.label.clone(),
                point.frames.to_string(),
                time(point.interval_ns),
                rate(point.frames_per_second),
                entry.verdict.word().to_owned(),
            ]);
            if let Some(interval) = point.interval_ns {
                line = line.point(point.frames as f64, interval as f64 / 1e3);
            }
        }
        lines.push(line);
    }
    if table.rows.is_empty() {
        return Vec::new();
    }
    let mut plot = Plot::new(
        "Smallest interval between bursts without loss",
        Axis::new("frames in a burst").logarithmic(),
        Axis::new("interval, µs").logarithmic(),
    );
    for line in lines {
        plot = plot.series(line);
    }
    vec![Block::Table(table), Block::Plot(plot)]
}
