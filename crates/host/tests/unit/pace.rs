//! Of `host/src/pace.rs`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;

#[test]
fn pieces_that_were_interrupted_do_not_count() {
    let mut pieces = vec![(0, 1000); 18];
    pieces.extend([(0, 9_000), (0, 900_000)]);
    assert_eq!(Pieces(pieces).mean(None), Some(1000.0));
    assert_eq!(Pieces(Vec::new()).mean(None), None);
    assert_eq!(Pieces(vec![(0, 1000)]).mean(None), None);
}

#[test]
fn what_came_before_and_after_the_counting_does_not_count() {
    let pieces = (0..40).map(|at| (at, if (10..20).contains(&at) { 1_000 } else { 2_000 }));
    let pieces = Pieces(pieces.collect());
    let mean = |from_ns, to_ns| pieces.mean(Some(Span { from_ns, to_ns }));
    assert_eq!(mean(10, 20), Some(1_000.0));
    assert_eq!(mean(20, 40), Some(2_000.0));
    // Two are too few: all are asked.
    assert_eq!(mean(10, 12), pieces.mean(None));
}

/// A core is watched while an ordinary thread has it.
#[test]
fn a_core_that_works_is_watched() {
    if !needs::root("for a real-time priority") {
        return;
    }
    let cores = crate::allowed_cores().unwrap();
    let end = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for &core in &cores {
            let end = &end;
            scope.spawn(move || {
                let _pinned = crate::Pinned::to(core).unwrap();
                while !end.load(Ordering::Relaxed) {}
            });
        }
        let watch = Watch::on(&cores);
        std::thread::sleep(Duration::from_millis(100));
        let found = watch.end(None);
        end.store(true, Ordering::Relaxed);
        assert_eq!(found.len(), cores.len());
        assert!(
            found
                .iter()
                .all(|piece| piece.is_some_and(|ns| ns > 100.0 && ns < 1e6)),
            "{found:?}"
        );
    });
}

#[test]
fn a_core_is_held_against_its_own_calmest_trial_with_as_many_at_work() {
    let mut shortest = Shortest::new();
    let (first, second) = (CoreId(0), CoreId(1));
    let mut slowed =
        |cores: &[CoreId], pieces: &[Option<f64>]| is_slowed(&mut shortest, cores, pieces);
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
fn waiting_for_calm_has_an_end() {
    let mut calmest = Calmest::default();
    let cores = crate::allowed_cores().unwrap();
    // Nobody is as fast as this.
    for &core in &cores {
        calmest.between.insert((cores.len(), core), 0.001);
    }
    let begun = Instant::now();
    calmest.wait(&cores, begun + Duration::from_millis(40));
    assert!(begun.elapsed() < Duration::from_secs(2));
    if needs::root("for a real-time priority") {
        assert!(begun.elapsed() >= Duration::from_millis(20));
    }
}

#[test]
fn who_was_calm_a_moment_ago_is_not_waited_for() {
    let mut calmest = Calmest::default();
    let cores = crate::allowed_cores().unwrap();
    calmest.remember(&cores, false);
    // Nobody is as fast as this.
    for &core in &cores {
        calmest.between.insert((cores.len(), core), 0.001);
    }
    let begun = Instant::now();
    calmest.wait(&cores, begun + Duration::from_mins(1));
    assert!(begun.elapsed() < Duration::from_secs(30));
    calmest.remember(&cores, true);
    assert!(calmest.calm.is_empty());
}

#[test]
fn a_trial_that_failed_ends_it() {
    let mut calmest = Calmest::default();
    let cores = crate::allowed_cores().unwrap();
    assert_eq!(
        calmest
            .calmly(&cores[..1], || Ok::<_, ()>(7), |_| None)
            .map(|of| of.0),
        Ok(7)
    );
    let mut trials = 0;
    let trial = || {
        trials += 1;
        Err::<(), _>("no cable")
    };
    let failed = calmest.calmly(&cores[..1], trial, |()| None);
    assert_eq!((failed, trials), (Err("no cable"), 1));
}
