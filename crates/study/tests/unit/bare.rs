//! Of `study/src/bare.rs`.

use super::*;

#[test]
fn one_core_is_the_mean_of_the_cores_and_all_stand_by_themselves() {
    let mut rounds = Rounds::new(3, 1);
    for pace in [1.0, 1.1, 0.9] {
        let rates = [2e6 * pace, 4e6 * pace, 5e6 * pace];
        let measured: Result<(), ()> = rounds.round_in(0..3, |place| Ok((rates[place], false)));
        assert_eq!(measured, Ok(()));
    }
    let found = found(&rounds, 2, 1);
    let rates: Vec<(usize, f64)> = found
        .iter()
        .map(|one| (one.workers, one.frames_per_second.0.round()))
        .collect();
    assert_eq!(rates, [(1, 3e6), (2, 5e6)]);
    assert!(found[0].low < found[0].high && found[0].weak.is_none());
}
