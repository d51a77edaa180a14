//! Delay: by load, and by UDP payload.

use report::units::FramesPerSecond;
use report::{Axis, Block, Plot, Series, Table};

use super::cells::{nanoseconds, of, rate, time};
use crate::result::{Details, Entry, LatencyPoint, Report, Test};

/// `signed`: with IPDV, which the sink in the kernel does not have.
fn delay_cells(point: &LatencyPoint, signed: bool) -> Vec<String> {
    let mut cells = vec![
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
    ];
    if signed {
        cells.push(point.ipdv_ns.map_or_else(
            || "-".to_owned(),
            |(least, middle, most)| format!("{least} / {middle} / {most}"),
        ));
    }
    cells.push(point.lost.to_string());
    cells
}

fn delay_columns(table: Table, signed: bool) -> Table {
    let table = table
        .number("rate")
        .number("min")
        .number("mean")
        .number("median")
        .number("99 %")
        .number("99.9 %")
        .number("99.99 %")
        .number("max")
        .number("PDV")
        .number("mean variation");
    let table = if signed {
        table.number("IPDV, ns")
    } else {
        table
    };
    table.number("lost")
}

/// Whether a point of these entries has an IPDV.
fn signed(entries: &[&Entry]) -> bool {
    entries.iter().any(|entry| match &entry.details {
        Details::Latency { points } => points.iter().any(|point| point.ipdv_ns.is_some()),
        Details::Sweep(found) => {
            let delay = found.delay.as_ref();
            delay.is_some_and(|point| point.ipdv_ns.is_some())
        }
        _ => false,
    })
}

pub(super) fn by_load(report: &Report) -> Vec<Block> {
    let entries = of(report, Test::Latency);
    let signed = signed(&entries);
    let mut blocks = Vec::new();
    let mut table = delay_columns(
        Table::new("Latency (RFC 2544 §26.2, RFC 8219 §7.2, §7.3)")
            .text("frame bytes")
            .number("load"),
        signed,
    )
    .caption(
        "Median of the repetitions. Delays are of received frames, application to application, \
         the tester's own queueing included; the self-test's floor stands below. A percentile \
         with fewer than ten samples beyond it is not printed.",
    );
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
            row.extend(delay_cells(point, signed));
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
    let entries = of(report, Test::Sweep);
    let signed = signed(&entries);
    let mut table = delay_columns(
        Table::new("UDP payload sweep")
            .number("payload")
            .number("throughput")
            .number("goodput"),
        signed,
    )
    .caption("Throughput by UDP payload; delay and jitter at half of it.");
    let mut goodput = Series::line("goodput");
    let mut delay = Series::line("median delay");
    let mut jitter = Series::line("PDV (99.9 % - min)");
    for entry in &entries {
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
            row.extend(delay_cells(point, signed));
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
    let mut blocks = vec![Block::Table(table)];
    if goodput.points.len() > 1 {
        let x = || Axis::new("UDP payload, bytes");
        let rates = Plot::new(
            "Goodput by payload",
            x(),
            Axis::new("Mbit/s of payload").from_zero(),
        );
        let times = Plot::new(
            "Delay and jitter by payload",
            x(),
            Axis::new("µs").from_zero(),
        );
        blocks.push(Block::Plot(rates.series(goodput)));
        blocks.push(Block::Plot(times.series(delay).series(jitter)));
    }
    blocks
}
