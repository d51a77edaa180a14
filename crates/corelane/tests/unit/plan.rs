//! Of `corelane/src/test/plan.rs`.

use super::*;

#[test]
fn counts_of_cores_are_lists_and_ranges() {
    let counts = |text| core_counts(text, 4).unwrap();
    assert_eq!(counts("1,2"), [1, 2]);
    assert_eq!(counts("1..N"), [1, 2, 3, 4]);
    assert_eq!(counts("N,1,1"), [1, 4]);
    assert_eq!(counts("2..3, N"), [2, 3, 4]);
}

#[test]
fn wrong_counts_are_named_with_what_there_is() {
    for (text, part) in [
        ("0", "0"),
        ("1,5", "5"),
        ("3..2", "3..2"),
        ("x", "x"),
        ("1,", ""),
    ] {
        let error = core_counts(text, 4).unwrap_err().to_string();
        assert!(error.starts_with(&format!("--cores {part}: ")), "{error}");
        assert!(error.contains("may use 4 cores"), "{error}");
    }
}
