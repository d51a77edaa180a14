//! The loss curve.

use report::units::FramesPerSecond;
use report::{Axis, Block, Plot, Series, Table};

use super::cells::of;
use crate::result::{Details, Report, Test};

pub(super) fn curve(report: &Report) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut table = Table::new("Frame loss rate (RFC 2544 §26.3)")
        .text("frame bytes")
        .number("offered")
        .number("of maximum")
        .number("lost")
        .number("runs")
        .number("longest run");
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
        let mut series = Series::line(format!("{} bytes", entry.label));
        for point in points {
            table.push([
                entry.label.clone(),
                FramesPerSecond(point.rate).to_string(),
                format!("{:.2} %", point.share * 100.0),
                format!("{:.4} %", point.loss_ratio * 100.0),
                point.runs.to_string(),
                point.longest.to_string(),
            ]);
            series = series.point(point.share * 100.0, point.loss_ratio * 100.0);
        }
        plot = plot.series(series);
    }
    if !table.rows.is_empty() {
        // A curve has two points at least; a stated rate is one.
        let curved = plot.series.iter().any(|line| line.points.len() > 1);
        blocks.push(Block::Table(table));
        if curved {
            blocks.push(Block::Plot(plot));
        }
    }
    blocks
}
