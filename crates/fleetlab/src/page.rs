//! What people read: the answer, the table, and each run folded on the page.

use figures::{median, range};
use report::{Block, Document, Table, capital};

use crate::event::Event;
use crate::result::{FleetLab, Run};

/// The report of a run.
pub fn document(lab: &FleetLab) -> Document {
    let mut document = Document::new("What the events of a fleet cost");
    for sentence in answer(lab) {
        document = document.verdict(sentence);
    }
    document = document.block(Block::Table(table(lab)));
    let notes: Vec<String> = lab.runs.iter().filter_map(note).collect();
    if !notes.is_empty() {
        let title = "What did not go as it should".to_owned();
        document = document.block(Block::List {
            title,
            items: notes,
        });
    }
    document
        .details("Each run", vec![Block::Table(each(lab))])
        .text(format!("Measured on {}.", lab.environment.machine()))
        .environment(lab.environment.facts())
}

/// Events without loss in one sentence, each of the others in one of its own, then moves.
fn answer(lab: &FleetLab) -> Vec<String> {
    let all = lab.by_event();
    let is_clean = |runs: &[&Run]| runs.iter().all(|run| run.lost == 0);
    let clean: Vec<&str> = all
        .iter()
        .filter(|(_, runs)| is_clean(runs))
        .map(|(event, _)| event.words())
        .collect();
    let mut sentences = Vec::new();
    if !clean.is_empty() {
        sentences.push(format!("No frame was lost by: {}.", clean.join(", ")));
    }
    for (event, runs) in all.iter().filter(|(_, runs)| !is_clean(runs)) {
        let outages = runs.iter().map(|run| run.outage_ms);
        let (_, longest) = range(outages.clone().collect::<Vec<_>>());
        sentences.push(format!(
            "{}: {} frames lost in {}, the longest outage {longest:.0} ms, its median {:.0} ms.",
            capital(event.words()),
            runs.iter().map(|run| run.lost).sum::<u64>(),
            match runs.len() {
                1 => "one run".to_owned(),
                count => format!("{count} runs"),
            },
            median(outages),
        ));
    }
    let sum = |of: fn(&Run) -> u64| lab.runs.iter().map(of).sum::<u64>();
    let (moved, needlessly) = (sum(|run| run.moved), sum(|run| run.moved_needlessly));
    if moved > 0 {
        sentences.push(format!(
            "Flows moved {moved} times, and {needlessly} of these between nodes that had no part in \
             the event."
        ));
    }
    sentences
}

fn table(lab: &FleetLab) -> Table {
    let mut table = Table::new("").text("event").numbers([
        "runs",
        "frames lost",
        "longest outage, ms",
        "flows moved",
        "needlessly",
        "noticed after, ms",
        "by the kernels",
    ]);
    for (event, runs) in lab.by_event() {
        table.push(row(event, &runs));
    }
    let spacing = f64::from(lab.flows) * 1000.0 / f64::from(lab.frames_per_second);
    table.caption(format!(
        "Medians, and the least to the most of the runs. {} nodes with {}{}, {} flows, {} frames a second; \
         a flow has a frame each {spacing:.0} ms. The last column is the share of frames that kernels \
         forwarded.",
        lab.nodes,
        lab.daemon.to_string().to_uppercase(),
        if lab.resilient { " in a resilient group" } else { "" },
        lab.flows,
        lab.frames_per_second,
    ))
}

fn row(event: Event, runs: &[&Run]) -> Vec<String> {
    let of = |value: fn(&Run) -> f64| spread(runs.iter().map(|run| value(run)), 0);
    let noticed = runs.iter().filter_map(|run| run.noticed_ms);
    vec![
        event.words().to_owned(),
        runs.len().to_string(),
        of(|run| run.lost as f64),
        of(|run| run.outage_ms),
        of(|run| run.moved as f64),
        of(|run| run.moved_needlessly as f64),
        spread(noticed, 0),
        format!(
            "{:.0} %",
            100.0 * median(runs.iter().map(|run| run.share_of_kernels()))
        ),
    ]
}

/// `5 (3–9)`, or `5` when all are equal; `-` for none.
fn spread(values: impl Iterator<Item = f64>, decimals: usize) -> String {
    let values: Vec<f64> = values.collect();
    if values.is_empty() {
        return "-".to_owned();
    }
    let (least, most) = range(&values);
    let middle = format!("{:.decimals$}", median(&values));
    let (least, most) = (format!("{least:.decimals$}"), format!("{most:.decimals$}"));
    if least == most {
        middle
    } else {
        format!("{middle} ({least}–{most})")
    }
}

fn each(lab: &FleetLab) -> Table {
    let mut table = Table::new("").text("event").numbers([
        "run",
        "node",
        "frames",
        "lost",
        "twice",
        "outage, ms",
        "moved",
        "needlessly",
        "in the log after, ms",
        "route changed after, ms",
        "took, ms",
        "sender kept, ms",
    ]);
    let time = |time: Option<f64>| time.map_or("-".to_owned(), |time| format!("{time:.1}"));
    for run in &lab.runs {
        table.push([
            run.event.words().to_owned(),
            run.repetition.to_string(),
            run.node.to_string(),
            run.sent.to_string(),
            run.lost.to_string(),
            run.duplicates.to_string(),
            time(Some(run.outage_ms)),
            run.moved.to_string(),
            run.moved_needlessly.to_string(),
            time(run.logged_ms),
            time(run.rerouted_ms),
            time(Some(run.took_ms)),
            time(Some(run.sender_pause_ms)),
        ]);
    }
    table
}

fn note(run: &Run) -> Option<String> {
    let note = run.note.as_ref()?;
    Some(format!(
        "{}, run {}: {note}",
        capital(run.event.words()),
        run.repetition
    ))
}
