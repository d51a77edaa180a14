//! The three tables of the study, and the table of route changes.

use dut::case::SMALLEST;
use dut::kind::Table;
use report::Table as Shown;
use report::units::{BitsPerSecond, FramesPerSecond, Times, grouped};

use crate::plan::CHANGE_RATES;
use crate::result::{Study, UNLOCKED, ratio};
use crate::row::Row;
use crate::sentences;

/// A cell without a value.
const NOTHING: &str = "-";

/// Table 1: one core, no lock; beside it what the lock alone costs one core.
pub(crate) fn one_core(study: &Study) -> Shown {
    let mut shown = Shown::new("Table 1. One core")
        .text("engine")
        .text("table")
        .number("frame bytes")
        .number("frames/s")
        .number("behind a lock")
        .number("bit/s")
        .number("frames/s, lowest to highest round");
    for engine in study.engines() {
        let Some(table) = study.best_table(engine) else {
            continue;
        };
        for row in study
            .quiet_rows(1, &[table])
            .into_iter()
            .filter(|row| row.engine == engine)
        {
            let locked = study.row(engine, Table::Locked, 1, row.frame_bytes, 0);
            let times = locked.and_then(|locked| ratio(locked, row));
            shown.push(cells(row, times.map(|times| Times(times).to_string())));
        }
    }
    shown.caption(sentences::one_core(study))
}

/// Table 2: all cores, the table behind one lock.
pub(crate) fn locked(study: &Study) -> Shown {
    all_cores(
        study,
        &format!(
            "Table 2. {}, one table behind a lock: an experiment",
            cores(study)
        ),
        &[Table::Locked],
    )
    .caption(sentences::locked(study))
}

/// Table 3: all cores, nothing written by two of them for a frame.
pub(crate) fn unlocked(study: &Study) -> Shown {
    all_cores(
        study,
        &format!(
            "Table 3. {}, a table for each core, or one that nobody locks",
            cores(study)
        ),
        &UNLOCKED,
    )
    .caption(sentences::unlocked(study))
}

fn all_cores(study: &Study, title: &str, tables: &[Table]) -> Shown {
    let mut shown = Shown::new(title)
        .text("engine")
        .text("table")
        .number("frame bytes")
        .number("frames/s")
        .number("speed-up")
        .number("bit/s")
        .number("frames/s, lowest to highest round")
        .number("interval of the speed-up");
    for engine in study.engines() {
        for &table in tables {
            let rows = study.quiet_rows(study.most_workers(engine), &[table]);
            for row in rows.into_iter().filter(|row| row.engine == engine) {
                let (times, interval) = match study.speed_up_with_interval(row) {
                    Some((times, interval)) => (Some(Times(times).to_string()), interval),
                    None => (None, None),
                };
                let interval = interval.map_or(NOTHING.to_owned(), |[low, high]| {
                    format!("{low:.2} to {high:.2}")
                });
                shown.push(cells(row, times).into_iter().chain([interval]));
            }
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
    .text("engine")
    .text("table")
    .number("route changes/s")
    .number("frames/s")
    .number("of those without changes")
    .number("lowest to highest round");
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
                let [kept, spread] =
                    cost.map_or([NOTHING.to_owned(), NOTHING.to_owned()], |cost| {
                        let spread =
                            format!("{} to {}", share(cost.kept_low), share(cost.kept_high));
                        [share(cost.kept), spread]
                    });
                shown.push([
                    engine.to_owned(),
                    table.to_string(),
                    grouped(rate),
                    bare(row.frames_per_second),
                    kept,
                    spread,
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
        .text("engine")
        .text("table")
        .number("cores")
        .number("frame bytes")
        .number("frames/s without loss")
        .number("frames/s in the closed loop")
        .number("share of it");
    for row in &study.forwarding {
        let Some(search) = study.searches.iter().find(|search| search.is_of(row)) else {
            continue;
        };
        let FramesPerSecond(closed_loop) = row.frames_per_second;
        let found = search.no_loss_frames_per_second;
        let held = found.map(|FramesPerSecond(held)| held / closed_loop);
        shown.push([
            row.engine.clone(),
            row.table.to_string(),
            row.workers.to_string(),
            row.frame_bytes.to_string(),
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

fn cells(row: &Row, times: Option<String>) -> [String; 7] {
    [
        row.engine.clone(),
        row.table.to_string(),
        row.frame_bytes.to_string(),
        bare(row.frames_per_second),
        times.unwrap_or_else(|| NOTHING.to_owned()),
        bits(row.bits_per_second),
        spread(row),
    ]
}

fn spread(row: &Row) -> String {
    format!("{} to {}", bare(row.low), bare(row.high))
}

/// `31.4 M`: the unit is in the heading.
fn bare(rate: FramesPerSecond) -> String {
    report::units::engineering(rate.0, "").trim_end().to_owned()
}

/// `16.1 G`: the unit is in the heading.
fn bits(rate: BitsPerSecond) -> String {
    report::units::engineering(rate.0, "").trim_end().to_owned()
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
            .filter(|row| row.route_changes_per_second == 0 && full.contains(&row.workers))
        {
            if row.workers == 1 && row.table != Table::Shipped && row.table != Table::Kernel {
                continue; // One core shows the organisation without a lock; the lock as a ratio.
            }
            let wanted = [
                row.engine.clone(),
                row.table.to_string(),
                row.frame_bytes.to_string(),
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
