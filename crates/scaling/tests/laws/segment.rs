//! Laws that do not go through a step of the topology.

use scaling::laws::Point;
use scaling::laws::choice::choose;
use scaling::laws::form::{Form, Weighting};
use scaling::laws::segment::{Boundary, fit_segments};
use scaling::laws::usl::Usl;

#[test]
fn a_curve_with_a_step_is_two_straight_ones() {
    // Eight cores scale linearly; their second threads add a quarter of a core each.
    let rate = |n: u32| {
        if n <= 8 {
            f64::from(n)
        } else {
            8.0 + 0.25 * f64::from(n - 8)
        }
    };
    let points: Vec<Point> = (1..=16)
        .map(|cores| Point {
            cores,
            rate: rate(cores),
        })
        .collect();
    let boundary = Boundary {
        cores: 9,
        what: "second thread of a core".into(),
    };
    let segments = fit_segments(&points, 1, &[boundary], Weighting::Relative);
    assert_eq!(segments.len(), 2);
    assert_eq!((segments[0].first, segments[0].last), (1, 8));
    assert_eq!((segments[1].first, segments[1].last), (9, 16));
    let first = segments[0].choice.fit().unwrap();
    assert_eq!(first.form, Form::Linear);
    assert!((first.law.gamma - 1.0).abs() < 1e-9);
    let whole = choose(&points, Weighting::Relative);
    let law: Usl = whole.fit().unwrap().law;
    assert!(
        (law.rate(8.0) / 8.0 - 1.0).abs() > 0.05,
        "one curve through the step is wrong at the step"
    );
}

#[test]
fn a_boundary_beyond_the_cores_tried_is_ignored() {
    let points: Vec<Point> = (1..=2).map(|cores| Point { cores, rate: 1.0 }).collect();
    let boundary = Boundary {
        cores: 3,
        what: "x".into(),
    };
    assert_eq!(
        fit_segments(&points, 1, &[boundary], Weighting::Relative).len(),
        1
    );
}
