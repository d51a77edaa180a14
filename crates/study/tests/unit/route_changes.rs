use dut::kind::Kind;
use fib::TableOrganisation;

use super::*;
use crate::testing::rounds;

fn case(changes: u64) -> Case {
    Case {
        kind: Kind::Memory(Some(TableOrganisation::Shared)),
        first: 0,
        workers: 2,
        frame_bytes: 64,
        changes,
    }
}

/// A machine that slows down from round to round slows both: the share stays what it is.
#[test]
fn rounds_are_compared_with_themselves() {
    let cases = [case(0), case(1000)];
    let rounds = rounds([[100.0, 50.0, 10.0], [90.0, 44.0, 9.5]]);
    let all = RouteChanges::all(&cases, &rounds, 1);
    assert_eq!(all.len(), 1);
    let changes = &all[0];
    assert!((changes.kept - 0.9).abs() < 1e-12);
    assert!((changes.kept_low - 0.88).abs() < 1e-12);
    assert!((changes.kept_high - 0.95).abs() < 1e-12);
    assert!(changes.fell_behind());
}

#[test]
fn a_round_that_stood_still_beside_changes_counts() {
    let all = RouteChanges::all(&[case(0), case(1000)], &rounds([[100.0], [0.0]]), 1);
    assert_eq!(all.len(), 1);
    assert!(all[0].kept.abs() < 1e-12);
}

#[test]
fn without_a_quiet_rate_there_is_no_share() {
    let cases = [case(0), case(1000)];
    let rounds = rounds([[0.0; 3], [1.0; 3]]);
    assert_eq!(RouteChanges::all(&cases, &rounds, 1), []);
}
