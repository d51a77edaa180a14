//! The three tables of the study, and the table of route changes.

use dut::case::SMALLEST;
use dut::kind::Table;
use report::Table as Shown;
use report::units::{FramesPerSecond, Times, engineering, grouped};

use crate::plan::CHANGE_RATES;
use crate::result::{Study, UNLOCKED, ratio};
use crate::route_changes::RouteChanges;
use crate::row::Row;
use crate::sentences;

/// A cell without a value.
const NOTHING: &str = "-";

/// Table 1: one core, no lock; beside it what the lock alone costs one core.
pub(crate) fn one_core(study: &Study) -> Shown {
    let mut shown = Shown::new("Table 1. One core")
        .texts(["engine", "table"])
        .numbers(["frame bytes", "frames/s", "behind a lock", "bit/s"])
        .number("frames/s, lowest to highest round");
    for engine in study.engines() {
        let best = study.best_table(engine).into_iter();
        for row in best.flat_map(|table| study.rows(engine, table, 1, 0)) {
            let locked = study.row(engine, Table::Locked, 1, row.key.frame_bytes, 0);
            let times = locked.and_then(|locked| ratio(locked, row));
            shown.push(cells(row, times));
        }
    }
    shown.caption(sentences::one_core(study))
}

/// Table 2: all cores, the table behind one lock.
pub(crate) fn locked(study: &Study) -> Shown {
    let title = "Table 2. {cores}, one table behind a lock: an experiment";
    all_cores(study, title, &[Table::Locked]).caption(sentences::locked(study))
}

/// Table 3: all cores, nothing written by two of them for a frame.
pub(crate) fn unlocked(study: &Study) -> Shown {
    let title = "Table 3. {cores}, a table for each core, or one that nobody locks";
    all_cores(study, title, &UNLOCKED).caption(sentences::unlocked(study))
}

fn all_cores(study: &Study, title: &str, tables: &[Table]) -> Shown {
    let mut shown = Shown::new(title.replace("{cores}", &cores(study)))
        .texts(["engine", "table"])
        .numbers(["frame bytes", "frames/s", "speed-up", "bit/s"])
        .numbers([
            "frames/s, lowest to highest round",
            "interval of the speed-up",
        ]);
    for engine in study.engines() {
        let workers = study.most_workers(engine);
        let rows = tables
            .iter()
            .flat_map(|&table| study.rows(engine, table, workers, 0));
        for row in rows {
            let up = study.speed_up_with_interval(row);
            let interval = up.and_then(|(_, interval)| interval);
            let interval = interval.map_or(NOTHING.to_owned(), |[low, high]| {
                format!("{low:.2} to {high:.2}")
            });
            let times = up.map(|(times, _)| times);
            shown.push(cells(row, times).into_iter().chain([interval]));
        }
    }
    shown
}

/// Table 4: route changes while all cores forward; `None` when none were measured.
pub(crate) fn changes(study: &Study) -> Option<Shown> {
    let mut shown = Shown::new(format!(
        "Table 4. Routes change while {} forward",
        cores(study).to_lowercase()
    ))
    .texts(["engine", "table"])
    .numbers(["route changes/s", "frames/s"])
    .numbers(["of those without changes", "lowest to highest round"]);
    for engine in study.engines() {
        for table in study.tables(engine) {
            let workers = study.most_workers(engine);
            for rate in CHANGE_RATES {
                let Some(row) = study.row(engine, table, workers, SMALLEST, rate) else {
                    continue;
                };
                let cost = study.cost_of_changes(engine, table, rate);
                // Without route changes in the plan, the row without is no row of this table.
                let changes = study.cost_of_changes(engine, table, CHANGE_RATES[1]);
                if cost.or(changes).is_none() {
                    continue;
                }
                let words = |of: fn(&RouteChanges) -> String| cost.map_or(NOTHING.to_owned(), of);
                shown.push([
                    engine.to_owned(),
                    table.to_string(),
                    grouped(rate),
                    bare(row.frames_per_second),
                    words(|cost| share(cost.kept)),
                    words(|cost| format!("{} to {}", share(cost.kept_low), share(cost.kept_high))),
                ]);
            }
        }
    }
    (!shown.rows.is_empty()).then(|| shown.caption(sentences::changes(study)))
}

/// Table 5: the highest rates without loss between interfaces, beside the closed loop's; `None`
/// when nothing was searched.
pub(crate) fn no_loss(study: &Study) -> Option<Shown> {
    let mut shown = Shown::new("Table 5. Between interfaces, the highest rate without loss")
        .texts(["engine", "table"])
        .numbers(["cores", "frame bytes", "frames/s without loss"])
        .numbers(["frames/s in the closed loop", "share of it"]);
    for row in &study.forwarding {
        let Some(search) = study.search(row) else {
            continue;
        };
        let FramesPerSecond(closed_loop) = row.frames_per_second;
        let found = search.no_loss_frames_per_second;
        let held = found.map(|FramesPerSecond(held)| held / closed_loop);
        shown.push([
            row.key.engine.clone(),
            row.key.table.to_string(),
            row.key.workers.to_string(),
            row.key.frame_bytes.to_string(),
            found.map_or(NOTHING.to_owned(), bare),
            bare(row.frames_per_second),
            held.filter(|held| held.is_finite())
                .map_or(NOTHING.to_owned(), share),
        ]);
    }
    (!shown.rows.is_empty()).then(|| shown.caption(sentences::no_loss(study)))
}

/// `97.3 %`.
fn share(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn cells(row: &Row, times: Option<f64>) -> [String; 7] {
    [
        row.key.engine.clone(),
        row.key.table.to_string(),
        row.key.frame_bytes.to_string(),
        bare(row.frames_per_second),
        times.map_or(NOTHING.to_owned(), |times| Times(times).to_string()),
        figure(row.bits_per_second.0),
        format!("{} to {}", bare(row.low), bare(row.high)),
    ]
}

/// `31.4 M`: the unit is in the heading.
fn bare(rate: FramesPerSecond) -> String {
    figure(rate.0)
}

/// `16.1 G`: the unit is in the heading.
pub(crate) fn figure(value: f64) -> String {
    engineering(value, "").trim_end().to_owned()
}

/// `Two cores`, `All 8 cores`: how many cores the workers had.
fn cores(study: &Study) -> String {
    sentences::cores_in_words(study.cores)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{search_kernel, study};

    #[test]
    fn every_quiet_row_of_the_result_is_in_a_table_with_its_figures() {
        let study = study();
        let text = [one_core(&study), locked(&study), unlocked(&study)]
            .map(|table| table.to_text())
            .concat();
        let full = [1, study.cores];
        for row in study
            .forwarding
            .iter()
            .filter(|row| row.route_changes_per_second == 0 && full.contains(&row.key.workers))
        {
            if row.key.workers == 1 && !matches!(row.key.table, Table::Shipped | Table::Kernel) {
                continue; // One core shows the organisation without a lock; the lock as a ratio.
            }
            let wanted = [
                row.key.engine.clone(),
                row.key.table.to_string(),
                row.key.frame_bytes.to_string(),
                bare(row.frames_per_second),
            ];
            let found = text.lines().any(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                let rate: Vec<&str> = wanted[3].split(' ').collect();
                words.len() > 4
                    && words[0] == wanted[0]
                    && words[1] == wanted[1]
                    && words[2] == wanted[2]
                    && words[3..].starts_with(&rate)
            });
            assert!(found, "{wanted:?} not in\n{text}");
        }
    }

    #[test]
    fn speed_ups_are_against_one_core_of_the_same_organisation() {
        let study = study();
        let line = |table: Shown, frame: &str| {
            table
                .rows
                .iter()
                .find(|row| row[0] == "memory" && row[2] == frame)
                .unwrap()[4]
                .clone()
        };
        assert_eq!(line(locked(&study), "64"), "0.40×");
        assert_eq!(line(unlocked(&study), "64"), "1.98×");
        assert_eq!(line(one_core(&study), "64"), "0.75×");
    }

    #[test]
    fn rates_without_loss_stand_beside_the_closed_loop_s() {
        let mut study = study();
        assert!(no_loss(&study).is_none());
        search_kernel(&mut study);
        let table = no_loss(&study).unwrap();
        let cells = |row: usize| table.rows[row].join(" | ");
        assert_eq!(table.rows.len(), 2);
        assert_eq!(cells(0), "kernel | kernel | 1 | 64 | - | 800 k | -");
        assert_eq!(
            cells(1),
            "kernel | kernel | 2 | 64 | 1.26 M | 1.40 M | 90.0 %"
        );
    }

    #[test]
    fn changes_are_compared_with_none() {
        let table = changes(&study()).unwrap();
        let row = table
            .rows
            .iter()
            .find(|row| row[1] == "per-core" && row[2] == "100,000")
            .unwrap();
        assert_eq!(row[4], "97.0 %");
    }
}
