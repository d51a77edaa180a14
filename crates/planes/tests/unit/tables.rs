//! Of `planes/src/page/tables.rs`.

use super::*;

fn cell(low: f64, middle: f64, high: f64) -> Cell {
    Cell {
        throughput_bps: Some(middle),
        throughput_low_bps: Some(low),
        throughput_high_bps: Some(high),
        ..Cell::default()
    }
}

#[test]
fn a_difference_is_in_per_cent_and_as_wide_as_both_intervals() {
    let found = difference(&cell(3e8, 4e8, 5e8), &cell(1e8, 2e8, 4e8)).unwrap();
    let whole: Vec<i64> = found.iter().map(|share| share.round() as i64).collect();
    assert_eq!(whole, [100, -25, 400]);
}

/// One search has no interval, and so no difference.
#[test]
fn without_an_interval_there_is_no_difference() {
    let one = cell(2e8, 2e8, 2e8);
    assert_eq!(difference(&one, &cell(1e8, 2e8, 4e8)), None);
    assert_eq!(difference(&cell(1e8, 2e8, 4e8), &Cell::default()), None);
}
