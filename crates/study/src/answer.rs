//! The study's answer: a sentence, one table and its picture, for whoever has one minute.

use std::fmt::Write as _;

use dut::case::SMALLEST;
use dut::kind::Table;
use report::table::bar;
use report::units::{Times, engineering};
use report::{Block, Document, Table as Shown, capital};

use crate::result::Study;
use crate::row::Row;
use crate::sentences::{cores_in_words, engine_in_words};
use crate::tables::{NOTHING, figure, rate_of};
use crate::transfers::Transfers;

/// The engine without a network.
const MEMORY: &str = "memory";

/// Who forwards this share of what the fastest engine seems to forward may stand for it, where there is
/// no evidence for the fastest.
const ABOUT: f64 = 0.9;

/// What is printed when nobody asks for more: at most 25 lines with eight engines.
pub fn answer(study: &Study) -> Document {
    let mut document = opening(study, "");
    let mut more = beside(study);
    if !study.left_out.is_empty() {
        more.push(format!(
            "Not measured: {}; --full says why.",
            things(study.left_out.len())
        ));
    }
    if !more.is_empty() {
        document = document.text(more.join(" "));
    }
    document.text(next(study))
}

/// How everything that is shown of a study opens, on a terminal and on the page: the sentences and
/// the table.
pub(crate) fn opening(study: &Study, title: &str) -> Document {
    let document = Document {
        verdict: sentences(study),
        ..Document::new(title)
    };
    let table = table(study);
    if table.rows.is_empty() {
        return document;
    }
    document.block(Block::Table(table))
}

/// What is to be known beside the table: transfers, noise, and what "–" stands for.
pub(crate) fn beside(study: &Study) -> Vec<String> {
    let transfers = study.transfers.as_ref().and_then(Transfers::verdict);
    let noise = crate::sentences::noise(study);
    let footnote = crate::sentences::footnote(study);
    transfers.into_iter().chain(noise).chain(footnote).collect()
}

/// One row for each engine with the smallest frames, the fastest between interfaces first: one
/// core, all cores, how many times one core's frames with its interval, and a bar.
pub(crate) fn table(study: &Study) -> Shown {
    let all = cores_in_words(study.cores).to_lowercase();
    let routes = study.forwarding.iter().map(|row| row.routes).max();
    let routes = report::units::grouped(routes.unwrap_or(0) as u64);
    let mut shown = Shown::new(format!(
        "Frames/s of {SMALLEST} bytes, with {routes} IPv4 routes"
    ))
    .text("forwarded by")
    .number("one core");
    if study.cores > 1 {
        shown = shown.number(all).numbers(["×", "interval"]);
    }
    shown = shown.bars();
    let rows = rows(study);
    let fastest = rows
        .iter()
        .filter(|row| row.key.engine != MEMORY && row.weak.is_none())
        .map(|row| row.frames_per_second.0)
        .fold(0.0, f64::max);
    for row in rows {
        let key = &row.key;
        let one = study.smallest(&key.engine, key.table, 1);
        let one = one.map_or(NOTHING.to_owned(), rate_of);
        let mut cells = vec![name(row), one];
        if study.cores > 1 {
            let up = study.speed_up_with_interval(row);
            let interval = up.and_then(|(_, interval)| interval);
            cells.push(rate_of(row));
            cells.push(up.map_or(NOTHING.to_owned(), |(times, _)| format!("{times:.2}")));
            cells.push(interval.map_or(NOTHING.to_owned(), |[low, high]| {
                format!("{low:.2} to {high:.2}")
            }));
        }
        // What needs no network is no measure of what does.
        let is_compared = key.engine != MEMORY && fastest > 0.0 && row.weak.is_none();
        let share = row.frames_per_second.0 / fastest;
        cells.push(if is_compared {
            bar(share)
        } else {
            String::new()
        });
        shown.push(cells);
    }
    if !study.without_device.is_empty() {
        let rate = |workers| {
            let rate = study.without_device(workers);
            rate.map_or(NOTHING.to_owned(), |one| figure(one.frames_per_second.0))
        };
        let mut cells = vec!["generator, cable and sink, no device".to_owned(), rate(1)];
        if study.cores > 1 {
            let nothing = [NOTHING, NOTHING].map(str::to_owned);
            cells.push(rate(study.cores));
            cells.extend(nothing);
        }
        shown.push(cells);
    }
    shown
}

/// The rows of [`table`]: all cores of each engine, those of the engine without a network last, its
/// table behind a lock below it.
fn rows(study: &Study) -> Vec<&Row> {
    let row = |engine: &str, table| study.smallest(engine, table, study.most_workers(engine));
    let (memory, mut between): (Vec<&Row>, Vec<&Row>) = study
        .engines()
        .into_iter()
        .filter_map(|engine| row(engine, study.best_table(engine)?))
        .partition(|row| row.key.engine == MEMORY);
    between.sort_by(|a, b| b.frames_per_second.0.total_cmp(&a.frames_per_second.0));
    let locked = row(MEMORY, Table::Locked);
    between.into_iter().chain(memory).chain(locked).collect()
}

/// The engines with their tables, in the order of [`table`].
pub(crate) fn engines(study: &Study) -> Vec<(&str, Table)> {
    let rows = rows(study).into_iter();
    rows.filter(|row| row.key.table != Table::Locked)
        .map(|row| (row.key.engine.as_str(), row.key.table))
        .collect()
}

fn name(row: &Row) -> String {
    match (row.key.engine.as_str(), row.key.table) {
        (MEMORY, Table::Locked) => "the same behind one lock (an experiment)".to_owned(),
        (MEMORY, _) => "its workers alone, without a network".to_owned(),
        (engine, _) => capital(engine_in_words(engine)),
    }
}

/// What the fastest engine between interfaces forwards, what more cores bring it, and what the lock
/// would cost.
fn sentences(study: &Study) -> Vec<String> {
    let mut rows = rows(study);
    if rows.is_empty() {
        return vec!["Nothing was measured.".to_owned()];
    }
    let about = ABOUT * rows[0].frames_per_second.0;
    rows.retain(|row| row.weak.is_none());
    let Some(fastest) = rows.first().filter(|row| row.frames_per_second.0 >= about) else {
        return vec![
            "What each core forwards cannot be told: rounds were disturbed, or differ too much."
                .to_owned(),
            "`corelane study --seconds 300` takes more time, on a machine that does little else. \
             `corelane study --bounds` shows ratios all the same, with their intervals."
                .to_owned(),
        ];
    };
    let cores = study.most_workers(&fastest.key.engine);
    let engine = engine_in_words(&fastest.key.engine);
    // Ports and sockets are several.
    let is_plural = engine.contains("ports") || engine.contains("sockets");
    let mut first = format!(
        "{} {} {} of {SMALLEST} bytes on {}",
        capital(engine),
        if is_plural { "forward" } else { "forwards" },
        engineering(fastest.frames_per_second.0, "frames/s"),
        cores_in_words(cores).to_lowercase(),
    );
    let up = study.speed_up(fastest).filter(|_| cores > 1);
    if let Some(times) = up {
        let _ = write!(first, ": {} what one core does", Times(times));
    }
    let kernel = study.against_kernel(&fastest.key.engine, false);
    let kernel = kernel.filter(|kernel| kernel.is_told() && kernel.differs());
    if let Some(kernel) = kernel {
        let joint = if up.is_some() { " and" } else { ":" };
        let _ = write!(
            first,
            "{joint} {} what Linux alone does",
            Times(kernel.times)
        );
    }
    let mut said = vec![first + "."];
    let locked = rows.iter().find(|row| row.key.table == Table::Locked);
    let locked = locked.filter(|row| row.key.workers > 1);
    if let Some(times) = locked.and_then(|locked| study.speed_up(locked)) {
        said.push(format!(
            "With the table behind one lock, {} do {} what one core does.",
            cores_in_words(study.cores).to_lowercase(),
            Times(times)
        ));
    }
    let is_above = |row: &&Row| {
        let interval = study.speed_up_with_interval(row).and_then(|(_, of)| of);
        interval.is_some_and(|[low, _]| low > row.key.workers as f64)
    };
    if rows.iter().any(is_above) {
        said.push(format!(
            "Above {cores}×: a core alone may find less of its table in the cache that all share \
             (docs/study.md, “More than twice”)."
        ));
    }
    said
}

/// What to try next.
fn next(study: &Study) -> String {
    let has_network = study.engines().iter().any(|&engine| engine != MEMORY);
    let try_ = if has_network {
        "`corelane run --port A --port B` forwards between two interfaces of this machine"
    } else {
        "as root it measures between Linux interfaces too, beside the kernel's own forwarding"
    };
    format!("Next: {try_}. `corelane study report study.json --full` prints all tables.")
}

fn things(count: usize) -> String {
    match count {
        1 => "one thing".to_owned(),
        many => format!("{many} things"),
    }
}

#[cfg(test)]
#[path = "../tests/unit/answer.rs"]
mod tests;
