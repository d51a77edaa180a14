//! Of `study/src/observer.rs`.

use super::*;

#[test]
fn what_a_trial_gives_is_given_on() {
    let mut observer = Observer::default();
    let cores = host::allowed_cores().unwrap();
    let (given, seen) = observer.watch(&cores[..1], || 7, |_| Counting::default());
    assert_eq!(given, 7);
    assert!(!seen.calm.slowed && seen.calm.missed == 0.0, "{seen:?}");
}
