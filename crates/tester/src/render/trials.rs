//! Every trial.

use report::Block;

use super::cells::{Columns, label, or_dash, per_cent, time};
use crate::places;
use crate::result::{Entry, Report};
use crate::trial::{Trial, Validity};

pub(super) fn table(report: &Report) -> Vec<Block> {
    let mut rows: Vec<(&Entry, &Trial)> = Vec::new();
    for entry in &report.results {
        rows.extend(entry.trials.iter().map(|trial| (entry, trial)));
    }
    let table = Columns::new("Trials", &rows)
        .text("test", |(entry, _)| entry.test.name())
        .text("frame bytes", |(entry, _)| label(entry))
        .number("no.", |(_, trial)| trial.number.to_string())
        .text("for", |(_, trial)| trial.purpose.clone())
        .number("intended/s", |(_, trial)| {
            or_dash(trial.intended_rate, |rate| format!("{rate:.0}"))
        })
        .number("offered/s", |(_, trial)| {
            format!("{:.0}", trial.offered_rate)
        })
        .number("intended", |(_, trial)| trial.counts.intended.to_string())
        .number("unsent", |(_, trial)| trial.counts.unsent.to_string())
        .number("sent", |(_, trial)| trial.counts.sent.to_string())
        .number("received", |(_, trial)| trial.counts.received.to_string())
        .number("lost", |(_, trial)| trial.counts.lost.to_string())
        .text("lost where", |(_, trial)| places::words(&trial.lost_at))
        .number("duplicate", |(_, trial)| trial.counts.duplicate.to_string())
        .number("reordered", |(_, trial)| trial.counts.reordered.to_string())
        .number("late", |(_, trial)| trial.counts.late.to_string())
        .number("corrupt", |(_, trial)| trial.counts.corrupt.to_string())
        .number("misdirected", |(_, trial)| {
            trial.counts.misdirected.to_string()
        })
        .number("stray", |(_, trial)| trial.counts.stray.to_string())
        .number("drain", |(_, trial)| time(trial.drain_ns))
        .number("waiting", |(_, trial)| per_cent(trial.waited, 2))
        .text("valid", |(_, trial)| match &trial.validity {
            Validity::Valid if trial.filled => "yes, and a buffer filled: failed".to_owned(),
            Validity::Valid => "yes".to_owned(),
            Validity::Noisy(reason) if trial.repeated => format!("noisy, run again: {reason}"),
            Validity::Noisy(reason) => format!("noisy: {reason}"),
            Validity::Invalid(reason) => format!("no: {reason}"),
        })
        .caption(
            "Sent = received + lost, and arrivals = received + duplicate + late + corrupt + \
             misdirected + residual + stray, in every trial. Lost where: by the counters of the \
             interfaces on the way and the device's own reasons, added up to all that were lost. Drain: how much longer than the least \
             delay the last frame took, by what the device's buffers held. Waiting: share of the \
             time in which a thread of the trial was ready to run and others had its core.",
        )
        .table();
    vec![Block::Table(table)]
}
