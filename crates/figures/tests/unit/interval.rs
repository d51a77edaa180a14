//! Of `figures/src/interval.rs`.

use super::*;

#[test]
fn few_values_give_their_range_with_its_coverage() {
    let range = Interval::new(1.0, 3.0);
    assert_eq!(median_interval(&[2.0, 1.0, 3.0], 1), range);
    assert_eq!(format!("{range:.1} {range:#.0}"), "1.0 to 3.0 [1, 3]");
    assert!((coverage(5) - 0.9375).abs() < 1e-12);
    assert!((coverage(6) - 0.96875).abs() < 1e-12);
    assert!(median_interval(&[], 1).low.is_nan());
}

#[test]
fn the_median_interval_holds_the_truth_about_as_often_as_it_says() {
    let mut random = Random::new(11);
    for count in [5, 6, 9, 15] {
        let mut held = 0;
        for trial in 0..400 {
            // A skewed distribution with median 1: 2^(uniform in -1..1), then cubed above 1.
            let values: Vec<f64> = (0..count)
                .map(|_| {
                    let value = 2_f64.powf(2.0 * random.unit() - 1.0);
                    if value > 1.0 { value.powi(3) } else { value }
                })
                .collect();
            held += i32::from(median_interval(&values, trial).contains(1.0));
        }
        assert!(
            f64::from(held) / 400.0 > coverage(count) - 0.05,
            "{count}: {held}"
        );
    }
}

#[test]
fn the_bootstrap_of_a_mean_is_that_of_its_standard_error() {
    let values: Vec<f64> = (0..100).map(f64::from).collect();
    let mean = |draw: &[f64]| Some(draw.iter().sum::<f64>() / draw.len() as f64);
    let found = bootstrap(&values, 2000, 3, mean);
    // 28.87 / √100 × 1.96 either side of 49.5.
    assert!((found.low - 43.84).abs() < 0.5 && (found.high - 55.16).abs() < 0.5);
}

#[test]
fn an_effect_counts_only_clear_of_its_control() {
    let control = Estimate::of(&[1.02, 0.98, 1.0, 1.01, 0.99], 1);
    let effect = |values: [f64; 5]| Estimate::of(&values, 1);
    let (more, less) = (effect([1.2; 5]), effect([0.8; 5]));
    let same = effect([1.01, 0.99, 1.0, 1.03, 0.97]);
    assert!(more.is_above(&control, 1.0) && !more.is_below(&control, 1.0));
    assert!(less.is_below(&control, 1.0) && !less.is_above(&control, 1.0));
    assert!(!same.is_above(&control, 1.0) && !same.is_below(&control, 1.0));
}

#[test]
fn an_open_end_is_null_in_json_and_comes_back() {
    let open = Interval::new(2.0, f64::INFINITY);
    assert_eq!(format!("{open:#.0}"), "[2, not bounded]");
    let json = serde_json::to_string(&open).unwrap();
    assert_eq!(json, r#"{"low":2.0,"high":null}"#);
    assert_eq!(serde_json::from_str::<Interval>(&json).unwrap(), open);
}
