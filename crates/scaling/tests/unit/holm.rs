use super::*;

#[test]
fn the_smallest_is_held_to_the_strictest() {
    let corrected = holm(&[0.03, 0.01, 0.04, 0.6]);
    let expected = [0.09, 0.04, 0.09, 0.6];
    for (found, expected) in corrected.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{corrected:?}");
    }
    assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    assert_eq!(holm(&[]), [0.0; 0]);
}
