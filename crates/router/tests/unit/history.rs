//! Of `router/src/management_plane/console/history.rs`.

use super::*;

#[test]
fn points_are_kept_for_a_quarter_of_an_hour_in_eight_mebibytes() {
    let mut history = History::default();
    for number in 0..POINTS + 10 {
        history.add(number.to_string());
    }
    let (points, next) = history.since(0);
    assert_eq!((points.len(), next), (POINTS, POINTS as u64 + 10));
    assert_eq!(&*points[0], "10");
    let (points, _) = history.since(next - 1);
    assert_eq!(points.len(), 1);
    assert_eq!(history.since(next).0.len(), 0);
    // Those of a router of very many ports.
    for _ in 0..20 {
        history.add("x".repeat(1 << 20));
    }
    let (points, _) = history.since(0);
    assert!(
        points.len() == 8 && history.bytes <= BYTES,
        "{}",
        points.len()
    );
}

#[test]
fn a_counter_that_began_again_counts_from_zero() {
    assert_eq!((more(5, 8), more(8, 5)), (3, 5));
}
