//! What the tester is without a device.

use report::{Block, Table};

use super::cells::{nanoseconds, of, rate, time};
use crate::result::{Details, Report, Test};

pub(super) fn table(report: &Report) -> Vec<Block> {
    let mut table = Table::new("Self-test: the tester with a cable in the device's place")
        .text("frame bytes")
        .number("holds")
        .number("rate error")
        .number("latest departure")
        .number("floor: min")
        .number("floor: median")
        .number("floor: 99.9 %")
        .number("half load: median")
        .number("steal")
        .number("preempted")
        .text("verdict")
        .caption(
            "The floor is the delay at a tenth of the rate that it holds: no result can be below \
             it.",
        );
    for entry in of(report, Test::Selftest) {
        let Details::Selftest(found) = &entry.details else {
            continue;
        };
        let floor = found.floor.as_ref();
        table.push([
            entry.label.clone(),
            rate(entry.frames_per_second),
            format!("{:.4} %", found.rate_error * 100.0),
            nanoseconds(found.worst_lateness_ns as f64),
            time(floor.map(|floor| floor.min_ns)),
            time(floor.and_then(|floor| floor.percentile(50.0))),
            time(floor.and_then(|floor| floor.percentile(99.9))),
            time(found.half.as_ref().and_then(|half| half.percentile(50.0))),
            format!("{:.2} %", found.steal * 100.0),
            found.involuntary_switches.to_string(),
            entry.verdict.word().to_owned(),
        ]);
    }
    if table.rows.is_empty() {
        Vec::new()
    } else {
        vec![Block::Table(table)]
    }
}
