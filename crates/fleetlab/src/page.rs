//! What people read: the answer, two tables, and on the page a timeline of each event and each run.

use figures::{quantile, range};
use report::{Block, Document, Table, capital};

use crate::draw::timelines;
use crate::event::{Event, Forwarder};
use crate::must;
use crate::result::{FleetLab, Run, Runs};

/// The report of a run.
pub fn document(lab: &FleetLab) -> Document {
    let mut document = Document::new("What the events of a fleet cost");
    for sentence in answer(lab) {
        document = document.verdict(sentence);
    }
    if let Some(table) = must::table(lab) {
        document = document.block(Block::Table(table));
    }
    let mut document = document
        .block(Block::Table(losses(lab)))
        .block(Block::Table(flows(lab)));
    let notes: Vec<String> = lab.runs.iter().filter_map(note).collect();
    if !notes.is_empty() {
        let title = "What did not go as it should".to_owned();
        document = document.block(Block::List {
            title,
            items: notes,
        });
    }
    for (title, plot) in timelines(lab) {
        document = document.details(title, vec![Block::Plot(plot)]);
    }
    document
        .details("Each run", vec![Block::Table(each(lab))])
        .text(format!("Measured on {}.", lab.environment.machine()))
        .environment(lab.environment.facts())
}

/// Events without loss in one sentence, each of the others in one of its own, then the kernel alone,
/// then moves.
fn answer(lab: &FleetLab) -> Vec<String> {
    let all = lab.by_event();
    let (corelane, kernel): (Vec<&Runs>, Vec<&Runs>) = all
        .iter()
        .partition(|runs| runs.forwarder == Forwarder::Corelane);
    // What does not fit into a full queue is no outage.
    let lost = |runs: &&&Runs| runs.event != Event::Load && runs.sum(|run| run.lost) > 0;
    let clean = corelane.iter().filter(|runs| runs.sum(|run| run.lost) == 0);
    let clean: Vec<&str> = clean.map(|runs| runs.event.words()).collect();
    let mut sentences = Vec::new();
    if !clean.is_empty() {
        sentences.push(format!("No frame was lost by: {}.", clean.join(", ")));
    }
    for runs in corelane.iter().filter(lost) {
        let outages: Vec<f64> = runs.all.iter().map(|run| run.outage_ms).collect();
        let (_, longest) = range(&outages);
        sentences.push(format!(
            "{}: {} lost in {}, the longest outage {longest:.0} ms, its median {:.0} ms.",
            capital(runs.event.words()),
            match runs.sum(|run| run.lost) {
                1 => "one frame".to_owned(),
                lost => format!("{lost} frames"),
            },
            match outages.len() {
                1 => "one run".to_owned(),
                count => format!("{count} runs"),
            },
            quantile(outages, 0.5),
        ));
    }
    let alone = kernel.iter().filter(lost);
    let alone = alone.map(|runs| format!("{} {}", runs.event.words(), runs.sum(|run| run.lost)));
    let alone: Vec<String> = alone.collect();
    if !alone.is_empty() {
        let lost = alone.join(", ");
        sentences.push(format!("Frames that the kernel alone lost: {lost}."));
    } else if !kernel.is_empty() {
        sentences.push("The kernel alone lost no frame.".to_owned());
    }
    for run in lab.runs.iter().filter(|run| run.event == Event::Load) {
        sentences.push(format!(
            "{:.0} more frames a second for {:.0} s: {} sessions went down, and {} of {} numbered frames \
             did not come.",
            run.load_per_second,
            run.timeline.seconds(),
            run.false_downs,
            run.lost,
            run.sent,
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

fn losses(lab: &FleetLab) -> Table {
    let mut table = Table::new("Loss and outage").text("event").numbers([
        "runs",
        "lost in all",
        "lost, p50",
        "lost, p99",
        "outage p50, ms",
        "p99, ms",
        "longest, ms",
        "noticed p50, ms",
        "p99, ms",
    ]);
    for runs in lab.by_event() {
        let lost = || runs.all.iter().map(|run| run.lost as f64);
        let outages = || runs.all.iter().map(|run| run.outage_ms);
        let noticed = || runs.all.iter().filter_map(|run| run.noticed_ms);
        let (_, longest) = range(outages().collect::<Vec<_>>());
        table.push([
            runs.words(),
            runs.all.len().to_string(),
            runs.sum(|run| run.lost).to_string(),
            at(lost(), 0.5),
            at(lost(), 0.99),
            at(outages(), 0.5),
            at(outages(), 0.99),
            format!("{longest:.0}"),
            at(noticed(), 0.5),
            at(noticed(), 0.99),
        ]);
    }
    let spacing = f64::from(lab.flows) * 1000.0 / f64::from(lab.frames_per_second);
    table.caption(format!(
        "p50 and p99 are over the runs; of few runs p99 is nearly the most. {} nodes with {}{}, {} flows, \
         {} frames a second; a flow has a frame each {spacing:.0} ms. Noticed: when the spreader's daemon \
         or its kernel's route said so.",
        lab.nodes,
        lab.daemon.to_string().to_uppercase(),
        if lab.resilient { " in a resilient group" } else { "" },
        lab.flows,
        lab.frames_per_second,
    ))
}

fn flows(lab: &FleetLab) -> Table {
    let mut table = Table::new("Flows").text("event").numbers([
        "runs",
        "moved, p50",
        "moved, p99",
        "needlessly, in all",
        "out of order",
        "twice",
        "false downs",
        "by the kernels",
    ]);
    for runs in lab.by_event() {
        let moved = || runs.all.iter().map(|run| run.moved as f64);
        let shares = runs.all.iter().map(|run| run.share_of_kernels());
        table.push([
            runs.words(),
            runs.all.len().to_string(),
            at(moved(), 0.5),
            at(moved(), 0.99),
            runs.sum(|run| run.moved_needlessly).to_string(),
            runs.sum(|run| run.reordered).to_string(),
            runs.sum(|run| run.duplicates).to_string(),
            runs.sum(|run| run.false_downs).to_string(),
            format!("{:.0} %", 100.0 * quantile(shares.collect::<Vec<_>>(), 0.5)),
        ]);
    }
    table.caption(
        "A flow moved needlessly when neither node was the event's. Out of order: frames that came after a \
         later one of their flow. False downs: sessions with other nodes that the spreader lost. The last column is the share of frames that kernels forwarded.",
    )
}

/// The value at this share of the values, without decimals; `-` for none.
fn at(values: impl Iterator<Item = f64>, share: f64) -> String {
    let value = quantile(values.collect::<Vec<_>>(), share);
    if value.is_nan() {
        "-".to_owned()
    } else {
        format!("{value:.0}")
    }
}

fn each(lab: &FleetLab) -> Table {
    let mut table = Table::new("").texts(["event", "by"]).numbers([
        "run",
        "node",
        "frames",
        "lost",
        "twice",
        "out of order",
        "outage, ms",
        "moved",
        "needlessly",
        "in the log after, ms",
        "route changed after, ms",
        "healed after, ms",
        "took, ms",
        "sender kept, ms",
    ]);
    let time = |time: Option<f64>| time.map_or("-".to_owned(), |time| format!("{time:.1}"));
    for run in &lab.runs {
        table.push([
            run.event.words().to_owned(),
            run.forwarder.to_string(),
            run.repetition.to_string(),
            run.node.to_string(),
            run.sent.to_string(),
            run.lost.to_string(),
            run.duplicates.to_string(),
            run.reordered.to_string(),
            time(Some(run.outage_ms)),
            run.moved.to_string(),
            run.moved_needlessly.to_string(),
            time(run.logged_ms),
            time(run.rerouted_ms),
            time(run.healed_ms),
            time(Some(run.took_ms)),
            time(Some(run.sender_pause_ms)),
        ]);
    }
    table
}

fn note(run: &Run) -> Option<String> {
    let note = run.note.as_ref()?;
    let by = match run.forwarder {
        Forwarder::Corelane => "",
        Forwarder::Kernel => ", kernel alone",
    };
    let (event, repetition) = (capital(run.event.words()), run.repetition);
    Some(format!("{event}{by}, run {repetition}: {note}"))
}
