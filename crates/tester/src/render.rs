//! From a stored result to tables and plots: a pure function of [`Report`].

use report::units::FramesPerSecond;
use report::{Axis, Block, Document, Plot, Series, Table};

use crate::honest::Grade;
use crate::result::{Details, Entry, LatencyPoint, Report, Test};

/// The whole report.
pub fn document(report: &Report) -> Document {
    let mut document = Document::new("Corelane test");
    for entry in report
        .results
        .iter()
        .filter(|entry| entry.test != Test::Selftest || report.results.len() == 1)
    {
        document = document.verdict(sentence(entry));
    }
    if report
        .results
        .iter()
        .all(|entry| entry.test == Test::Selftest)
        && report.results.len() > 1
    {
        document = document.verdict(
            "The tester alone: what it offers, receives and checks without loss, by frame size.",
        );
    }
    if let Some(reason) = &report.stopped {
        document = document.verdict(format!(
            "The run was stopped early ({reason}); what follows was measured before."
        ));
    }
    let mut facts = report.setup.clone();
    facts.extend(report.environment.facts());
    document = document.environment(facts);
    for block in [
        throughput(report),
        goals(report),
        latency(report),
        loss(report),
        back_to_back(report),
        recovery(report),
        reset(report),
        sweep(report),
        selftest(report),
        trials(report),
    ]
    .into_iter()
    .flatten()
    {
        document = document.block(block);
    }
    document
        .heading("Deviations from the RFCs")
        .text(format!("{}.", report.deviations.join("; ")))
}

/// One row in a sentence.
pub fn sentence(entry: &Entry) -> String {
    let what = format!("{} at {}", entry.test.name(), entry.label);
    let figure = match (&entry.details, entry.frames_per_second) {
        (_, None) => return format!("{what}: no valid number. {}", capital(&entry.because)),
        (Details::Latency { points }, Some(_)) => points
            .iter()
            .rev()
            .find(|point| point.share < 0.95)
            .map_or_else(
                || "no delay".to_owned(),
                |point| {
                    format!(
                        "median {}, 99.9 % within {} at 90 % load",
                        time(point.typical_ns),
                        time(point.worst_ns)
                    )
                },
            ),
        (Details::BackToBack(found), Some(_)) => {
            format!(
                "{:.0} frames; corrected buffer time {}",
                found.average,
                nanoseconds(found.corrected_seconds * 1e9)
            )
        }
        (Details::Recovery(found), Some(_)) => {
            format!("{} after the overload", nanoseconds(found.average * 1e9))
        }
        (Details::Reset(found), Some(_)) => {
            format!("{:.1} ms without forwarding", found.average_ms)
        }
        (_, Some(rate)) => FramesPerSecond(rate).to_string(),
    };
    let mark = match entry.verdict {
        Grade::Limited => " at least",
        _ => "",
    };
    format!(
        "{what}:{mark} {figure}; {}: {}.",
        entry.verdict.word(),
        entry.because
    )
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        format!("{}{}.", first.to_uppercase(), letters.as_str())
    })
}

fn rate(value: Option<f64>) -> String {
    value.map_or_else(
        || "-".to_owned(),
        |value| FramesPerSecond(value).to_string(),
    )
}

fn nanoseconds(value: f64) -> String {
    report::units::Nanoseconds(value.max(0.0).round() as u64).to_string()
}

fn time(value: Option<u64>) -> String {
    value.map_or_else(
        || "-".to_owned(),
        |value| report::units::Nanoseconds(value).to_string(),
    )
}

fn of(report: &Report, test: Test) -> Vec<&Entry> {
    report
        .results
        .iter()
        .filter(|entry| entry.test == test)
        .collect()
}

fn times(entry: &Entry) -> String {
    match (entry.selftest_frames_per_second, entry.frames_per_second) {
        (Some(selftest), Some(rate)) if rate > 0.0 => format!("{:.1}", selftest / rate),
        _ => "-".to_owned(),
    }
}

fn throughput(report: &Report) -> Vec<Block> {
    let entries = of(report, Test::Throughput);
    if entries.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new("Throughput (RFC 2544 §26.1)")
        .text("frame bytes")
        .number("throughput")
        .number("bits/s")
        .number("fails at")
        .number("medium")
        .number("self-test")
        .number("factor")
        .text("verdict")
        .caption("Highest rate in each direction without a lost, doubled or corrupted frame; sizes with FCS. The self-test is the same tester with a cable in the device's place.");
    let mut measured = Series::line("measured");
    let mut selftest = Series::reference("self-test (the tester's own limit)");
    let mut medium = Series::reference("medium (theory)");
    for entry in &entries {
        let upper = if let Details::Throughput(found) = &entry.details {
            found.upper
        } else {
            None
        };
        let bits = entry.frames_per_second.map_or_else(
            || "-".to_owned(),
            |rate| FramesPerSecond(rate).at(entry.frame_bytes).to_string(),
        );
        table.push([
            entry.label.clone(),
            rate(entry.frames_per_second),
            bits,
            rate(upper),
            rate(entry.theoretical_frames_per_second),
            rate(entry.selftest_frames_per_second),
            times(entry),
            entry.verdict.word().to_owned(),
        ]);
        let at = f64::from(entry.frame_bytes);
        for (series, value) in [
            (&mut measured, entry.frames_per_second),
            (&mut selftest, entry.selftest_frames_per_second),
            (&mut medium, entry.theoretical_frames_per_second),
        ] {
            if let Some(value) = value {
                *series = std::mem::replace(series, Series::line("")).point(at, value);
            }
        }
    }
    let mut plot = Plot::new(
        "Throughput by frame size",
        Axis::new("frame size, bytes with FCS"),
        Axis::new("frames per second").from_zero(),
    );
    for series in [measured, selftest, medium]
        .into_iter()
        .filter(|series| !series.points.is_empty())
    {
        plot = plot.series(series);
    }
    let mut blocks = vec![Block::Table(table)];
    if entries.len() > 1 {
        blocks.push(Block::Plot(plot));
    }
    blocks
}

fn goals(report: &Report) -> Vec<Block> {
    let mut table = Table::new("Loss ratio goals (MLRsearch, draft-15)")
        .text("frame bytes")
        .text("goal")
        .number("loss ratio")
        .number("exceed ratio")
        .number("duration sum, s")
        .number("lower bound")
        .number("upper bound")
        .number("conditional throughput")
        .text("regular");
    for entry in of(report, Test::Throughput) {
        let Details::Throughput(found) = &entry.details else {
            continue;
        };
        for goal in &found.goals {
            table.push([
                entry.label.clone(),
                goal.name.clone(),
                format!("{} %", goal.loss_ratio * 100.0),
                format!("{} %", goal.exceed_ratio * 100.0),
                goal.duration_sum.to_string(),
                rate(goal.lower),
                rate(goal.upper),
                rate(goal.conditional),
                if goal.regular { "yes" } else { "no" }.to_owned(),
            ]);
        }
    }
    if table.rows.is_empty() {
        Vec::new()
    } else {
        vec![Block::Table(table)]
    }
}

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

fn latency(report: &Report) -> Vec<Block> {
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

fn loss(report: &Report) -> Vec<Block> {
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
        blocks.push(Block::Table(table));
        blocks.push(Block::Plot(plot));
    }
    blocks
}

fn back_to_back(report: &Report) -> Vec<Block> {
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
        .caption("The burst rate is measured within the bursts: a software tester does not hold a medium's smallest gap.");
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
    vec![Block::Table(table), Block::Plot(plot.series(bars))]
}

fn recovery(report: &Report) -> Vec<Block> {
    let mut table = Table::new("System recovery (RFC 2544 §26.5)")
        .text("frame bytes")
        .number("throughput")
        .number("overload")
        .number("recovery time")
        .number("trials")
        .text("verdict");
    for entry in of(report, Test::Recovery) {
        let Details::Recovery(found) = &entry.details else {
            continue;
        };
        table.push([
            entry.label.clone(),
            FramesPerSecond(found.throughput).to_string(),
            FramesPerSecond(found.overload).to_string(),
            if found.seconds.is_empty() {
                "-".to_owned()
            } else {
                nanoseconds(found.average * 1e9)
            },
            found.seconds.len().to_string(),
            entry.verdict.word().to_owned(),
        ]);
    }
    if table.rows.is_empty() {
        Vec::new()
    } else {
        vec![Block::Table(table)]
    }
}

fn reset(report: &Report) -> Vec<Block> {
    let mut table = Table::new("Reset (RFC 6201)")
        .text("frame bytes")
        .text("what was done")
        .number("rate")
        .number("lost, mean")
        .number("by loss, ms")
        .number("by silence, ms")
        .number("trials")
        .text("verdict")
        .caption("Two methods that check each other: lost frames over the rate, and the longest time without an arrival.");
    for entry in of(report, Test::Reset) {
        let Details::Reset(found) = &entry.details else {
            continue;
        };
        let mean = |values: &[f64]| {
            if values.is_empty() {
                "-".to_owned()
            } else {
                format!("{:.1}", values.iter().sum::<f64>() / values.len() as f64)
            }
        };
        let lost: Vec<f64> = found.lost.iter().map(|&lost| lost as f64).collect();
        table.push([
            entry.label.clone(),
            found.action.clone(),
            rate(entry.frames_per_second),
            mean(&lost),
            mean(&found.by_loss_ms),
            mean(&found.by_silence_ms),
            found.by_loss_ms.len().to_string(),
            entry.verdict.word().to_owned(),
        ]);
    }
    if table.rows.is_empty() {
        Vec::new()
    } else {
        vec![Block::Table(table)]
    }
}

fn sweep(report: &Report) -> Vec<Block> {
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

fn selftest(report: &Report) -> Vec<Block> {
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
        .caption("The floor is the delay at a tenth of the rate that it holds: no result can be below it.");
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

fn trials(report: &Report) -> Vec<Block> {
    let mut table = Table::new("Trials")
        .text("test")
        .text("frame bytes")
        .number("no.")
        .text("for")
        .number("intended/s")
        .number("offered/s")
        .number("intended")
        .number("unsent")
        .number("sent")
        .number("received")
        .number("lost")
        .number("duplicate")
        .number("reordered")
        .number("late")
        .number("corrupt")
        .number("misdirected")
        .number("stray")
        .text("valid")
        .caption("Sent = received + lost, and arrivals = received + duplicate + late + corrupt + misdirected + residual + stray, in every trial.");
    for entry in &report.results {
        for trial in &entry.trials {
            let counts = &trial.counts;
            let mut row = vec![
                entry.test.name().to_owned(),
                entry.label.clone(),
                trial.number.to_string(),
                trial.purpose.clone(),
                trial
                    .intended_rate
                    .map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}")),
                format!("{:.0}", trial.offered_rate),
            ];
            row.extend(
                [
                    counts.intended,
                    counts.unsent,
                    counts.sent,
                    counts.received,
                    counts.lost,
                    counts.duplicate,
                    counts.reordered,
                    counts.late,
                    counts.corrupt,
                    counts.misdirected,
                    counts.stray,
                ]
                .map(|count| count.to_string()),
            );
            row.push(match &trial.validity {
                crate::trial::Validity::Valid => "yes".to_owned(),
                crate::trial::Validity::Noisy(reason) => format!("noisy: {reason}"),
                crate::trial::Validity::Invalid(reason) => format!("no: {reason}"),
            });
            table.push(row);
        }
    }
    // On the terminal hundreds of rows would bury the result: the page has them.
    vec![Block::Html(table.to_html())]
}
