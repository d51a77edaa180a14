//! Of `study/src/observer.rs`.

use super::*;

#[test]
fn a_core_is_held_against_its_own_calmest_trial_with_as_many_at_work() {
    let mut calmest = BTreeMap::new();
    let (first, second) = (CoreId(0), CoreId(1));
    let mut slowed =
        |cores: &[CoreId], pieces: &[Option<f64>]| is_slowed(&mut calmest, cores, pieces);
    assert!(!slowed(&[first], &[Some(2000.0)]));
    assert!(!slowed(&[first], &[Some(1000.0)]), "the calmest until now");
    assert!(slowed(&[first], &[Some(1200.0)]));
    assert!(
        !slowed(&[first], &[Some(1100.0)]),
        "within the clock's ways"
    );
    assert!(!slowed(&[second], &[Some(1200.0)]), "another core");
    let both = [first, second];
    assert!(!slowed(&both, &[Some(1500.0), Some(1500.0)]));
    assert!(slowed(&both, &[Some(1500.0), Some(1900.0)]));
    assert!(!slowed(&both, &[Some(1500.0), None]), "nobody looked");
}

#[test]
fn what_a_trial_gives_is_given_on() {
    let mut observer = Observer::default();
    let cores = host::allowed_cores().unwrap();
    let (given, seen) = observer.watch(&cores[..1], || 7);
    assert_eq!(given, 7);
    assert!(seen.seconds >= 0.0 && !seen.slowed, "{seen:?}");
}

#[test]
fn waiting_for_calm_has_an_end() {
    let mut observer = Observer::default();
    let cores = host::allowed_cores().unwrap();
    // Nobody is as fast as this.
    for &core in &cores {
        observer.idle.insert((cores.len(), core), 0.001);
    }
    let begun = Instant::now();
    observer.await_calm(&cores, begun + Duration::from_millis(40));
    assert!(begun.elapsed() < Duration::from_secs(2));
    if needs::root("for a real-time priority") {
        assert!(begun.elapsed() >= Duration::from_millis(20));
    }
}
