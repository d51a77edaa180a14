//! Of `figures/src/rounds.rs`.

use super::*;

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "samples are passed by reference"
)]
fn same(value: &f64) -> f64 {
    *value
}

/// Rounds of two settings from what each gave in each round; `None`: not measured in it.
fn rounds(samples: &[[Option<f64>; 2]]) -> Rounds<f64> {
    let mut rounds = Rounds::new(2, 1);
    for row in samples {
        let order = (0..2).filter(|&setting| row[setting].is_some());
        let measured = rounds.round_in(order, |setting| row[setting].ok_or(()));
        assert_eq!(measured, Ok(()));
    }
    rounds
}

#[test]
fn every_round_is_a_permutation_and_the_seed_fixes_it() {
    let orders = |seed| {
        let mut orders = Vec::new();
        let mut rounds = Rounds::new(10, seed);
        for _ in 0..3 {
            let mut order = Vec::new();
            let measured: Result<(), ()> = rounds.run(1, |setting| {
                order.push(setting);
                Ok(())
            });
            assert_eq!(measured, Ok(()));
            orders.push(order);
        }
        assert_eq!(rounds.rows().count(), 3);
        orders
    };
    let mut first = orders(1);
    assert_eq!(first, orders(1));
    assert_ne!(first, orders(2));
    assert!(first[0] != first[1] && first[1] != first[2]);
    for order in &mut first {
        order.sort_unstable();
        assert_eq!(*order, (0..10).collect::<Vec<_>>());
    }
}

#[test]
fn a_slow_round_cancels_out_of_the_ratio() {
    let of = |rate: f64| [Some(rate), Some(1.9 * rate)];
    let rounds = rounds(&[of(1.0), of(0.5), of(1.1), of(0.25)]);
    let ratio = rounds.ratio(1, 0, same);
    assert!((ratio.value - 1.9).abs() < 1e-12);
    assert!(ratio.interval.high - ratio.interval.low < 1e-9);
}

#[test]
fn only_rounds_that_have_both_are_compared() {
    let some = [
        [Some(1.0), None],
        [Some(2.0), Some(8.0)],
        [Some(0.0), Some(5.0)],
    ];
    let rounds = rounds(&some);
    assert_eq!(rounds.values(0, same), [1.0, 2.0, 0.0]);
    assert_eq!(rounds.pairs(1, 0).count(), 2);
    assert_eq!(rounds.ratios(1, 0, same), [4.0]);
    assert!(Rounds::<f64>::new(2, 1).ratio(0, 1, same).value.is_nan());
}

#[test]
fn a_failure_ends_the_round_and_leaves_what_was_measured() {
    let mut rounds = Rounds::new(3, 1);
    let ended = rounds.round_in([2, 0, 1], |setting| {
        (setting != 0).then_some(setting).ok_or("no")
    });
    assert_eq!(ended, Err("no"));
    assert_eq!(rounds.of(2).collect::<Vec<_>>(), [&2]);
    assert_eq!((rounds.of(1).count(), rounds.rows().count()), (0, 0));
}

#[test]
fn a_mean_is_of_what_a_round_has() {
    let rounds = rounds(&[
        [Some(1.0), Some(3.0)],
        [Some(1.0), None],
        [Some(0.0), Some(3.0)],
    ]);
    assert_eq!(rounds.means(&[0, 1], same), [Some(2.0), Some(1.0), None]);
    assert_eq!(rounds.means(&[1], same), [Some(3.0), None, Some(3.0)]);
}

#[test]
fn judged_ratios_leave_rounds_out_of_which_either_side_was_disturbed() {
    let mut rounds = Rounds::new(2, 1);
    for round in 0..9_u32 {
        let noisy = round % 3 == 0;
        let own = (if noisy { 9.0 } else { 3.0 }, noisy);
        let other = (1.5, round == 1);
        let measured = rounds.round_in(0..2, |place| Ok::<_, ()>([own, other][place]));
        assert_eq!(measured, Ok(()));
    }
    let judged = rounds.judged(0);
    assert_eq!((judged.values, judged.calm), (vec![3.0; 6], 6));
    let judged = rounds.judged_ratios(0, 1);
    assert_eq!((judged.values, judged.calm), (vec![2.0; 5], 5));
}
