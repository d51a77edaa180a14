//! Of `study/src/matrix.rs`.

use super::*;
use crate::testing::study;

#[test]
fn an_engine_has_one_row_and_a_frame_size_one_column() {
    let tables = all(&study());
    let titles: Vec<&str> = tables.iter().map(|table| table.title.as_str()).collect();
    let expected = [
        "Both cores, frames/s",
        "Both cores, times one core",
        "One core, frames/s",
    ];
    assert_eq!(titles, expected);
    for table in &tables {
        assert_eq!(table.columns.len(), 1 + FRAME_SIZES.len());
        assert_eq!(table.rows.len(), study().engines().len());
    }
    let kernel = |table: &Shown| {
        let row = table.rows.iter().find(|row| row[0] == "The Linux kernel");
        row.unwrap()[1].clone()
    };
    assert_eq!(kernel(&tables[0]), "1.40 M");
    assert_eq!(kernel(&tables[2]), "800 k");
}

#[test]
fn what_the_rounds_do_not_tell_is_a_dash() {
    let mut study = study();
    for row in &mut study.forwarding {
        row.weak = Some(figures::Weak::Scattered);
    }
    let rates = &all(&study)[0];
    assert!(rates.rows.iter().all(|row| row[1] == NOTHING));
}

#[test]
fn a_size_that_nobody_measured_has_no_column() {
    let mut study = study();
    let is_end = |row: &Row| [64, 1518].contains(&row.key.frame_bytes);
    study.forwarding.retain(is_end);
    assert_eq!(all(&study)[0].columns.len(), 1 + 2);
}

#[test]
fn one_core_has_one_matrix() {
    let mut study = study();
    study.cores = 1;
    assert_eq!(all(&study).len(), 1);
}
