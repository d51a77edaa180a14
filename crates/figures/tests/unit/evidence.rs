//! Of `figures/src/evidence.rs`.

use super::*;

#[test]
fn where_most_rounds_are_calm_the_others_do_not_count() {
    let judged = judge(&[(1.0, false), (0.2, true), (1.1, false)], 3, 1);
    assert_eq!((judged.values, judged.weak), (vec![1.0, 1.1], None));
}

#[test]
fn many_calm_rounds_are_enough() {
    let rounds = |calm: usize| -> Vec<(f64, bool)> {
        let place = |place| {
            if place < calm {
                (1.0, false)
            } else {
                (0.5, true)
            }
        };
        (0..20).map(place).collect()
    };
    assert_eq!(judge(&rounds(7), 20, 1).values, [1.0; 7]);
    assert_eq!(judge(&rounds(6), 20, 1).values.len(), 20);
}

#[test]
fn rounds_that_lie_apart_are_no_evidence_and_disturbed_ones_must_be_closer() {
    let weak = |values: &[f64], disturbed| {
        let rounds: Vec<(f64, bool)> = values.iter().map(|&value| (value, disturbed)).collect();
        judge(&rounds, rounds.len(), 1).weak
    };
    assert_eq!(weak(&[1.0, 1.2, 1.4], false), None);
    assert_eq!(weak(&[0.094, 1.268, 1.409], false), Some(Weak::Scattered));
    assert_eq!(weak(&[1.0, 1.2, 1.4], true), Some(Weak::Disturbed));
    assert_eq!(weak(&[1.0, 1.05, 1.08], true), None);
    assert_eq!(weak(&[1.0, 1.0], true), Some(Weak::Disturbed), "alike");
    assert_eq!(weak(&[1.0, 1.0], false), None);
    assert_eq!(weak(&[0.0, 0.0, 0.0], false), None);
    assert_eq!(weak(&[0.0, 1.0, 1.0], false), Some(Weak::Scattered));
    assert_eq!(weak(&[1.0], false), None, "all that was asked for");
    assert!(judge(&[(1.0, false)], 3, 1).weak.is_some());
}
