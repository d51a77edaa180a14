//! Of `router/src/management_plane/metrics/process.rs`.

use super::{RESIDENT, START, THREADS, USER, booted, fields};

#[test]
fn a_name_with_brackets_does_not_shift_the_fields() {
    let stat = "7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 150 50 13 14 15 16 3 18 4200 8192 2 22\n";
    let fields = fields(stat).unwrap();
    let found = [USER, THREADS, START, RESIDENT].map(|at| fields[at] as u64);
    assert_eq!(found, [150, 3, 4200, 2]);
    assert!(super::fields("7 (a) S 1 2").is_none());
    assert!(super::fields("").is_none());
}

#[test]
fn the_start_of_the_system_is_found() {
    assert_eq!(
        booted("cpu 1 2\nbtime 1700000000\nprocesses 3\n"),
        Some(1.7e9)
    );
    assert_eq!(booted(""), None);
}
