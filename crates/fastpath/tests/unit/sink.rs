use super::*;

#[test]
fn buckets_follow_each_other_without_gap() {
    let mut next = 0;
    for index in 0..BUCKETS {
        let (low, high) = bounds(index);
        assert_eq!(low, next, "bucket {index}");
        assert!(high >= low);
        assert!((high - low) as f64 <= low as f64 / 31.0);
        next = high.wrapping_add(1);
    }
    assert_eq!(next, 0, "the last bucket ends at 2^64 - 1");
}
