//! When a peak may be named.

use figures::{Interval, Random};
use scaling::laws::Point;
use scaling::laws::form::Form;
use scaling::laws::interval::Coefficients;
use scaling::laws::peak::{Peak, fell_after, judge};
use scaling::laws::rates::Rates;

fn interval(low: f64, high: f64) -> Interval {
    Interval { low, high }
}

fn points(last: u32) -> Vec<Point> {
    (1..=last)
        .map(|cores| Point {
            cores,
            rate: f64::from(cores),
        })
        .collect()
}

#[test]
fn never_a_peak_from_four_cores() {
    let sure = Coefficients {
        sigma: interval(0.0, 0.1),
        kappa: interval(0.01, 0.02),
        peak: interval(8.0, 9.0),
        without_peak: 0.0,
    };
    assert_eq!(
        judge(&points(4), Some((Form::Usl, 8.5)), Some(&sure), None),
        Peak::TooFewCores { tried: 4 }
    );
    assert!(matches!(
        judge(&points(5), Some((Form::Usl, 8.5)), Some(&sure), None),
        Peak::At { .. }
    ));
    let unsure = Coefficients {
        without_peak: 0.3,
        peak: interval(8.0, f64::INFINITY),
        ..sure
    };
    assert_eq!(
        judge(&points(5), Some((Form::Usl, 8.5)), Some(&unsure), None),
        Peak::NoneBelow { cores: 8.0 }
    );
}

/// Rounds of rates at 1, 2, 3, 4 cores that are `truth` but for a scatter of some 3 %.
fn rounds(random: &mut Random, count: usize, truth: [f64; 4]) -> Rates {
    let mut rate = |truth: &f64| {
        let units: f64 = (0..12).map(|_| random.unit()).sum();
        truth * (1.0 + 0.03 * (units - 6.0))
    };
    Rates {
        cores: vec![1, 2, 3, 4],
        rates: (0..count)
            .map(|_| truth.iter().map(&mut rate).collect())
            .collect(),
    }
}

#[test]
fn a_fall_that_was_seen_needs_no_law() {
    let mut random = Random::new(1);
    let fell = rounds(&mut random, 5, [1.0, 1.45, 0.9, 0.75]);
    assert_eq!(fell_after(&fell), Some(2));
    assert_eq!(
        judge(&points(3), None, None, Some(2)).to_string(),
        "fastest on 2 cores; slower beyond"
    );
    let rising = rounds(&mut random, 5, [1.0, 1.9, 2.7, 3.5]);
    assert_eq!(fell_after(&rising), None);
}

#[test]
fn flat_curves_are_called_falling_in_less_than_one_case_of_twenty() {
    for count in [3, 5, 9, 31] {
        let mut random = Random::new(2);
        let alarms = (0..1000)
            .filter(|_| fell_after(&rounds(&mut random, count, [1.0; 4])).is_some())
            .count();
        assert!(alarms <= 50, "{alarms} of 1000 with {count} rounds");
    }
}
