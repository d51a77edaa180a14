use dut::kind::Kind;
use fib::TableOrganisation;

use super::*;
use crate::testing::{calm, rounds};

fn case(workers: usize) -> Case {
    Case {
        kind: Kind::Memory(Some(TableOrganisation::Shared)),
        first: 0,
        workers,
        frame_bytes: 64,
        changes: 0,
    }
}

/// The machine slows down by half between the second round and the third; the ratio of medians
/// would be 3, or 1.
#[test]
fn rounds_are_compared_with_themselves() {
    let cases = [case(1), case(2)];
    let rounds = rounds([[100.0, 100.0, 50.0], [200.0, 190.0, 105.0]]);
    let all = SpeedUp::all(&cases, &rounds, 1);
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].key.workers, all[0].rounds), (2, 3));
    assert!((all[0].times - 2.0).abs() < 1e-12);
    assert!((all[0].low - 1.9).abs() < 1e-12 && (all[0].high - 2.1).abs() < 1e-12);
}

#[test]
fn without_a_frame_on_one_worker_there_is_no_ratio() {
    let cases = [case(1), case(2)];
    let rounds = rounds([[0.0, 0.0], [1.0, 1.0]]);
    assert!(SpeedUp::all(&cases, &rounds, 1).is_empty());
}

/// The first core takes the machine's interrupts: against it alone the second core would bring 2.5.
#[test]
fn several_are_compared_with_the_mean_of_the_single_cores() {
    let second = Case {
        first: 1,
        ..case(1)
    };
    let cases = [case(1), second, case(2)];
    let mut rounds = Rounds::new(3, 1);
    for pace in [1.0, 0.5, 1.0] {
        let measured: Result<(), ()> = rounds.round_in([0, 2, 1], |place| {
            Ok(calm(pace * [80.0, 120.0, 200.0][place]))
        });
        assert_eq!(measured, Ok(()));
    }
    let all = SpeedUp::all(&cases, &rounds, 1);
    assert_eq!((all.len(), all[0].rounds), (1, 3));
    assert!((all[0].times - 2.0).abs() < 1e-12, "{all:?}");
}
