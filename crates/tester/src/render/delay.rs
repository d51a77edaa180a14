//! Delay: by load, and by UDP payload.

use report::units::BitsPerSecond;
use report::{Axis, Block, Plot, Series};

use super::cells::{Columns, label, nanoseconds, of, or_dash, per_cent, rate, time};
use crate::result::{Details, Entry, LatencyPoint, Report, SweepPoint, Test};

/// Something with delays, or without when none could be measured.
trait Delayed {
    fn point(&self) -> Option<&LatencyPoint>;
}

impl Delayed for (&Entry, &LatencyPoint) {
    fn point(&self) -> Option<&LatencyPoint> {
        Some(self.1)
    }
}

impl Delayed for (&Entry, &SweepPoint) {
    fn point(&self) -> Option<&LatencyPoint> {
        self.1.delay.as_ref()
    }
}

/// A figure of a row's delays; nothing where there are none.
fn cell<R: Delayed>(row: &R, words: fn(&LatencyPoint) -> String) -> String {
    row.point().map_or_else(String::new, words)
}

/// The columns of delays; IPDV, which the sink in the kernel does not have, where a row has it.
fn delays<'a, R: Delayed>(columns: Columns<'a, R>, rows: &[R]) -> Columns<'a, R> {
    let columns = columns
        .number("rate", |row| cell(row, |point| rate(Some(point.rate))))
        .number("min", |row| cell(row, |point| time(Some(point.min_ns))))
        .number("mean", |row| cell(row, |point| nanoseconds(point.mean_ns)))
        .number("median", |row| cell(row, |point| time(point.typical_ns)))
        .number("1 % to 99 %", |row| {
            cell(row, |point| spread(point.typical_spread_ns))
        })
        .number("99 %", |row| cell(row, |point| time(point.p99_ns)))
        .number("99.9 %", |row| cell(row, |point| time(point.worst_ns)))
        .number("1 % to 99 %", |row| {
            cell(row, |point| spread(point.worst_spread_ns))
        })
        .number("99.99 %", |row| cell(row, |point| time(point.p9999_ns)))
        .number("max", |row| cell(row, |point| time(Some(point.max_ns))))
        .number("PDV", |row| cell(row, |point| time(point.pdv_ns)))
        .number("mean variation", |row| {
            cell(row, |point| or_dash(point.variation_ns, nanoseconds))
        });
    let mut points = rows.iter().filter_map(Delayed::point);
    let columns = if points.any(|point| point.ipdv_ns.is_some()) {
        columns.number("IPDV, ns", |row| cell(row, ipdv))
    } else {
        columns
    };
    columns.number("lost", |row| cell(row, |point| point.lost.to_string()))
}

/// From one time to another.
fn spread(times: Option<(u64, u64)>) -> String {
    or_dash(times, |(least, most)| {
        format!("{} to {}", time(Some(least)), time(Some(most)))
    })
}

fn ipdv(point: &LatencyPoint) -> String {
    or_dash(point.ipdv_ns, |(least, middle, most)| {
        format!("{least} / {middle} / {most}")
    })
}

pub(super) fn by_load(report: &Report) -> Vec<Block> {
    let mut rows: Vec<(&Entry, &LatencyPoint)> = Vec::new();
    let mut plots = Vec::new();
    for entry in of(report, Test::Latency) {
        let Details::Latency { points } = &entry.details else {
            continue;
        };
        rows.extend(points.iter().map(|point| (entry, point)));
        let mut plot = Plot::new(
            format!("Delay at {} bytes", entry.label),
            Axis::new("frames beyond, share (log): 1 - percentile").logarithmic(),
            Axis::new("delay, ns").logarithmic(),
        );
        for point in points {
            let mut series = Series::line(format!("{} load", per_cent(point.share, 0)));
            for &(share, delay) in point.distribution.iter().filter(|(share, _)| *share < 1.0) {
                series = series.point(1.0 - share, delay as f64);
            }
            plot = plot.series(series);
        }
        plots.push(plot);
    }
    let columns = Columns::new("Latency (RFC 2544 §26.2, RFC 8219 §7.2, §7.3)", &rows)
        .text("frame bytes", |(entry, _)| label(entry))
        .number("load", |(_, point)| per_cent(point.share, 0));
    delays(columns, &rows)
        .caption(
            "Median of the repetitions; min and max of all; behind the median and the 99.9th \
             percentile those of the repetitions, 1st to 99th percentile. Delays are of received \
             frames, application to application, the tester's own queueing included; the \
             self-test's floor stands below. A percentile with fewer than ten samples beyond it \
             is not printed.",
        )
        .blocks(plots)
}

pub(super) fn by_payload(report: &Report) -> Vec<Block> {
    let mut rows: Vec<(&Entry, &SweepPoint)> = Vec::new();
    let mut goodput = Series::line("goodput");
    let mut delay = Series::line("median delay");
    let mut jitter = Series::line("PDV (99.9 % - min)");
    for entry in of(report, Test::Sweep) {
        let Details::Sweep(found) = &entry.details else {
            continue;
        };
        rows.push((entry, found));
        let at = f64::from(found.payload_bytes);
        goodput = goodput.point(at, found.goodput / 1e6);
        let point = found.delay.as_ref();
        if let Some(ns) = point.and_then(|point| point.typical_ns) {
            delay = delay.point(at, ns as f64 / 1e3);
        }
        if let Some(ns) = point.and_then(|point| point.pdv_ns) {
            jitter = jitter.point(at, ns as f64 / 1e3);
        }
    }
    let plot = |title: &str, y: &str| {
        let x = Axis::new("UDP payload, bytes");
        Plot::new(title, x, Axis::new(y).from_zero())
    };
    let rates = plot("Goodput by payload", "Mbit/s of payload").series(goodput);
    let times = plot("Delay and jitter by payload", "µs")
        .series(delay)
        .series(jitter);
    let plots = (rows.len() > 1).then_some([rates, times]);
    let columns = Columns::new("UDP payload sweep", &rows)
        .number("payload", |(_, found)| found.payload_bytes.to_string())
        .number("throughput", |(entry, _)| rate(entry.frames_per_second))
        .number("goodput", |(_, found)| {
            BitsPerSecond(found.goodput).to_string()
        });
    delays(columns, &rows)
        .caption("Throughput by UDP payload; delay and jitter at half of it.")
        .blocks(plots.into_iter().flatten())
}
