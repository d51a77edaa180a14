use super::*;

#[test]
fn both_kinds_of_quota() {
    assert_eq!(parse_max("150000 100000\n"), Some(1.5));
    assert_eq!(parse_max("max 100000\n"), None);
    assert_eq!(parse_max("-1 100000"), None);
    assert_eq!(parse_max(""), None);
}

#[test]
fn counts_grow_and_keep_the_marks() {
    assert_eq!(counts(2, &[]), [1, 2]);
    assert_eq!(
        counts(64, &[33]),
        [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 33, 48, 64]
    );
    assert_eq!(counts(10, &[6, 99]), [1, 2, 3, 4, 5, 6, 7, 8, 10]);
}
