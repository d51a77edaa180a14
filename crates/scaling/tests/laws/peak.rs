//! When a peak may be named.

use figures::Interval;
use scaling::laws::Point;
use scaling::laws::form::Form;
use scaling::laws::interval::Coefficients;
use scaling::laws::peak::{Peak, fell_after, judge};

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

#[test]
fn a_fall_that_was_seen_needs_no_law() {
    let speedups = [
        (1, interval(1.0, 1.0)),
        (2, interval(1.4, 1.5)),
        (3, interval(0.7, 0.8)),
    ];
    assert_eq!(fell_after(&speedups), Some(2));
    assert_eq!(
        judge(&points(3), None, None, Some(2)).to_string(),
        "fastest on 2 cores; slower beyond"
    );
    assert_eq!(fell_after(&speedups[..2]), None);
}
