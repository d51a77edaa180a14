//! Where the loss went: the parts with their parts, what pressing and changing did, what the
//! instruments read.

use figures::Interval;
use report::{Block, Document, Table, capital};

use super::filled;
use crate::result::sentence::finished;
use crate::result::{Cause, ScaleResult};

fn cause_row(part: &Cause, name: String) -> [String; 5] {
    let interval = part.interval.map_or_else(
        || "–".to_owned(),
        |Interval { low, high }| format!("{:.1} %", Interval::new(percent(low), percent(high))),
    );
    [
        name,
        format!("{:.1} %", percent(part.share)),
        interval,
        format!("{:.4}", part.factor),
        part.evidence.clone(),
    ]
}

/// A share in per cent, to the digit that is printed: what rounds to nothing is nothing, never
/// below it.
fn percent(share: f64) -> f64 {
    (share * 1000.0).round() / 10.0 + 0.0 // -0 + 0 is 0
}

/// Adds the section to `document`.
pub(super) fn cause(document: Document, result: &ScaleResult) -> Document {
    let mut document = document.heading("Where the loss went");
    if result.cause.is_empty() {
        document = document.text(
            "Less than a fiftieth was lost, or the runs were too short to say what they cost.",
        );
    } else {
        let mut table = Table::new("Parts of the lost efficiency")
            .text("part")
            .numbers(["share", "interval", "factor"])
            .text("known by");
        for part in result.cause.iter().filter(|part| part.of.is_none()) {
            table.push(cause_row(part, part.name.clone()));
            let children = result
                .cause
                .iter()
                .filter(|child| child.of.as_deref() == Some(&part.name));
            for child in children {
                table.push(cause_row(child, format!("– {}", child.name)));
            }
        }
        if let Some(rest) = result.unexplained {
            table.push([
                "unexplained",
                &format!("{:.1} %", percent(rest)),
                "–",
                "–",
                "what the dashes leave",
            ]);
        }
        document = document.block(Block::Table(table.caption(
            "Shares of the logarithm of the efficiency. Those of the exact split add to 100 %, \
             below 0 is a gain, and their factors multiply to the efficiency. A dash divides the \
             part above it; such lines may overlap, and have no interval of their own.",
        )));
    }
    document = filled(document, pressure_table(result));
    document = filled(document, intervention_table(result));
    instruments(document, result)
}

/// Short readings in a table, those that take a sentence as one.
fn instruments(mut document: Document, result: &ScaleResult) -> Document {
    const SHORT: usize = 60;
    let (short, long): (Vec<_>, Vec<_>) = result
        .instruments
        .iter()
        .partition(|(_, value)| value.chars().count() <= SHORT);
    let mut table = Table::new("Instruments").text("reading").text("value");
    for (name, value) in short {
        table.push([name, value]);
    }
    document = filled(document, table);
    for (name, value) in long {
        document = document.text(finished(&format!("{}: {value}", capital(name))));
    }
    document
}

fn pressure_table(result: &ScaleResult) -> Table {
    let mut table = Table::new("Pressed on one resource at a time")
        .text("resource")
        .numbers(["dose", "slowdown", "interval"])
        .text("felt")
        .number("of the dearer work");
    for channel in &result.pressure {
        for dose in &channel.doses {
            let full = (dose.duty - 1.0).abs() < 1e-9;
            table.push([
                channel.channel.name().to_owned(),
                format!("{:.0} %", dose.duty * 100.0),
                format!("{:.3}", dose.slowdown),
                format!("{:.3}", dose.interval),
                if dose.felt { "yes" } else { "no" }.to_owned(),
                match channel.share {
                    Some(share) if full => format!("at most {:.0} %", share * 100.0),
                    _ => "–".to_owned(),
                },
            ]);
        }
    }
    table.caption(
        "The command on one core. A dose is a share of the time, for the last-level cache a share \
         of the cache. Felt: the effect clears the control. Shares are upper bounds and overlap: \
         an aggressor presses harder than most programs do.",
    )
}

fn intervention_table(result: &ScaleResult) -> Table {
    let mut table = Table::new("Changed one thing")
        .text("change")
        .numbers(["times longer", "interval"])
        .text("felt");
    for change in &result.interventions {
        table.push([
            change.what.clone(),
            format!("{:.3}", change.ratio),
            format!("{:.3}", change.interval),
            if change.felt { "yes" } else { "no" }.to_owned(),
        ]);
    }
    table.caption("Below 1 the change made it faster.")
}

#[cfg(test)]
#[path = "../../../tests/unit/cause.rs"]
mod tests;
