//! Of `host/src/pace.rs`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;
use crate::counting::tests::counting;

/// Pieces every millisecond from half a millisecond on, which took so long, ns.
fn every_millisecond(took: impl IntoIterator<Item = u64>) -> Pieces {
    let pieces = (0..).zip(took);
    Pieces(
        pieces
            .map(|(at, took)| (at * 1_000_000 + 500_000, took))
            .collect(),
    )
}

fn milliseconds(from: u64, to: u64) -> Span {
    let [from_ns, to_ns] = [from, to].map(|at| at * 1_000_000);
    Span { from_ns, to_ns }
}

#[test]
fn a_stretch_is_calm_when_the_pieces_before_it_in_it_and_behind_it_are() {
    let slow = |at| if at == 10 { 2_000 } else { 1_000 };
    let pieces = every_millisecond((0..20).map(slow));
    let is_calm = |from, to| pieces.are_calm_around(milliseconds(from, to), 1_120.0);
    assert!(is_calm(1, 3) && is_calm(7, 9));
    assert!(!is_calm(8, 10), "it is the first behind it");
    assert!(!is_calm(9, 11), "it is in it");
    assert!(!is_calm(10, 12), "it is in it");
    assert!(!is_calm(11, 12), "it is the last before it");
    assert!(is_calm(12, 14));
    assert!(!is_calm(0, 1), "nobody looked before it");
    assert!(!is_calm(18, 20), "nobody looked behind it");
    let rare = Pieces(vec![(0, 1_000), (60_000_000, 1_000)]);
    assert!(
        !rare.are_calm_around(milliseconds(30, 32), 1_120.0),
        "too far away"
    );
}

#[test]
fn a_trial_tells_what_was_counted_while_every_core_was_calm() {
    let cores = [CoreId(0), CoreId(1)];
    // Of forty milliseconds, one core is slowed in 10 to 19, the other in 15 to 24.
    let slowed = |from: u64| {
        let took = (0..42).map(move |at| {
            if (from..from + 10).contains(&at) {
                1_800
            } else {
                1_000
            }
        });
        Some(every_millisecond(took))
    };
    let counts = (0..40).map(|at| if (10..25).contains(&at) { 400 } else { 1_000 });
    let counted = counting(counts);
    let mut shortest = Shortest::new();
    let told = calm(
        &mut shortest,
        &cores,
        vec![slowed(10), slowed(15)],
        &counted,
    );
    assert!(!told.slowed);
    assert!(
        told.per_second
            .is_some_and(|rate| (rate - 1e6).abs() < 1e-3)
    );
    // Nearly always slowed: it tells nothing, though its pieces' least is that of calm.
    let busy = |calm: u64| {
        let took = (0..42).map(move |at| if at < calm { 1_000 } else { 1_800 });
        Some(every_millisecond(took))
    };
    let told = calm(&mut shortest, &cores, vec![busy(42), busy(3)], &counted);
    assert_eq!((told.slowed, told.per_second), (true, None));
    // They timed pieces of work themselves: those are asked.
    let marks = |slow: u64| {
        let mark = |at: u64| Mark {
            begun_ns: at * 1_000_000,
            took_ns: if at < slow { 900 } else { 500 },
            count: if at < slow { at * 10 } else { at * 1_000 },
        };
        (0..40).map(mark).collect()
    };
    let own = Counting::by_cores(Timer::Program, vec![marks(10), marks(20)]).unwrap();
    let told = calm(&mut shortest, &cores, vec![busy(3), busy(3)], &own);
    let rate = told.per_second.unwrap();
    assert!(!told.slowed && (rate / 2e6 - 1.0).abs() < 1e-3, "{rate}");
    // Nobody looked.
    let told = calm(&mut shortest, &cores, vec![None, None], &counted);
    assert!(!told.slowed && told.per_second.is_some());
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
        let watch = Lookers::<Pieces>::on(&cores);
        std::thread::sleep(Duration::from_millis(100));
        let found = watch.end();
        end.store(true, Ordering::Relaxed);
        assert_eq!(found.len(), cores.len());
        let least = found.iter().map(|pieces| pieces.as_ref()?.least(None));
        let least: Vec<Option<f64>> = least.collect();
        let is_some = |least: &Option<f64>| least.is_some_and(|ns| ns > 100.0 && ns < 1e6);
        assert!(least.iter().all(is_some), "{least:?}");
    });
}

#[test]
fn a_thread_that_counts_times_a_piece_of_work_now_and_then() {
    let marks = Marks::default();
    let mut looks = Looks::new(Arc::clone(&marks));
    let begun = now_ns();
    let mut count = 0;
    while now_ns() - begun < 5_000_000 {
        count += 1;
        looks.turn(count);
    }
    let marks = marks.lock().unwrap();
    assert!((1..=51).contains(&marks.len()), "{}", marks.len());
    assert!(marks.is_sorted_by(|one, next| {
        one.begun_ns + OFTEN_NS <= next.begun_ns + one.took_ns && one.count < next.count
    }));
}

#[test]
fn a_core_is_held_against_its_own_calmest_trial_with_as_many_at_work() {
    let mut shortest = Shortest::new();
    let (first, second) = (CoreId(0), CoreId(1));
    let counted = counting([1_000; 9]);
    let mut slowed = |cores: &[CoreId], took: &[Option<u64>]| {
        let pieces = took
            .iter()
            .map(|took| took.map(|took| every_millisecond([took; 9])));
        calm(&mut shortest, cores, pieces.collect(), &counted).slowed
    };
    assert!(!slowed(&[first], &[Some(2000)]));
    assert!(!slowed(&[first], &[Some(1000)]), "the calmest until now");
    assert!(slowed(&[first], &[Some(1200)]));
    assert!(!slowed(&[first], &[Some(1100)]), "within the clock's ways");
    assert!(!slowed(&[second], &[Some(1200)]), "another core");
    let both = [first, second];
    assert!(!slowed(&both, &[Some(1500), Some(1500)]));
    assert!(slowed(&both, &[Some(1500), Some(1900)]));
    assert!(!slowed(&both, &[Some(1500), None]), "nobody looked");
}

#[test]
fn waiting_for_calm_has_an_end() {
    let mut calmest = Calmest::default();
    let cores = crate::allowed_cores().unwrap();
    // Nobody is as fast as this.
    for &core in &cores {
        calmest
            .shortest
            .insert((Timer::Waiting, cores.len(), core), 0.001);
    }
    let begun = Instant::now();
    calmest.wait(&cores, begun + Duration::from_millis(40));
    assert!(begun.elapsed() < Duration::from_secs(2));
    assert!(begun.elapsed() >= Duration::from_millis(20));
}

#[test]
fn who_was_calm_a_moment_ago_is_not_waited_for() {
    let mut calmest = Calmest::default();
    let cores = crate::allowed_cores().unwrap();
    calmest.calm = cores.iter().map(|&core| (core, Instant::now())).collect();
    // Nobody is as fast as this.
    for &core in &cores {
        calmest
            .shortest
            .insert((Timer::Waiting, cores.len(), core), 0.001);
    }
    let begun = Instant::now();
    calmest.wait(&cores, begun + Duration::from_mins(1));
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_trial_that_failed_ends_it() {
    let mut calmest = Calmest::default();
    let cores = crate::allowed_cores().unwrap();
    assert_eq!(
        calmest
            .calmly(&cores[..1], || Ok::<_, ()>(7), |_| Counting::default())
            .map(|of| of.0),
        Ok(7)
    );
    let mut trials = 0;
    let trial = || {
        trials += 1;
        Err::<(), _>("no cable")
    };
    let failed = calmest.calmly(&cores[..1], trial, |()| Counting::default());
    assert_eq!((failed, trials), (Err("no cable"), 1));
}
