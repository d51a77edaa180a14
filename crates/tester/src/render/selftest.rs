//! What the tester is without a device.

use report::Block;

use super::cells::{Columns, label, nanoseconds, of, per_cent, rate, time, verdict};
use crate::latency::Latency;
use crate::result::{Details, Entry, Report, Selftest, Test};

pub(super) fn table(report: &Report) -> Vec<Block> {
    let rows: Vec<(&Entry, &Selftest)> = of(report, Test::Selftest)
        .filter_map(|entry| match &entry.details {
            Details::Selftest(found) => Some((entry, found)),
            _ => None,
        })
        .collect();
    Columns::new(
        "Self-test: the tester with a cable in the device's place",
        &rows,
    )
    .text("frame bytes", |(entry, _)| label(entry))
    .number("holds", |(entry, _)| rate(entry.frames_per_second))
    .number("rate error", |(_, found)| per_cent(found.rate_error, 4))
    .number("latest departure", |(_, found)| {
        nanoseconds(found.worst_lateness_ns as f64)
    })
    .number("floor: min", |(_, found)| {
        time(found.floor.as_ref().map(|floor| floor.min_ns))
    })
    .number("floor: median", |(_, found)| {
        percentile(found.floor.as_ref(), 50.0)
    })
    .number("floor: 99.9 %", |(_, found)| {
        percentile(found.floor.as_ref(), 99.9)
    })
    .number("half load: median", |(_, found)| {
        percentile(found.half.as_ref(), 50.0)
    })
    .number("steal", |(_, found)| per_cent(found.steal, 2))
    .number("preempted", |(_, found)| {
        found.involuntary_switches.to_string()
    })
    .text("verdict", |(entry, _)| verdict(entry))
    .caption(
        "The floor is the delay at a tenth of the rate that it holds: no result can be below \
             it.",
    )
    .blocks([])
}

fn percentile(latency: Option<&Latency>, percent: f64) -> String {
    time(latency.and_then(|latency| latency.percentile(percent)))
}
