use super::*;

#[test]
fn an_answer_changes_when_the_opposite_was_seen_long_enough() {
    let start = Instant::now();
    let mut steady = Steady::default();
    let mut see = |milliseconds: u64, holds| {
        steady.see(holds, start + Duration::from_millis(milliseconds));
        steady.answer.unwrap()
    };
    // The first is taken as it is.
    assert!(see(0, true));
    // A short failure is none.
    assert!(see(1000, false) && see(2900, false) && see(2950, true));
    assert!(see(3000, false) && see(4900, false));
    assert!(!see(5000, false));
    // It comes back more slowly, and from the beginning after another failure.
    assert!(!see(6000, true) && !see(10_900, true) && !see(10_950, false));
    assert!(!see(11_000, true) && !see(15_900, true));
    assert!(see(16_000, true));
}
