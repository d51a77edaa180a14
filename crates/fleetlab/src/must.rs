//! What must hold, beside what was found.

use figures::quantile;
use report::Table;

use crate::event::{Event, Forwarder};
use crate::result::{FleetLab, Run};

/// These lose no frame.
const WITHOUT_LOSS: [Event; 4] = [Event::Drain, Event::Undrain, Event::TakeOver, Event::Add];
/// An outage may be so much longer than BFD needs to notice, ms.
const AFTER_DETECTION: f64 = 50.0;
/// A session is down after so many packets that did not come.
const PACKETS: f64 = 3.0;

/// A row for each thing of which there are runs.
struct Row {
    what: String,
    must: String,
    found: String,
    holds: bool,
}

/// The table; none when there is no run to which it says anything.
pub(crate) fn table(lab: &FleetLab) -> Option<Table> {
    let rows: Vec<Row> = WITHOUT_LOSS
        .iter()
        .map(|&event| without_loss(lab, event))
        .chain([kill(lab), dead(lab), moves(lab), load(lab)])
        .flatten()
        .collect();
    let mut table = Table::new("What must hold").texts(["what", "must", "found", "holds"]);
    for row in &rows {
        let holds = if row.holds { "yes" } else { "no" };
        table.push([&row.what, &row.must, &row.found, holds]);
    }
    (!rows.is_empty()).then_some(table)
}

/// The runs of an event with Corelane; none when there are none.
fn runs(lab: &FleetLab, event: Event) -> Option<Vec<&Run>> {
    let of_it = |run: &&Run| (run.event, run.forwarder) == (event, Forwarder::Corelane);
    let runs: Vec<&Run> = lab.runs.iter().filter(of_it).collect();
    (!runs.is_empty()).then_some(runs)
}

fn without_loss(lab: &FleetLab, event: Event) -> Option<Row> {
    let runs = runs(lab, event)?;
    let sum = |of: fn(&Run) -> u64| runs.iter().map(|run| of(run)).sum::<u64>();
    let (lost, sent) = (sum(|run| run.lost), sum(|run| run.sent));
    Some(Row {
        what: event.words().to_owned(),
        must: "no frame lost".to_owned(),
        found: format!("{lost} of {sent} frames, {} runs", runs.len()),
        holds: lost == 0,
    })
}

fn kill(lab: &FleetLab) -> Option<Row> {
    let runs = runs(lab, Event::Kill)?;
    let most = runs.iter().map(|run| run.lost).max()?;
    let of_one_ms = lab.frames_per_second.div_ceil(1000);
    Some(Row {
        what: Event::Kill.words().to_owned(),
        must: format!("frames of 1 ms lost in a run: {of_one_ms}"),
        found: format!("{most} at most, {} runs", runs.len()),
        holds: most <= u64::from(of_one_ms),
    })
}

fn dead(lab: &FleetLab) -> Option<Row> {
    let runs = runs(lab, Event::Dead)?;
    let outages: Vec<f64> = runs.iter().map(|run| run.outage_ms).collect();
    let found = quantile(outages, 0.99);
    let detection = PACKETS * f64::from(lab.bfd_ms);
    let most = detection + AFTER_DETECTION;
    Some(Row {
        what: Event::Dead.words().to_owned(),
        must: format!("p99 of outages {most:.0} ms, BFD needing {detection:.0} ms"),
        found: format!("{found:.0} ms, {} runs", runs.len()),
        holds: found <= most,
    })
}

fn moves(lab: &FleetLab) -> Option<Row> {
    let runs = lab.runs.iter();
    let runs = runs.filter(|run| lab.resilient && run.event != Event::Load);
    let (count, moved) = runs.fold((0, 0), |(count, moved), run| {
        (count + 1, moved + run.moved_needlessly)
    });
    (count > 0).then(|| Row {
        what: "flows of other nodes moved".to_owned(),
        must: "none, with a resilient group".to_owned(),
        found: format!("{moved}, {count} runs"),
        holds: moved == 0,
    })
}

fn load(lab: &FleetLab) -> Option<Row> {
    let runs = runs(lab, Event::Load)?;
    let downs: u64 = runs.iter().map(|run| run.false_downs).sum();
    let seconds: f64 = runs.iter().map(|run| run.timeline.seconds()).sum();
    Some(Row {
        what: "sessions down at full load".to_owned(),
        must: format!("none, BFD 3 × {} ms", lab.bfd_ms),
        found: format!("{downs} in {seconds:.0} s"),
        holds: downs == 0,
    })
}

#[cfg(test)]
#[path = "../tests/unit/must.rs"]
mod tests;
