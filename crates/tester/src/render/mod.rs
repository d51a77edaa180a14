//! From a stored result to tables and plots: a pure function of [`Report`].
//!
//! One file per kind of table; [`sentence`](fn@sentence) says a result in one line.

mod bursts;
mod cells;
mod cores;
mod delay;
mod interruption;
mod loss;
mod selftest;
mod sentence;
mod throughput;
mod trials;

use report::{Block, Document, capital};
pub use sentence::sentence;

use crate::by_cores;
use crate::result::{Report, Test};

/// The whole report.
pub fn document(report: &Report) -> Document {
    let mut document = Document::new("Corelane test");
    for entry in report
        .results
        .iter()
        .filter(|entry| entry.test != Test::Selftest || report.results.len() == 1)
        .filter(|entry| by_cores::of(entry).is_none())
    {
        document = document.verdict(sentence(entry));
    }
    for sentence in cores::sentences(report) {
        document = document.verdict(sentence);
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
        throughput::table(report),
        cores::table(report),
        throughput::goals(report),
        delay::by_load(report),
        loss::curve(report),
        bursts::back_to_back(report),
        bursts::bursty(report),
        interruption::recovery(report),
        interruption::reset(report),
        delay::by_payload(report),
        selftest::table(report),
    ]
    .into_iter()
    .flatten()
    {
        document = document.block(block);
    }
    let deviations = report.deviations.iter();
    let deviations = deviations.map(|deviation| format!("{}.", capital(deviation)));
    document
        .heading("Deviations from the RFCs")
        .block(Block::List {
            title: String::new(),
            items: deviations.collect(),
        })
        .details("Every trial", trials::table(report))
}
