//! What the removal of a lock brings, and when none is blamed.

use tracer::analyse::Analysis;
use tracer::event::{Context, Kind, Left, Operation};
use tracer::verdict::verdict;

use crate::synthetic::{Hand, LOCK, MAIN, Workload};

#[test]
fn a_few_waits_in_a_short_window_are_put_down_to_chance() {
    let blamed = |rounds: u64| {
        let mut hand = Hand::new(2, rounds * 1_000_000);
        hand.thread(1001, MAIN, "worker");
        for round in 0..rounds {
            let time = 1_000 + round * 1_000_000;
            hand.switch(time, 0, 0, Left::Runnable, MAIN);
            hand.switch(time, 1, 0, Left::Runnable, 1001);
            hand.futex(time + 500, 1, 1001, Operation::WaitBitset, LOCK, 2);
            hand.switch(time + 600, 1, 1001, Left::Sleeping, 0);
            hand.futex(time + 40_000, 0, MAIN, Operation::Wake, LOCK, 1);
            hand.wake(time + 40_100, 0, MAIN, 1001);
            hand.at(time + 40_200, 0, MAIN, Kind::FutexExit(1));
            hand.switch(time + 40_500, 1, 0, Left::Runnable, 1001);
            hand.at(time + 40_600, 1, 1001, Kind::FutexExit(0));
            hand.switch(time + 300_000, 0, MAIN, Left::Sleeping, 0);
            hand.switch(time + 300_000, 1, 1001, Left::Sleeping, 0);
        }
        let trace = hand.trace();
        verdict(&trace, &Analysis::new(&trace)).blamed.len()
    };
    // Everywhere one waits for 4 % of the time.
    assert_eq!(blamed(25), 0);
    assert_eq!(blamed(500), 1);
}

#[test]
fn what_threads_wait_for_elsewhere_is_no_gain_of_the_lock() {
    let mut hand = Hand::new(2, 100_000_000);
    hand.thread(1001, MAIN, "worker");
    let wakes = |woken| Kind::Waking {
        woken,
        target: 0,
        by: Context::Hardirq,
        new: false,
    };
    // In every millisecond both work for some microseconds, one waits 20 of them for the lock, and
    // both sleep for the rest.
    for round in 0..99_u64 {
        let time = 1_000 + round * 1_000_000;
        hand.at(time - 500, 0, 0, wakes(MAIN));
        hand.at(time - 500, 1, 0, wakes(1001));
        hand.switch(time, 0, 0, Left::Runnable, MAIN);
        hand.switch(time, 1, 0, Left::Runnable, 1001);
        hand.futex(time + 500, 1, 1001, Operation::WaitBitset, LOCK, 2);
        hand.switch(time + 600, 1, 1001, Left::Sleeping, 0);
        hand.futex(time + 20_000, 0, MAIN, Operation::Wake, LOCK, 1);
        hand.wake(time + 20_000, 0, MAIN, 1001);
        hand.at(time + 20_010, 0, MAIN, Kind::FutexExit(1));
        hand.switch(time + 20_300, 1, 0, Left::Runnable, 1001);
        hand.at(time + 20_310, 1, 1001, Kind::FutexExit(0));
        hand.futex(time + 40_000, 1, 1001, Operation::Wake, LOCK, 1);
        hand.at(time + 40_010, 1, 1001, Kind::FutexExit(0));
        hand.switch(time + 50_000, 0, MAIN, Left::Sleeping, 0);
        hand.switch(time + 50_000, 1, 1001, Left::Sleeping, 0);
    }
    let gain = Analysis::new(&hand.trace()).locks[0]
        .gain
        .expect("a hundred holds");
    assert!(gain.removed.high < 1.05, "{gain:?}");
}

#[test]
fn the_gain_of_removing_a_lock_covers_what_removal_brings() {
    for (threads, hold, think) in [(4, 10_000, 10_000), (4, 4_000, 16_000), (2, 10_000, 10_000)] {
        let until = 200_000_000;
        let (before, with) = Workload {
            threads,
            hold,
            think,
            until,
            spread: 0.5,
        }
        .run();
        // Without the lock the same threads do the same work side by side.
        let without = f64::from(threads) * until as f64 / (hold + think + 20) as f64;
        let measured = without / with.operations as f64;
        let gain = Analysis::new(&before).locks[0]
            .gain
            .expect("thousands of holds");
        let widened = tracer::analyse::locks::Range {
            low: gain.removed.low * 0.98,
            high: gain.removed.high * 1.02,
        };
        assert!(
            widened.contains(measured),
            "{threads} {hold} {think}: measured {measured}, predicted {:?}",
            gain.removed
        );
        assert!(gain.halved.high <= gain.removed.high * 1.01);
    }
}
