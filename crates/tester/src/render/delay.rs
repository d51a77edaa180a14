//! Delay: by load, and by UDP payload.

use report::units::FramesPerSecond;
use report::{Axis, Block, Plot, Series, Table};

use super::cells::{nanoseconds, of, rate, time};
use crate::result::{Details, LatencyPoint, Report, Test};

fn delay_cells(point: &LatencyPoint) -> Vec<String> {
    vec![
        FramesPerSecond(point.rate).to_string(),
        time(Some(point.min_ns)),
        nanoseconds(point.mean_ns),
        time(point.typical_ns),
        time(point.p99_ns),
        time(point.worst_ns),
        time(point.p9999_ns),
        time(Some(point.max_ns)),
        time(point.pdv_ns),
        point
            .variation_ns
            .map_or_else(|| "-".to_owned(), nanoseconds),
        point.ipdv_ns.map_or_else(
            || "-".to_owned(),
            |(least, middle, most)| format!("{least} / {middle} / {most}"),
        ),
        point.lost.to_string(),
    ]
}

fn delay_columns(table: Table) -> Table {
    table
        .number("rate")
        .number("min")
        .number("mean")
        .number("median")
        .number("99 %")
        .number("99.9 %")
        .number("99.99 %")
        .number("max")
        .number("PDV")
        .number("mean variation")
        .number("IPDV, ns")
        .number("lost")
}

pub(super) fn by_load(report: &Report) -> Vec<Block> {
    let entries = of(report, Test::Latency);
    let mut blocks = Vec::new();
    let mut table = delay_columns(
        Table::new("Latency (RFC 2544 §26.2, RFC 8219 §7.2, §7.3)").text("frame bytes").number("load"),
    )
    .caption("Median of the repetitions. Delays are of received frames, application to application, the tester's own queueing included; the self-test's floor stands below. A percentile with fewer than ten samples beyond it is not printed.");
    for entry in &entries {
        let Details::Latency { points } = &entry.details else {
            continue;
        };
        let mut plot = Plot::new(
            format!("Delay at {} bytes", entry.label),
            Axis::new("frames beyond, share (log): 1 - percentile").logarithmic(),
            Axis::new("delay, ns").logarithmic(),
        );
        for point in points {
            let mut row = vec![entry.label.clone(), format!("{:.0} %", point.share * 100.0)];
            row.extend(delay_cells(point));
            table.push(row);
            let mut series = Series::line(format!("{:.0} % load", point.share * 100.0));
            for &(share, delay) in point.distribution.iter().filter(|(share, _)| *share < 1.0) {
                series = series.point(1.0 - share, delay as f64);
            }
            plot = plot.series(series);
        }
        blocks.push(Block::Plot(plot));
    }
    if !table.rows.is_empty() {
        blocks.insert(0, Block::Table(table));
    }
    blocks
}

pub(super) fn by_payload(report: &Report) -> Vec<Block> {
    let mut table = delay_columns(
        Table::new("UDP payload sweep")
            .number("payload")
            .number("throughput")
            .number("goodput"),
    )
    .caption("Throughput by UDP payload; delay and jitter at half of it.");
    let mut goodput = Series::line("goodput");
    let mut delay = Series::line("median delay");
    let mut jitter = Series::line("PDV (99.9 % - min)");
    for entry in of(report, Test::Sweep) {
        let Details::Sweep(found) = &entry.details else {
            continue;
        };
        let at = f64::from(found.payload_bytes);
        let mut row = vec![
            found.payload_bytes.to_string(),
            rate(entry.frames_per_second),
            report::units::BitsPerSecond(found.goodput).to_string(),
        ];
        goodput = goodput.point(at, found.goodput / 1e6);
        if let Some(point) = &found.delay {
            row.extend(delay_cells(point));
            if let Some(ns) = point.typical_ns {
                delay = delay.point(at, ns as f64 / 1e3);
            }
            if let Some(ns) = point.pdv_ns {
                jitter = jitter.point(at, ns as f64 / 1e3);
            }
        }
        table.push(row);
    }
    if table.rows.is_empty() {
        return Vec::new();
    }
    let x = || Axis::new("UDP payload, bytes");
    vec![
        Block::Table(table),
        Block::Plot(
            Plot::new(
                "Goodput by payload",
                x(),
                Axis::new("Mbit/s of payload").from_zero(),
            )
            .series(goodput),
        ),
        Block::Plot(
            Plot::new(
                "Delay and jitter by payload",
                x(),
                Axis::new("µs").from_zero(),
            )
            .series(delay)
            .series(jitter),
        ),
    ]
}
