//! The study as a piece of Markdown, for a README: the three tables turned so that engines stand
//! side by side.

use std::fmt::Write as _;

use dut::case::FRAME_SIZES;
use dut::kind::Table;
use report::Table as Shown;
use report::units::{FramesPerSecond, Times, grouped};

use crate::result::{Study, UNLOCKED};
use crate::row::Row;
use crate::sentences::{self, cores_in_words, engine_in_words};
use crate::tables::{NOTHING, figure, rate_of};

/// Machine, table, the three tables, and the sentence under each.
pub fn fragment(study: &Study) -> String {
    let mut text = String::new();
    let first = study.forwarding.first();
    let (routes, destinations) = first.map_or((0, 0), |row| (row.routes, row.destinations));
    let facts = study.environment.facts();
    let fact = |wanted: &str| {
        let found = facts.iter().find(|(name, _)| name == wanted);
        found.map_or("", |(_, value)| value.as_str())
    };
    let _ = writeln!(
        text,
        "{}; {}; {}. Routing table: {}. The frames go to {} destinations in random order; frame \
         bytes include the FCS. Medians of {}, trials of {:.0} ms; {} IPv4 routes in every row.\n",
        study.environment.machine(),
        fact("caches"),
        fact("time"),
        study.routes_from,
        grouped(destinations as u64),
        sentences::rounds(study),
        study.trial_milliseconds,
        grouped(routes as u64),
    );
    let cores = cores_in_words(study.cores);
    let engines = study.engines();
    let columns = |workers: Option<usize>, chosen: &dyn Fn(&str) -> Vec<Table>| -> Vec<Column> {
        let of = |&engine| {
            let workers = workers.unwrap_or_else(|| study.most_workers(engine));
            let tables = chosen(engine).into_iter();
            tables.map(move |table| Column {
                engine,
                table,
                workers,
            })
        };
        engines.iter().flat_map(of).collect()
    };
    let best = |engine: &str| study.best_table(engine).into_iter().collect();
    let locked = |engine: &str| {
        let mut tables = study.tables(engine);
        tables.retain(|&table| table == Table::Locked);
        tables
    };
    // All tables of the first engine, which the study is about; one of each other.
    let unlocked = |engine: &str| {
        let tables = study.tables(engine);
        let own = UNLOCKED.into_iter().filter(|table| tables.contains(table));
        let first = engines.first() == Some(&engine);
        own.take(if first { UNLOCKED.len() } else { 1 }).collect()
    };
    let mut held = columns(None, &best);
    let mut searched = FRAME_SIZES.to_vec();
    let searches = || study.searches.iter().map(|search| &search.key);
    held.retain(|column| {
        searches().any(|key| (key.engine.as_str(), key.table) == (column.engine, column.table))
    });
    searched.retain(|&size| searches().any(|key| key.frame_bytes == size));
    let sections = [
        (
            "Table 1. One core, frames/s".to_owned(),
            turned(study, &columns(Some(1), &best), &FRAME_SIZES, |row| {
                Some(rate_of(row))
            }),
            sentences::one_core(study),
        ),
        (
            format!(
                "Table 2. {cores}, one table behind a lock, an experiment: frames/s and speed-up \
                 over one core"
            ),
            turned(study, &columns(None, &locked), &FRAME_SIZES, |row| {
                Some(faster(study, row))
            }),
            sentences::locked(study),
        ),
        (
            format!("Table 3. {cores}, nothing locked: frames/s and speed-up over one core"),
            turned(study, &columns(None, &unlocked), &FRAME_SIZES, |row| {
                Some(faster(study, row))
            }),
            sentences::unlocked(study),
        ),
        (
            format!(
                "Rates without loss between interfaces. {cores}, frames/s and share of the closed \
                 loop's"
            ),
            turned(study, &held, &searched, without_loss),
            sentences::no_loss(study),
        ),
    ];
    for (title, table, sentence) in sections {
        if table.columns.len() > 1 {
            let _ = writeln!(text, "**{title}**\n\n{}\n{sentence}\n", table.to_markdown());
        }
    }
    if !study.route_changes.is_empty() {
        let _ = writeln!(text, "{}", sentences::changes(study));
    }
    text
}

/// Rows of one engine, table organisation and number of workers.
struct Column<'a> {
    engine: &'a str,
    table: Table,
    workers: usize,
}

impl Column<'_> {
    fn heading(&self) -> String {
        let engine = engine_in_words(self.engine);
        match self.table {
            Table::Kernel => engine.to_owned(),
            table => format!("{engine}, {table}"),
        }
    }
}

/// A row for each frame size, a column for each of `columns`.
fn turned(
    study: &Study,
    columns: &[Column],
    sizes: &[u32],
    cell: impl Fn(&Row) -> Option<String>,
) -> Shown {
    let headings = columns.iter().map(Column::heading);
    let mut shown = headings.fold(Shown::new("").number("frame bytes"), Shown::number);
    for &frame_bytes in sizes {
        let cells = columns.iter().map(|column| {
            let row = study.row(column.engine, column.table, column.workers, frame_bytes, 0);
            row.and_then(&cell).unwrap_or_else(|| NOTHING.to_owned())
        });
        shown.push(std::iter::once(frame_bytes.to_string()).chain(cells));
    }
    shown
}

/// The rate, and how many times one core's it is.
fn faster(study: &Study, row: &Row) -> String {
    let rate = rate_of(row);
    match study.speed_up(row) {
        Some(times) => format!("{rate} ({})", Times(times)),
        None => rate,
    }
}

fn without_loss(row: &Row) -> Option<String> {
    let FramesPerSecond(held) = row
        .no_loss_frames_per_second
        .filter(|_| row.weak.is_none())?;
    let share = 100.0 * held / row.frames_per_second.0;
    Some(format!("{} ({share:.0} %)", figure(held)))
}

#[cfg(test)]
#[path = "../tests/unit/readme.rs"]
mod tests;
