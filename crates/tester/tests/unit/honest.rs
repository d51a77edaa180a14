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
