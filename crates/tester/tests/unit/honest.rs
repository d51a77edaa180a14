use super::*;

#[test]
fn the_factors_decide() {
    let of = |rate, limit| grade(rate, Some(2.0e6), limit, None).0;
    assert_eq!(of(1.0e6, Limit::Device), Grade::Clean);
    assert_eq!(of(1.1e6, Limit::Device), Grade::Marked);
    assert_eq!(of(1.9e6, Limit::Device), Grade::Limited);
    assert_eq!(of(0.1e6, Limit::Tester), Grade::Limited);
    assert_eq!(of(0.1e6, Limit::Range), Grade::Limited);
    assert_eq!(grade(1.0, None, Limit::Device, None).0, Grade::Limited);
    assert_eq!(
        grade(1.0, Some(100.0), Limit::Device, Some("steal")).0,
        Grade::Noisy
    );
}

#[test]
fn what_the_tester_may_have_taken_is_printed() {
    assert!((upper_bound(1.0e6, 2.0e6).unwrap() - 2.0e6).abs() < 1e-3);
    assert!((upper_bound(1.0e6, 5.0e6).unwrap() - 1.25e6).abs() < 1e-3);
    assert_eq!(upper_bound(1.0e6, 1.0e6), None);
    let (_, words) = grade(1.0e6, Some(5.0e6), Limit::Device, None);
    assert!(words.contains("at most 1.25 M frames/s"), "{words}");
}

#[test]
fn a_tester_that_reaches_much_more_is_not_called_the_limit() {
    let (grade, words) = grade(0.1e6, Some(2.0e6), Limit::Tester, None);
    assert_eq!(grade, Grade::Limited);
    assert!(!words.contains("limited by the tester"), "{words}");
    assert!(words.contains("20.00 times"), "{words}");
}
