//! Of `study/src/tables.rs`.

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
    assert_eq!(cells(0), "kernel | kernel | 1 | 64 | – | – | 800 k | –");
    assert_eq!(
        cells(1),
        "kernel | kernel | 2 | 64 | 1.26 M | 1.25 M to 1.29 M | 1.40 M | 90.0 %"
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

#[test]
fn generator_cable_and_sink_have_rows_of_their_own() {
    let mut study = study();
    assert!(without_device(&study).is_none());
    for (workers, rate) in [(1, 4e6), (2, 7e6)] {
        study.without_device.push(crate::bare::WithoutDevice {
            workers,
            frames_per_second: FramesPerSecond(rate),
            low: rate * 0.99,
            high: rate * 1.01,
            weak: None,
        });
    }
    let table = without_device(&study).unwrap();
    let rows: Vec<String> = table.rows.iter().map(|row| row.join(" | ")).collect();
    assert_eq!(
        rows,
        [
            "none | 1 | 4.00 M | 250 | ",
            "kernel | 1 | 800 k | 1250 | 20.0 %",
            "none | 2 | 7.00 M | 286 | ",
            "kernel | 2 | 1.40 M | 1429 | 20.0 %",
        ]
    );
    let answer = crate::answer::table(&study).to_text();
    let row = answer
        .lines()
        .find(|line| line.starts_with("generator, cable and sink"));
    let cells: Vec<&str> = row.unwrap().split_whitespace().skip(6).collect();
    assert_eq!(cells, ["4.00", "M", "7.00", "M", "–", "–"]);
    study.without_device[1].weak = Some(figures::Weak::Disturbed);
    let table = without_device(&study).unwrap();
    assert_eq!(table.rows[3].join(" | "), "kernel | 2 | 1.40 M | 1429 | –");
}
