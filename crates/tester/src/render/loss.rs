//! The loss curve.

use report::{Axis, Block, Plot, Series};

use super::cells::{Columns, label, of, per_cent, rate};
use crate::result::{Details, Entry, LossPoint, Report, Test};

pub(super) fn curve(report: &Report) -> Vec<Block> {
    let mut rows: Vec<(&Entry, &LossPoint)> = Vec::new();
    let mut plot = Plot::new(
        "Frame loss",
        Axis::new("offered rate, % of maximum").range(0.0, 100.0),
        Axis::new("lost, %").range(0.0, 100.0),
    )
    .caption("The maximum is the medium's rate, or where it has none the tester's self-test.");
    for entry in of(report, Test::Loss) {
        let Details::Loss { points, .. } = &entry.details else {
            continue;
        };
        rows.extend(points.iter().map(|point| (entry, point)));
        let mut series = Series::line(format!("{} bytes", entry.label));
        for point in points {
            series = series.point(point.share * 100.0, point.loss_ratio * 100.0);
        }
        plot = plot.series(series);
    }
    // A curve has two points at least; a stated rate is one.
    let curved = plot.series.iter().any(|line| line.points.len() > 1);
    Columns::new("Frame loss rate (RFC 2544 §26.3)", &rows)
        .text("frame bytes", |(entry, _)| label(entry))
        .number("offered", |(_, point)| rate(Some(point.rate)))
        .number("of maximum", |(_, point)| per_cent(point.share, 2))
        .number("lost", |(_, point)| per_cent(point.loss_ratio, 4))
        .number("runs", |(_, point)| point.runs.to_string())
        .number("longest run", |(_, point)| point.longest.to_string())
        .blocks(curved.then_some(plot))
}
