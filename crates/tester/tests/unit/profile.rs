use super::*;
use crate::traffic::Traffic;

#[test]
fn shorter_and_fewer_trials_are_deviations() {
    let shorter = Profile::RFC_2544.with_trials_of(1.0).with_repeats(1);
    let said = crate::deviations::of(&shorter, &Traffic::default()).join("; ");
    for words in [
        "deciding trials: 1 s",
        "loss trials: 1 s",
        "latency: 1 repetitions",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(shorter.search_seconds <= shorter.final_seconds);
    let longer = Profile::QUICK.with_trials_of(60.0);
    let same = longer.search_seconds - Profile::QUICK.search_seconds;
    assert!(same.abs() < f64::EPSILON);
}
