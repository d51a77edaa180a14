use super::*;

/// Student's table: the 97.5 percentiles.
#[test]
fn the_distribution_is_that_of_the_tables() {
    let table = [
        (1, 12.7062),
        (2, 4.3027),
        (3, 3.1824),
        (4, 2.7764),
        (5, 2.5706),
        (10, 2.2281),
        (30, 2.0423),
    ];
    for (freedom, t) in table {
        let p = two_sided(t, freedom);
        assert!((p - 0.05).abs() < 1e-5, "{freedom}: {p}");
        assert!((two_sided(-t, freedom) - p).abs() < 1e-15);
    }
    assert_eq!(two_sided(0.0, 7), 1.0);
    assert!((two_sided(4.6041, 4) - 0.01).abs() < 1e-5);
}

#[test]
fn one_way_is_half_of_both_ways_and_few_rounds_say_nothing() {
    let ratios = [1.02, 1.03, 1.01, 1.04, 1.02];
    let p = paired(&ratios);
    assert!(p < 0.01 && (above(&ratios) - p / 2.0).abs() < 1e-15);
    assert!((below(&ratios) - (1.0 - p / 2.0)).abs() < 1e-15);
    assert_eq!(paired(&ratios[..4]), 1.0);
    assert_eq!(paired(&[1.0; 9]), 1.0);
    assert_eq!(paired(&[2.0; 5]), 0.0);
    assert_eq!(paired(&[1.0, 1.0, f64::NAN, 1.0, 1.0]), 1.0);
}
