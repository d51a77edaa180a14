//! Longest bursts, and bursts that come again and again.

use report::{Axis, Block, Plot, Series};

use super::cells::{Columns, label, nanoseconds, of, or_dash, rate, time, verdict};
use crate::result::{BackToBack, BurstPoint, Details, Entry, Report, Test};

pub(super) fn back_to_back(report: &Report) -> Vec<Block> {
    let rows: Vec<(&Entry, &BackToBack)> = of(report, Test::BackToBack)
        .filter_map(|entry| match &entry.details {
            Details::BackToBack(found) => Some((entry, found)),
            _ => None,
        })
        .collect();
    let mut bars = Series::bars("average burst, frames");
    for (entry, found) in &rows {
        bars = bars.point(f64::from(entry.frame_bytes), found.average);
    }
    let plot = Plot::new(
        "Longest burst without loss",
        Axis::new("frame size, bytes with FCS"),
        Axis::new("frames").from_zero(),
    )
    .series(bars);
    Columns::new("Back-to-back frames (RFC 9004)", &rows)
        .text("frame bytes", |(entry, _)| label(entry))
        .number("average burst", |(_, found)| {
            format!("{:.1}", found.average)
        })
        .number("min", |(_, found)| {
            or_dash(found.bursts.iter().min(), u64::to_string)
        })
        .number("max", |(_, found)| {
            or_dash(found.bursts.iter().max(), u64::to_string)
        })
        .number("deviation", |(_, found)| format!("{:.1}", found.deviation))
        .number("searches", |(_, found)| found.bursts.len().to_string())
        .number("burst rate", |(_, found)| rate(Some(found.burst_rate)))
        .number("implied buffer", |(_, found)| {
            nanoseconds(found.implied_seconds * 1e9)
        })
        .number("corrected buffer", |(_, found)| {
            nanoseconds(found.corrected_seconds * 1e9)
        })
        .text("verdict", |(entry, _)| verdict(entry))
        .caption(
            "The burst rate is measured within the bursts: a software tester does not hold a \
             medium's smallest gap.",
        )
        .blocks((rows.len() > 1).then_some(plot))
}

pub(super) fn bursty(report: &Report) -> Vec<Block> {
    let mut rows: Vec<(&Entry, &BurstPoint)> = Vec::new();
    let mut plot = Plot::new(
        "Smallest interval between bursts without loss",
        Axis::new("frames in a burst").logarithmic(),
        Axis::new("interval, µs").logarithmic(),
    );
    for entry in of(report, Test::Bursts) {
        let Details::Bursts { points } = &entry.details else {
            continue;
        };
        rows.extend(points.iter().map(|point| (entry, point)));
        let mut line = Series::line(format!("{} bytes", entry.label));
        for point in points {
            if let Some(interval) = point.interval_ns {
                line = line.point(point.frames as f64, interval as f64 / 1e3);
            }
        }
        plot = plot.series(line);
    }
    Columns::new("Bursty traffic (RFC 2544 §21)", &rows)
        .text("frame bytes", |(entry, _)| label(entry))
        .number("frames in a burst", |(_, point)| point.frames.to_string())
        .number("smallest interval", |(_, point)| time(point.interval_ns))
        .number("amounts to", |(_, point)| rate(point.frames_per_second))
        .text("verdict", |(entry, _)| verdict(entry))
        .caption(
            "Smallest interval between the beginnings of two bursts without loss. Within a burst \
             frames go as fast as the tester sends.",
        )
        .blocks([plot])
}
