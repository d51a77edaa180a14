//! To whom a wait is charged.

use tracer::analyse::Analysis;
use tracer::event::{Kind, Left, Operation};
use tracer::verdict::verdict;

use super::near;
use crate::synthetic::{Hand, LOCK, MAIN};

#[test]
fn a_wait_is_shared_among_all_who_held_the_lock_meanwhile() {
    let mut hand = Hand::new(3, 1_000_000);
    for (core, tid) in [(0, 1001), (1, 1002), (2, 1003)] {
        hand.thread(tid, MAIN, "worker");
        hand.switch(1, core, 0, Left::Runnable, tid);
    }
    // 1001 holds; 1002 and then 1003 wait. 1001 lets go after 100 us, 1002 after 30 more.
    hand.futex(100_000, 1, 1002, Operation::WaitBitset, LOCK, 2);
    hand.switch(100_100, 1, 1002, Left::Sleeping, 0);
    hand.futex(100_000, 2, 1003, Operation::WaitBitset, LOCK, 2);
    hand.switch(100_100, 2, 1003, Left::Sleeping, 0);
    hand.futex(200_000, 0, 1001, Operation::Wake, LOCK, 1);
    hand.wake(200_000, 0, 1001, 1002);
    hand.at(200_010, 0, 1001, Kind::FutexExit(1));
    hand.switch(200_300, 1, 0, Left::Runnable, 1002);
    hand.at(200_310, 1, 1002, Kind::FutexExit(0));
    hand.futex(230_000, 1, 1002, Operation::Wake, LOCK, 1);
    hand.wake(230_000, 1, 1002, 1003);
    hand.at(230_010, 1, 1002, Kind::FutexExit(1));
    hand.switch(230_300, 2, 0, Left::Runnable, 1003);
    hand.at(230_310, 2, 1003, Kind::FutexExit(0));
    let analysis = Analysis::new(&hand.trace());
    let holders = analysis.locks[0].waited.holders();
    assert_eq!(holders, [(1001, 200_000), (1002, 30_000)]);
}

#[test]
fn a_lost_end_of_a_wait_leaves_no_waiter_behind() {
    let lost = |gap: Option<Kind>| {
        let mut hand = Hand::new(2, 10_000_000);
        hand.thread(1001, MAIN, "worker");
        hand.switch(1, 0, 0, Left::Runnable, MAIN);
        hand.switch(1, 1, 0, Left::Runnable, 1001);
        hand.futex(100_000, 1, 1001, Operation::WaitBitset, LOCK, 2);
        hand.switch(100_100, 1, 1001, Left::Sleeping, 0);
        if let Some(gap) = gap {
            hand.at(200_000, 1, 0, gap);
        }
        // The end of this wait is not told. The next wait is short.
        hand.futex(9_000_000, 1, 1001, Operation::WaitBitset, LOCK, 2);
        hand.switch(9_000_100, 1, 1001, Left::Sleeping, 0);
        hand.wake(9_050_000, 0, MAIN, 1001);
        hand.switch(9_050_100, 1, 0, Left::Runnable, 1001);
        hand.at(9_050_200, 1, 1001, Kind::FutexExit(0));
        Analysis::new(&hand.trace()).locks[0].waited.contended.sum
    };
    assert_eq!(lost(Some(Kind::Lost(5))), 100_000 + 50_200);
    assert_eq!(lost(None), 8_900_000 + 50_200);
}

#[test]
fn a_holder_that_has_no_core_makes_waits_that_are_not_the_locks() {
    // The holder runs for a part of every wait; for the rest another program has its core.
    let judged = |holds: u64| {
        let mut hand = Hand::new(2, 200_000_000);
        hand.thread(1001, MAIN, "worker");
        hand.thread(500, 500, "miner");
        hand.switch(1, 0, 0, Left::Runnable, MAIN);
        hand.switch(1, 1, 0, Left::Runnable, 1001);
        for round in 0..99_u64 {
            let time = 100_000 + round * 2_000_000;
            hand.futex(time, 1, 1001, Operation::WaitBitset, LOCK, 2);
            hand.switch(time + 100, 1, 1001, Left::Sleeping, 0);
            hand.switch(time + holds, 0, MAIN, Left::Preempted, 500);
            hand.switch(time + 990_000, 0, 500, Left::Runnable, MAIN);
            hand.futex(time + 1_000_000, 0, MAIN, Operation::Wake, LOCK, 1);
            hand.wake(time + 1_000_000, 0, MAIN, 1001);
            hand.at(time + 1_000_010, 0, MAIN, Kind::FutexExit(1));
            hand.switch(time + 1_000_300, 1, 0, Left::Runnable, 1001);
            hand.at(time + 1_000_310, 1, 1001, Kind::FutexExit(0));
            hand.futex(time + 1_010_000, 1, 1001, Operation::Wake, LOCK, 1);
            hand.at(time + 1_010_010, 1, 1001, Kind::FutexExit(0));
        }
        // A tenth of core 0 is stolen.
        let stolen = Kind::Stolen {
            time: 20_000_000,
            within: 200_000_000,
        };
        hand.at(200_000_000, 0, MAIN, stolen);
        let trace = hand.trace();
        let analysis = Analysis::new(&trace);
        let blamed = verdict(&trace, &analysis).blamed.len();
        (analysis.locks[0].waited.behind, blamed)
    };
    let (behind, blamed) = judged(20_000);
    near(behind.runnable as f64, 99.0 * 970_000.0, 0.01, "runnable");
    near(behind.running as f64, 99.0 * 27_000.0, 0.05, "running");
    near(behind.stolen as f64, 99.0 * 3_000.0, 0.05, "stolen");
    assert_eq!(blamed, 0);
    assert_eq!(judged(900_000).1, 1);
}
