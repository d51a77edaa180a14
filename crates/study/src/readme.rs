//! The study as a piece of Markdown, for a README: the three tables turned so that engines stand
//! side by side.

use std::fmt::Write as _;

use dut::case::FRAME_SIZES;
use dut::kind::Table;
use report::Table as Shown;
use report::units::{FramesPerSecond, Times, engineering, grouped};

use crate::result::{Study, UNLOCKED};
use crate::row::Row;
use crate::sentences::{self, cores_in_words, engine_in_words};

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
    let one: Vec<Column> = study
        .engines()
        .into_iter()
        .filter_map(|engine| best(study, engine, 1))
        .collect();
    section(
        &mut text,
        "Table 1. One core, frames/s",
        &turned(study, &one, false),
        &sentences::one_core(study),
    );
    let locked: Vec<Column> = study
        .engines()
        .into_iter()
        .filter(|engine| study.tables(engine).contains(&Table::Locked))
        .map(|engine| Column::new(study, engine, Table::Locked))
        .collect();
    section(
        &mut text,
        &format!(
            "Table 2. {cores}, one table behind a lock, an experiment: frames/s and speed-up over \
             one core"
        ),
        &turned(study, &locked, true),
        &sentences::locked(study),
    );
    section(
        &mut text,
        &format!("Table 3. {cores}, nothing locked: frames/s and speed-up over one core"),
        &turned(study, &unlocked(study), true),
        &sentences::unlocked(study),
    );
    let searched: Vec<Column> = study
        .engines()
        .into_iter()
        .filter_map(|engine| best(study, engine, study.most_workers(engine)))
        .filter(|column| column.held(study))
        .collect();
    section(
        &mut text,
        &format!(
            "Rates without loss between interfaces. {cores}, frames/s and share of the closed \
             loop's"
        ),
        &without_loss(study, &searched),
        &sentences::no_loss(study),
    );
    if !study.route_changes.is_empty() {
        let _ = writeln!(text, "{}", sentences::changes(study));
    }
    text
}

/// Rows of one engine, table organisation and number of workers.
struct Column<'a> {
    heading: String,
    engine: &'a str,
    table: Table,
    workers: usize,
}

impl<'a> Column<'a> {
    /// On all cores.
    fn new(study: &Study, engine: &'a str, table: Table) -> Self {
        Self {
            heading: capital_of(engine, table),
            engine,
            table,
            workers: study.most_workers(engine),
        }
    }
}

impl Column<'_> {
    /// Whether a rate without loss was searched for.
    fn held(&self, study: &Study) -> bool {
        study
            .searches
            .iter()
            .any(|search| (search.engine.as_str(), search.table) == (self.engine, self.table))
    }
}

fn capital_of(engine: &str, table: Table) -> String {
    match table {
        Table::Kernel => engine_in_words(engine).to_owned(),
        table => format!("{}, {table}", engine_in_words(engine)),
    }
}

/// The organisation without a lock that speaks for an engine.
fn best<'a>(study: &Study, engine: &'a str, workers: usize) -> Option<Column<'a>> {
    let table = study.best_table(engine)?;
    Some(Column {
        workers,
        ..Column::new(study, engine, table)
    })
}

/// All tables of the first engine, which the study is about; one of each other.
fn unlocked(study: &Study) -> Vec<Column<'_>> {
    let columns = |(place, engine)| {
        let tables = study.tables(engine);
        let own = UNLOCKED
            .into_iter()
            .filter(move |table| tables.contains(table));
        let shown = own.take(if place == 0 { UNLOCKED.len() } else { 1 });
        shown.map(move |table| Column::new(study, engine, table))
    };
    study
        .engines()
        .into_iter()
        .enumerate()
        .flat_map(columns)
        .collect()
}

/// A row for each frame size, a column for each of `columns`.
fn turned(study: &Study, columns: &[Column], with_speed_up: bool) -> Shown {
    let mut shown = Shown::new("").number("frame bytes");
    for column in columns {
        shown = shown.number(column.heading.clone());
    }
    for frame_bytes in FRAME_SIZES {
        let cells: Vec<String> = columns
            .iter()
            .map(|column| {
                let row = study.row(column.engine, column.table, column.workers, frame_bytes, 0);
                row.map_or("-".to_owned(), |row| cell(study, row, with_speed_up))
            })
            .collect();
        shown.push(std::iter::once(frame_bytes.to_string()).chain(cells));
    }
    shown
}

fn cell(study: &Study, row: &Row, with_speed_up: bool) -> String {
    let FramesPerSecond(rate) = row.frames_per_second;
    let rate = engineering(rate, "");
    match study.speed_up(row).filter(|_| with_speed_up) {
        Some(times) => format!("{} ({})", rate.trim_end(), Times(times)),
        None => rate.trim_end().to_owned(),
    }
}

/// A row for each frame size that was searched, a column for each of `columns`.
fn without_loss(study: &Study, columns: &[Column]) -> Shown {
    let mut shown = Shown::new("").number("frame bytes");
    for column in columns {
        shown = shown.number(column.heading.clone());
    }
    let searched = |size: &u32| {
        study
            .searches
            .iter()
            .any(|search| search.frame_bytes == *size)
    };
    for frame_bytes in FRAME_SIZES.into_iter().filter(searched) {
        let cells: Vec<String> = columns
            .iter()
            .map(|column| {
                let row = study.row(column.engine, column.table, column.workers, frame_bytes, 0);
                let held = row.and_then(|row| Some((row, row.no_loss_frames_per_second?)));
                held.map_or("-".to_owned(), |(row, FramesPerSecond(held))| {
                    let share = 100.0 * held / row.frames_per_second.0;
                    format!("{} ({share:.0} %)", engineering(held, "").trim_end())
                })
            })
            .collect();
        shown.push(std::iter::once(frame_bytes.to_string()).chain(cells));
    }
    shown
}

fn section(text: &mut String, title: &str, table: &Shown, sentence: &str) {
    if table.columns.len() > 1 {
        let _ = writeln!(text, "**{title}**\n\n{}\n{sentence}\n", table.to_markdown());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{search_kernel, study};

    #[test]
    fn engines_stand_side_by_side_with_their_figures() {
        let text = fragment(&study());
        assert!(
            text.contains("| frame bytes | memory ports, shipped | the Linux kernel |"),
            "{text}"
        );
        assert!(text.contains("| 64 | 30.0 M | 800 k |"), "{text}");
        assert!(
            text.contains(
                "| 64 | 59.4 M (1.98×) | 59.1 M (1.97×) | 58.5 M (1.95×) | 1.40 M (1.75×) |"
            ),
            "{text}"
        );
        assert!(text.contains("| 1518 | 9.00 M (0.40×) |"), "{text}");
        assert!(text.contains("the lock costs 85 %"), "{text}");
        assert!(!text.contains("without loss"), "{text}");
    }

    #[test]
    fn rates_without_loss_have_a_table_where_they_were_searched_for() {
        let mut study = study();
        search_kernel(&mut study);
        let text = fragment(&study);
        assert!(
            text.contains("| frame bytes | the Linux kernel |"),
            "{text}"
        );
        assert!(text.contains("| 64 | 1.26 M (90 %) |"), "{text}");
    }
}
