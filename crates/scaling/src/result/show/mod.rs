//! A result as a document: sentence, table, curve, cause, law, environment.

mod cause;
mod plots;

use cause::cause;
use figures::coverage;
use plots::{curve, straight_line};
use report::units::Nanoseconds;
use report::{Block, Document, Table, capital};

use super::{PointResult, ScaleResult};
use crate::harness::plan::{Mode, Placement};
use crate::laws::form::Form;
use crate::laws::usl::Usl;

/// Draws a result.
pub fn document(result: &ScaleResult) -> Document {
    let mut document = Document::new(format!("Scaling of {}", result.command.join(" ")))
        .verdict(result.sentence.clone())
        .verdict(format!("Next: {}", result.next_experiment));
    document = document
        .block(Block::Table(points_table(result)))
        .block(Block::Plot(curve(result)));
    document = filled(cause(document, result), beside_table(result));
    document = document.heading("Law").text(law_words(result));
    if first_points(result).count() > 2 {
        document = document.block(Block::Plot(straight_line(result)));
    }
    document = filled(document, forecast_table(result));
    if !result.notes.is_empty() {
        document = document.heading("Notes");
        for note in &result.notes {
            document = document.text(capital(&note.to_string()));
        }
    }
    if !result.not_measured.is_empty() {
        document = document
            .heading("Not measured here")
            .text(capital(&result.not_measured.join("; ")) + ".");
    }
    document.environment(result.environment.facts())
}

/// `document` with `table` at its end, unless that has no rows.
fn filled(document: Document, table: Table) -> Document {
    if table.rows.is_empty() {
        return document;
    }
    document.block(Block::Table(table))
}

pub(super) fn first_placement(result: &ScaleResult) -> Placement {
    result
        .points
        .first()
        .map_or(Placement::Pinned, |p| p.placement)
}

/// The points of the first placement, pinned where both were swept.
pub(super) fn first_points(result: &ScaleResult) -> impl Iterator<Item = &PointResult> {
    let placement = first_placement(result);
    let of_first = move |p: &&PointResult| p.placement == placement;
    result.points.iter().filter(of_first)
}

pub(super) fn placement_name(placement: Placement) -> String {
    report::json::name(&placement)
}

/// Seconds in the unit that suits them.
pub(crate) fn seconds(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", Nanoseconds((value.abs() * 1e9).round() as u64))
}

/// The table of all points.
pub fn points_table(result: &ScaleResult) -> Table {
    let mut table = Table::new("What each core buys")
        .number("cores")
        .text("placement")
        .numbers(["time", "speed-up", "interval"])
        .numbers(["efficiency", "e(N)", "cores busy"]);
    for point in &result.points {
        table.push([
            point.cores.to_string(),
            placement_name(point.placement),
            seconds(point.seconds),
            format!("{:.3}", point.speedup),
            format!("{:.3}", point.interval()),
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
            " One core against one core gave {:.3} {:#.3}.",
            c.ratio, c.interval
        )
    });
    table.caption(format!(
        "{} rounds in random order, {kind}; ratios within a round, median; an interval holds the \
         truth in {:.0} of 100 cases.{control}",
        result.rounds,
        coverage(result.rounds) * 100.0
    ))
}

fn law_words(result: &ScaleResult) -> String {
    let law = &result.law;
    let mut words = match law.choice.fit() {
        Some(fit) => coefficients(fit.form, &fit.law),
        None if law.choice.candidates.is_empty() => {
            "These core counts allow no law to be tested.".to_owned()
        }
        None => "Linear scaling is ruled out, and these core counts allow no other law to be \
                 tested."
            .to_owned(),
    };
    if let Some(found) = &law.coefficients {
        words += &format!(
            " Intervals of the full law: sigma {:#.4}, kappa {:#.5}; {:.0} % of the refits have \
             no peak.",
            found.sigma,
            found.kappa,
            found.without_peak * 100.0
        );
    }
    if let Some((e, interval)) = law.serial_fraction {
        words += &format!(
            " Serial fraction at the largest core count: {e:.4} {interval:#.4}, which is sigma + \
             kappa N."
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
    let peak = capital(&law.peak.to_string());
    words + &format!(" {peak}. Misfits count as shares of the rate.")
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

fn forecast_table(result: &ScaleResult) -> Table {
    let mut table = Table::new("Forecasts")
        .number("cores")
        .text("from")
        .number("speed-up")
        .text("measured later");
    for score in &result.one_core_forecast {
        let held = if score.held { "held" } else { "missed" };
        table.push([
            score.band.cores.to_string(),
            "one core".to_owned(),
            format!("{:.2}", score.band.speedup),
            format!("{:.2}, {held}", score.measured),
        ]);
    }
    for band in &result.law.forecast {
        table.push([
            band.cores.to_string(),
            "the sweep".to_owned(),
            format!("{:.2}", band.speedup),
            "not yet".to_owned(),
        ]);
    }
    table.caption(
        "From one core: an upper bound with a hint; one core never shows coherency, lock waiting, \
         false sharing, remote memory or stragglers. From the sweep: no further than twice the \
         cores tried.",
    )
}

fn beside_table(result: &ScaleResult) -> Table {
    let mut table = Table::new("Beside another command")
        .texts(["placement", "command"])
        .numbers(["alone", "beside the other", "times longer", "interval"]);
    let Some(beside) = &result.beside else {
        return table;
    };
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
                format!("{:.3}", effect.interval),
            ]);
        }
    }
    table.caption("Each on one core, measured while the other runs again and again.")
}
