use super::*;

fn bound(must: Option<Limit>, goal: Option<Limit>, median: f64) -> Bound {
    Bound {
        target: Target {
            what: String::new(),
            must,
            goal,
        },
        median,
        interval: None,
        rounds: None,
    }
}

#[test]
fn what_the_bed_takes_is_taken_from_both() {
    // 100 ns for the bed, 300 and 150 ns with it and a device.
    let ratios = beyond(&[(3.0, false), (3.0, true)], &[(1.5, false), (1.5, false)]);
    assert_eq!(ratios, [(4.0, false), (4.0, true)]);
}

#[test]
fn a_figure_reaches_its_goal_or_what_it_must_or_misses() {
    let least = |value| Some(Limit::AtLeast(value));
    let most = |value| Some(Limit::AtMost(value));
    assert_eq!(bound(least(1.9), least(1.97), 1.98).word(), "goal");
    assert_eq!(bound(least(1.9), least(1.97), 1.9).word(), "must");
    assert_eq!(bound(least(1.9), least(1.97), 1.89).word(), "missed");
    assert_eq!(bound(most(0.05), None, 0.04).word(), "must");
    assert_eq!(bound(most(0.05), None, 0.06).word(), "missed");
    assert_eq!(bound(None, most(0.02), 0.06).word(), "");
    let same = Some(Limit::NotBelow(1.0));
    let with = |high| Bound {
        interval: Some(Interval::new(0.9, high)),
        ..bound(same, None, 0.95)
    };
    assert_eq!(with(1.0).word(), "must");
    assert_eq!(with(0.99).word(), "missed");
}

#[test]
fn without_a_figure_that_has_a_bound_nothing_is_said_to_hold() {
    let must = Some(Limit::AtLeast(1.0));
    let no_bound = bound(None, must, 2.0);
    assert_eq!(verdict(&[no_bound]), verdict(&[]));
    assert!(verdict(&[]).starts_with("No figure"));
    let holds = [bound(None, None, 2.0), bound(must, None, 2.0)];
    assert!(verdict(&holds).starts_with("Every"));
    let misses = [bound(must, None, 2.0), bound(must, None, 0.5)];
    assert!(verdict(&misses).starts_with("Missed"));
}
