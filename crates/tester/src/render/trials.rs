//! Every trial.

use report::{Block, Table};

use crate::result::Report;
use crate::trial::Validity;

pub(super) fn table(report: &Report) -> Vec<Block> {
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
        .number("waiting")
        .text("valid")
        .caption(
            "Sent = received + lost, and arrivals = received + duplicate + late + corrupt + \
             misdirected + residual + stray, in every trial. Waiting: share of the time in which \
             a thread of the trial was ready to run and others had its core.",
        );
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
            row.push(format!("{:.2} %", trial.waited * 100.0));
            row.push(match &trial.validity {
                Validity::Valid => "yes".to_owned(),
                Validity::Noisy(reason) => format!("noisy: {reason}"),
                Validity::Invalid(reason) => format!("no: {reason}"),
            });
            table.push(row);
        }
    }
    // On the terminal hundreds of rows would bury the result: the page has them.
    vec![Block::Html(table.to_html())]
}
