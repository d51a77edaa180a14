//! Which waits are contention, and what other waits are.

use tracer::analyse::Analysis;
use tracer::analyse::classify::Class;
use tracer::event::{Context, Kind, Left, Operation};
use tracer::verdict::verdict;

use crate::synthetic::{Hand, LOCK, MAIN};

#[test]
fn a_thread_that_waits_for_the_end_hides_nothing_and_takes_no_turn() {
    // The main thread is parked; of two workers, one waits for a known lock again and again.
    let mut hand = Hand::new(2, 200_000_000);
    hand.thread(1001, MAIN, "worker");
    hand.thread(1002, MAIN, "worker");
    hand.futex(500, 0, MAIN, Operation::Wait, 0x7f00_1000, 0);
    hand.switch(600, 0, MAIN, Left::Sleeping, 1001);
    hand.switch(600, 1, 0, Left::Runnable, 1002);
    for round in 0..99_u64 {
        let time = 100_000 + round * 2_000_000;
        hand.futex(time, 1, 1002, Operation::WaitBitset, LOCK, 2);
        hand.switch(time + 100, 1, 1002, Left::Sleeping, 0);
        hand.futex(time + 1_000_000, 0, 1001, Operation::Wake, LOCK, 1);
        hand.wake(time + 1_000_000, 0, 1001, 1002);
        hand.at(time + 1_000_010, 0, 1001, Kind::FutexExit(1));
        hand.switch(time + 1_000_300, 1, 0, Left::Runnable, 1002);
        hand.at(time + 1_000_310, 1, 1002, Kind::FutexExit(0));
    }
    hand.futex(199_500_000, 0, 1001, Operation::Wake, 0x7f00_1000, 1);
    hand.wake(199_500_010, 0, 1001, MAIN);
    hand.at(199_500_020, 0, 1001, Kind::FutexExit(1));
    hand.switch(199_600_000, 0, 1001, Left::Dead, MAIN);
    hand.at(199_600_010, 0, MAIN, Kind::FutexExit(0));
    let analysis = Analysis::new(&hand.trace());
    assert_eq!(analysis.turns.time(), 0);
}

#[test]
fn threads_that_hand_over_by_signals_take_turns() {
    let mut hand = Hand::new(2, 100_000_000);
    hand.thread(1001, MAIN, "worker");
    hand.switch(1, 0, 0, Left::Runnable, MAIN);
    hand.switch(1, 1, 0, Left::Runnable, 1001);
    let both = [(0_u16, MAIN, 0x7f00_1000), (1, 1001, 0x7f00_2000)];
    // Each waits at a word of its own, as in Go, until the other hands over.
    for round in 0..90_u64 {
        let time = 1_000 + round * 1_000_000;
        let (core, waits, word) = both[round as usize % 2];
        let (other, works, own) = both[(round as usize + 1) % 2];
        if round > 0 {
            hand.futex(time - 30_000, core, waits, Operation::Wake, own, 1);
            hand.wake(time - 30_000, core, waits, works);
            hand.at(time - 29_000, core, waits, Kind::FutexExit(1));
            hand.switch(time - 20_000, other, 0, Left::Runnable, works);
            hand.at(time - 19_000, other, works, Kind::FutexExit(0));
        }
        hand.futex(time, core, waits, Operation::Wait, word, 0);
        hand.switch(time + 100, core, waits, Left::Sleeping, 0);
    }
    let mut trace = hand.trace();
    let wait = |kind| matches!(kind, Kind::FutexEnter(call) if call.operation.waits());
    let at = trace.events.iter().position(|event| wait(event.kind));
    let at = at.expect("it waits");
    let mut place = trace.events[at];
    place.kind = Kind::Stack(0);
    trace.events.insert(at + 1, place);
    trace.trailer.stacks = vec![vec!["pthread_cond_timedwait".into(), "take_gil".into()]];
    let analysis = Analysis::new(&trace);
    let found = verdict(&trace, &analysis);
    let sentences = found.sentences.join(" ");
    assert!(
        sentences.contains("Two threads took turns: 1.0 of 2"),
        "{sentences}"
    );
    assert!(sentences.contains("the place is `take_gil`"), "{sentences}");
    assert!(!sentences.contains("No lock stands"), "{sentences}");
    assert_eq!(found.serial_fraction, None);
}

#[test]
fn joining_and_waiting_for_work_are_not_contention() {
    let mut hand = Hand::new(2, 1_000_000);
    hand.thread(1001, MAIN, "worker");
    hand.thread(1002, MAIN, "idler");
    hand.switch(1, 0, 0, Left::Runnable, MAIN);
    hand.switch(1, 1, 0, Left::Runnable, 1002);
    // main joins the worker: a shared wait on the word with the worker's number.
    let join = tracer::event::FutexCall {
        address: 0x7f00_0910,
        value: 1001,
        operation: Operation::Wait,
        private: false,
        timeout: false,
    };
    hand.at(100, 0, MAIN, Kind::FutexEnter(join));
    hand.switch(200, 0, MAIN, Left::Sleeping, 1001);
    // the idler waits for a condition variable and gets one signal, which it does not use.
    for round in 0..10_u64 {
        let time = 1_000 + round * 80_000;
        hand.futex(
            time,
            1,
            1002,
            Operation::WaitBitset,
            0x7f00_2000,
            round as u32 * 2,
        );
        hand.switch(time + 100, 1, 1002, Left::Sleeping, 0);
        hand.futex(time + 70_000, 0, 1001, Operation::Wake, 0x7f00_2000, 1);
        hand.wake(time + 70_010, 0, 1001, 1002);
        hand.at(time + 70_100, 0, 1001, Kind::FutexExit(1));
        hand.switch(time + 70_200, 1, 0, Left::Runnable, 1002);
        hand.at(time + 70_300, 1, 1002, Kind::FutexExit(0));
    }
    hand.wake(999_000, 0, 1001, MAIN);
    hand.switch(999_100, 0, 1001, Left::Dead, MAIN);
    hand.at(999_200, 0, MAIN, Kind::FutexExit(0));
    let analysis = Analysis::new(&hand.trace());
    assert!(analysis.locks.is_empty(), "{:?}", analysis.locks);
    assert!(analysis.classes.contains(&Class::Join) && analysis.classes.contains(&Class::Signal));
    assert_eq!(analysis.budget.idle_locks, 0);
}

#[test]
fn waiting_with_a_timeout_is_not_contention() {
    let mut hand = Hand::new(1, 10_000_000);
    hand.switch(1, 0, 0, Left::Runnable, MAIN);
    let poll = tracer::event::FutexCall {
        address: 0x7f00_3000,
        value: 2,
        operation: Operation::WaitBitset,
        private: true,
        timeout: true,
    };
    for round in 0..50_u64 {
        let time = 1_000 + round * 190_000;
        hand.at(time, 0, MAIN, Kind::FutexEnter(poll));
        hand.switch(time + 100, 0, MAIN, Left::Sleeping, 0);
        hand.at(
            time + 150_000,
            0,
            0,
            Kind::Waking {
                woken: MAIN,
                target: 0,
                by: Context::Hardirq,
                new: false,
            },
        );
        hand.switch(time + 150_100, 0, 0, Left::Runnable, MAIN);
        hand.at(time + 150_200, 0, MAIN, Kind::FutexExit(-libc::ETIMEDOUT));
    }
    let trace = hand.trace();
    let analysis = Analysis::new(&trace);
    assert_eq!(analysis.classes, [Class::TimedWait]);
    assert!(verdict(&trace, &analysis).blamed.is_empty());
    assert_eq!(analysis.budget.idle_locks, 0);
}

#[test]
fn rust_rwlocks_parkers_and_musl_mutexes_are_told_apart() {
    let classify = |values: &[u32], wakes: &[u32], waiters: u32| {
        let mut hand = Hand::new(2, 10_000_000);
        for waiter in 0..waiters {
            hand.thread(1001 + waiter, MAIN, "worker");
        }
        hand.switch(1, 0, 0, Left::Runnable, MAIN);
        for (round, value) in values.iter().enumerate() {
            let (time, waiter) = (1_000 + round as u64 * 10_000, 1001 + round as u32 % waiters);
            hand.switch(time, 1, 0, Left::Runnable, waiter);
            hand.futex(time + 10, 1, waiter, Operation::WaitBitset, LOCK, *value);
            hand.switch(time + 100, 1, waiter, Left::Sleeping, 0);
            hand.futex(
                time + 5_000,
                0,
                MAIN,
                Operation::Wake,
                LOCK,
                wakes[round % wakes.len()],
            );
            hand.wake(time + 5_010, 0, MAIN, waiter);
            hand.at(time + 5_020, 0, MAIN, Kind::FutexExit(1));
            hand.switch(time + 6_000, 1, 0, Left::Runnable, waiter);
            hand.at(time + 6_010, 1, waiter, Kind::FutexExit(0));
            hand.switch(time + 6_100, 1, waiter, Left::Sleeping, 0);
        }
        Analysis::new(&hand.trace()).classes[0]
    };
    assert_eq!(classify(&[2; 20], &[1], 3), Class::Mutex);
    assert_eq!(classify(&[0x8000_03e9; 20], &[1], 3), Class::Mutex);
    assert_eq!(
        classify(&[0x7fff_ffff; 20], &[u32::MAX >> 1], 3),
        Class::RwLock
    );
    assert_eq!(classify(&[0x4000_0002; 20], &[1], 3), Class::RwLock);
    assert_eq!(classify(&[3, 2, 3, 3], &[u32::MAX >> 1], 2), Class::RwLock);
    assert_eq!(classify(&[1; 20], &[1], 1), Class::Parking);
    assert_eq!(classify(&[u32::MAX; 20], &[1], 1), Class::Parking);
    assert_eq!(classify(&[0, 2, 4, 6, 8, 10], &[1], 2), Class::Signal);
    assert_eq!(classify(&[2; 20], &[u32::MAX >> 1], 3), Class::RwLock);
}
