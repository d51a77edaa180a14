//! Of `planes/src/compare/pairs.rs`.

use super::*;

/// The machine halves its pace from pair to pair; requests take a tenth.
#[test]
fn requests_are_held_against_none_pair_by_pair() {
    let mut pairs = Pairs::default();
    for pace in [1.0, 0.5, 1.0, 0.5, 0.25] {
        assert_eq!(pairs.change(), None, "fewer than five pairs tell nothing");
        assert!(pairs.add([Some(1e6 * pace), Some(0.9e6 * pace)], false));
    }
    let change = pairs.change().unwrap();
    assert!((change.share + 0.1).abs() < 1e-9 && (change.high + 0.1).abs() < 1e-9);
    assert_eq!(change.pairs, 5);
    let alone = pairs.rate(false).unwrap();
    assert!((alone.value, alone.interval.low, alone.interval.high) == (5e5, 2.5e5, 1e6));
}

#[test]
fn what_the_hypervisor_took_does_not_count_whatever_came_of_it() {
    let mut pairs = Pairs::default();
    assert!(!pairs.add([Some(1e6), Some(2e6)], true));
    assert!(!pairs.add([Some(1e6), None], false));
    assert_eq!((pairs.rate(false).is_none(), pairs.left_out), (true, 2));
}

#[test]
fn each_plane_is_first_by_turns() {
    let all: Vec<bool> = (0..4).flat_map(order).collect();
    let b = |words: &str| words.chars().map(|of| of == 'B').collect::<Vec<_>>();
    assert_eq!(all, b("ABBAABBA"));
}
