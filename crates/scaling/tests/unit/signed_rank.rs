use super::*;

/// Wilcoxon's table for two sides at 5 % (Hollander and Wolfe, "Nonparametric Statistical
/// Methods", table A.4).
#[test]
fn the_critical_sums_are_those_of_the_table() {
    for (count, sum) in [
        (6, 0),
        (7, 2),
        (8, 3),
        (9, 5),
        (10, 8),
        (15, 25),
        (20, 52),
        (25, 89),
        (50, 434),
    ] {
        assert_eq!(critical(count, 0.025), sum, "{count}");
    }
}

#[test]
fn the_centre_does_not_feel_one_wild_difference() {
    let mut differences = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09];
    let calm = centre(&differences).unwrap();
    assert!((calm.value - 0.05).abs() < 1e-12);
    differences[8] = 9.0;
    let wild = centre(&differences).unwrap();
    assert!((wild.value - calm.value).abs() < 0.011, "{wild:?}");
    assert_eq!(centre(&differences[..8]), None);
}
