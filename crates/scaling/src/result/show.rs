//! A result as a document: sentence, table, curve, straight line, cause, environment.

use super::{PointResult, ScaleResult};
use crate::{
    harness::plan::{Mode, Placement},
    laws::{fit::Form, usl::Usl},
    statistics::coverage,
};
use report::{Axis, Block, Document, Plot, Series, Table};

/// Draws a result.
pub fn document(result: &ScaleResult) -> Document {
    let mut document = Document::new(format!("Scaling of {}", result.command.join(" ")))
        .verdict(result.sentence.clone())
        .verdict(format!("Next: {}", result.next_experiment));
    document = document
        .block(Block::Table(points_table(result)))
        .block(Block::Plot(curve(result)));
    if result
        .points
        .iter()
        .filter(|p| p.placement == first_placement(result))
        .count()
        > 2
    {
        document = document.block(Block::Plot(straight_line(result)));
    }
    document = document.heading("Law").text(law_words(result));
    if let Some(table) = forecast_table(result) {
        document = document.block(Block::Table(table));
    }
    document = cause(document, result);
    if let Some(table) = beside_table(result) {
        document = document.block(Block::Table(table));
    }
    if !result.notes.is_empty() {
        document = document.heading("Notes");
        for note in &result.notes {
            document = document.text(note.to_string());
        }
    }
    if !result.not_measured.is_empty() {
        document = document
            .heading("Not measured here")
            .text(result.not_measured.join("; ") + ".");
    }
    document.environment(result.environment.facts())
}

fn first_placement(result: &ScaleResult) -> Placement {
    result
        .points
        .first()
        .map_or(Placement::Pinned, |p| p.placement)
}

const fn placement_name(placement: Placement) -> &'static str {
    match placement {
        Placement::Pinned => "pinned",
        Placement::Free => "free",
    }
}

/// Seconds in the unit that suits them.
fn seconds(value: f64) -> String {
    if value >= 1.0 {
        format!("{value:.3} s")
    } else if value >= 1e-3 {
        format!("{:.2} ms", value * 1e3)
    } else {
        format!("{:.1} µs", value * 1e6)
    }
}

/// The table of all points.
pub fn points_table(result: &ScaleResult) -> Table {
    let mut table = Table::new("What each core buys")
        .number("cores")
        .text("placement")
        .number("time")
        .number("speed-up")
        .number("interval")
        .number("efficiency")
        .number("e(N)")
        .number("cores busy");
    for point in &result.points {
        table.push([
            point.cores.to_string(),
            placement_name(point.placement).to_owned(),
            seconds(point.seconds),
            format!("{:.3}", point.speedup),
            format!("{:.3} to {:.3}", point.low, point.high),
            format!("{:.1} %", point.efficiency * 100.0),
            point
                .karp_flatt
                .map_or_else(|| "–".to_owned(), |e| format!("{e:.4}")),
            format!("{:.2}", point.busy),
        ]);
    }
    let kind = match result.mode {
        Mode::Copies => {
            "copies: the work grows with the cores, speed-up is throughput over that of one copy"
        }
        Mode::Threads | Mode::Make => {
            "one job: the work stays the same, speed-up is time on one core over time on N"
        }
    };
    let control = result.control.map_or(String::new(), |c| {
        format!(
            " One core against one core gave {:.3} [{:.3}, {:.3}].",
            c.ratio, c.interval.low, c.interval.high
        )
    });
    table.caption(format!(
        "{} rounds in random order, {kind}; ratios within a round, median; an interval holds the truth in {:.0} of 100 cases.{control}",
        result.rounds,
        coverage(result.rounds) * 100.0
    ))
}

fn curve(result: &ScaleResult) -> Plot {
    let most = result.points.iter().map(|p| p.cores).max().unwrap_or(1);
    let end = result.law.forecast.last().map_or(most, |band| band.cores);
    let mut plot = Plot::new(
        "Speed-up",
        Axis::new("cores"),
        Axis::new("speed-up").from_zero(),
    );
    for (index, placement) in [Placement::Pinned, Placement::Free].into_iter().enumerate() {
        let points: Vec<&PointResult> = result
            .points
            .iter()
            .filter(|p| p.placement == placement)
            .collect();
        if points.is_empty() {
            continue;
        }
        let mut series =
            Series::line(format!("measured, {}", placement_name(placement))).colour(index);
        for point in points {
            series = series.spread(f64::from(point.cores), point.speedup, point.low, point.high);
        }
        plot = plot.series(series);
    }
    let ideal = Series::reference("linear")
        .point(1.0, 1.0)
        .point(f64::from(most), f64::from(most))
        .colour(7);
    plot = plot.series(ideal);
    if let Some(fit) = result.law.choice.fit()
        && fit.form != Form::Linear
    {
        let mut law = Series::reference(fit.form.name()).colour(3);
        for step in 0..=40 {
            let n = 1.0 + f64::from(step) / 40.0 * (f64::from(most) - 1.0);
            law = law.point(n, fit.law.speedup(n));
        }
        plot = plot.series(law);
    }
    for (name, pick) in [("forecast, at most", true), ("forecast, at least", false)] {
        let Some(last) = result
            .points
            .iter()
            .rfind(|p| p.placement == first_placement(result))
        else {
            break;
        };
        let mut edge = Series::reference(name)
            .point(f64::from(last.cores), last.speedup)
            .colour(if pick { 4 } else { 5 });
        for band in &result.law.forecast {
            edge = edge.point(
                f64::from(band.cores),
                if pick {
                    band.speedup.high
                } else {
                    band.speedup.low
                },
            );
        }
        if edge.points.len() > 1 {
            plot = plot.series(edge);
        }
    }
    plot.caption(format!(
        "Measured to {most} core{}; beyond that a band, to {end} and no further.",
        if most == 1 { "" } else { "s" }
    ))
}

/// Karp and Flatt's fraction over the core count: one straight line holds all three laws.
fn straight_line(result: &ScaleResult) -> Plot {
    let mut series = Series::line("e(N) measured");
    for point in result
        .points
        .iter()
        .filter(|p| p.placement == first_placement(result))
    {
        if let Some(e) = point.karp_flatt {
            series = series.point(f64::from(point.cores), e);
        }
    }
    let mut plot =
        Plot::new("Serial fraction", Axis::new("cores"), Axis::new("e(N)")).series(series);
    if let Some(fit) = result.law.choice.fit() {
        let line = |n: f64| fit.law.serial_fraction(n);
        let most = f64::from(result.points.iter().map(|p| p.cores).max().unwrap_or(2));
        plot = plot.series(
            Series::reference("sigma + kappa N")
                .point(2.0, line(2.0))
                .point(most, line(most)),
        );
    }
    plot.caption("Flat is a serial share (Amdahl), rising is the price of agreement (coherency), falling is more cache.")
}

fn law_words(result: &ScaleResult) -> String {
    let law = &result.law;
    let mut words = match law.choice.fit() {
        Some(fit) => coefficients(fit.form, &fit.law),
        None if law.choice.candidates.is_empty() => {
            "These core counts allow no law to be tested.".to_owned()
        }
        None => {
            "Linear scaling is ruled out, and these core counts allow no other law to be tested."
                .to_owned()
        }
    };
    if let Some(found) = &law.coefficients {
        words += &format!(
            " Intervals of the full law: sigma [{:.4}, {:.4}], kappa [{:.5}, {:.5}]; {:.0} % of the refits have no peak.",
            found.sigma.low,
            found.sigma.high,
            found.kappa.low,
            found.kappa.high,
            found.without_peak * 100.0
        );
    }
    if let Some((e, interval)) = law.serial_fraction {
        words += &format!(
            " Serial fraction at the largest core count: {e:.4} [{:.4}, {:.4}], which is sigma + kappa N.",
            interval.low, interval.high
        );
    }
    for segment in &law.segments {
        let fitted = segment
            .choice
            .fit()
            .map_or("too few counts for a law".to_owned(), |f| {
                coefficients(f.form, &f.law)
            });
        words += &format!(
            " {} to {} cores ({}): {fitted}",
            segment.first, segment.last, segment.what
        );
    }
    let peak = law.peak.to_string();
    let mut letters = peak.chars();
    let start = letters
        .next()
        .map(|c| c.to_uppercase().to_string())
        .unwrap_or_default();
    words += &format!(" {start}{}.", letters.as_str());
    words + " Misfits count as shares of the rate."
}

fn coefficients(form: Form, law: &Usl) -> String {
    match form {
        Form::Linear => "Linear scaling is not beaten by a richer law.".to_owned(),
        Form::Amdahl => format!(
            "Amdahl's law with a serial share of {:.4} is the simplest not beaten.",
            law.sigma
        ),
        Form::Usl => {
            format!(
                "The universal scalability law holds: contention {:.4}, coherency {:.5}.",
                law.sigma, law.kappa
            )
        }
    }
}

fn forecast_table(result: &ScaleResult) -> Option<Table> {
    if result.law.forecast.is_empty() && result.one_core_forecast.is_empty() {
        return None;
    }
    let mut table = Table::new("Forecasts")
        .number("cores")
        .text("from")
        .number("speed-up")
        .text("measured later");
    for score in &result.one_core_forecast {
        table.push([
            score.band.cores.to_string(),
            "one core".to_owned(),
            format!(
                "{:.2} to {:.2}",
                score.band.speedup.low, score.band.speedup.high
            ),
            format!(
                "{:.2}, {}",
                score.measured,
                if score.held { "held" } else { "missed" }
            ),
        ]);
    }
    for band in &result.law.forecast {
        table.push([
            band.cores.to_string(),
            "the sweep".to_owned(),
            format!("{:.2} to {:.2}", band.speedup.low, band.speedup.high),
            "not yet".to_owned(),
        ]);
    }
    Some(table.caption(
        "From one core: an upper bound with a hint; one core never shows coherency, lock waiting, false sharing, remote memory or \
         stragglers. From the sweep: no further than twice the cores tried.",
    ))
}

fn cause(document: Document, result: &ScaleResult) -> Document {
    let mut document = document.heading("Where the loss went");
    if result.cause.is_empty() {
        document = document.text(
            "Less than a fiftieth was lost, or the runs were too short to say what they cost.",
        );
    } else {
        let mut table = Table::new("Parts of the lost efficiency")
            .text("part")
            .number("share")
            .number("interval")
            .number("factor")
            .text("known by");
        for part in &result.cause {
            table.push([
                part.name.clone(),
                format!("{:.1} %", part.share * 100.0),
                format!(
                    "{:.1} to {:.1} %",
                    part.interval.low * 100.0,
                    part.interval.high * 100.0
                ),
                format!("{:.4}", part.factor),
                part.evidence.clone(),
            ]);
        }
        document = document.block(Block::Table(table.caption(
            "Shares of the logarithm of the efficiency, which add to 100 %; below 0 is a gain. The factors multiply to the efficiency.",
        )));
    }
    if !result.pressure.is_empty() {
        let mut table = Table::new("Pressed on one resource at a time")
            .text("resource")
            .number("dose")
            .number("slowdown")
            .number("interval")
            .text("felt")
            .number("of the dearer work");
        for channel in &result.pressure {
            for dose in &channel.doses {
                let full = (dose.duty - 1.0).abs() < 1e-9;
                table.push([
                    channel.channel.name().to_owned(),
                    format!("{:.0} %", dose.duty * 100.0),
                    format!("{:.3}", dose.slowdown),
                    format!("{:.3} to {:.3}", dose.interval.low, dose.interval.high),
                    if full {
                        if channel.felt { "yes" } else { "no" }
                    } else {
                        ""
                    }
                    .to_owned(),
                    match channel.share {
                        Some(share) if full => format!("at most {:.0} %", share * 100.0),
                        _ => "–".to_owned(),
                    },
                ]);
            }
        }
        document = document.block(Block::Table(table.caption(
            "The command on one core. Felt: the effect at full dose clears the control. Shares are upper bounds and overlap: an aggressor \
             presses harder than most programs do.",
        )));
    }
    if !result.instruments.is_empty() {
        let mut table = Table::new("Instruments").text("reading").text("value");
        for (name, value) in &result.instruments {
            table.push([name.clone(), value.clone()]);
        }
        document = document.block(Block::Table(table));
    }
    document
}

fn beside_table(result: &ScaleResult) -> Option<Table> {
    let beside = result.beside.as_ref()?;
    let mut table = Table::new("Beside another command")
        .text("placement")
        .text("command")
        .number("alone")
        .number("beside the other")
        .number("times longer")
        .number("interval");
    let names = [result.command.join(" "), beside.command.join(" ")];
    for (placement, mutual) in [("a core each", &beside.pinned), ("free", &beside.free)] {
        let Some(mutual) = mutual else { continue };
        for (name, effect) in names.iter().zip([mutual.first, mutual.second]) {
            table.push([
                placement.to_owned(),
                name.clone(),
                seconds(effect.alone),
                seconds(effect.beside),
                format!("{:.3}", effect.ratio),
                format!("{:.3} to {:.3}", effect.interval.low, effect.interval.high),
            ]);
        }
    }
    Some(table.caption("Each on one core, measured while the other runs again and again."))
}
