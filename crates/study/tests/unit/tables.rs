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
