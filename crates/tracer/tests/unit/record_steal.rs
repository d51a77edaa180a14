use super::*;

#[test]
fn only_what_was_stolen_since_the_last_reading_is_told() {
    let tick = 1_000_000_000 / clock_ticks_per_second();
    let mut steal = Steal::default();
    let stat = |second: u64| {
        format!(
            "cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 40 0 0\ncpu1 1 2 3 4 5 6 7 {second} 0 \
             0\nintr 5\n"
        )
    };
    assert_eq!(steal.compare(&stat(9), 500).0, []);
    let (stolen, within) = steal.compare(&stat(12), 800);
    assert_eq!((stolen, within), (vec![(1, 3 * tick)], 300));
}
