//! The analyses on streams whose truth is known exactly.

use tracer::analyse::Analysis;
use tracer::analyse::budget::WaitFor;
use tracer::analyse::classify::Class;
use tracer::analyse::critical_path::Link;
use tracer::event::{Context, Interrupt, Kind, Left, Operation};
use tracer::trace::{HoldCount, Scope};
use tracer::verdict::verdict;

use crate::synthetic::{Hand, LOCK, MAIN, Workload};

fn near(found: f64, truth: f64, share: f64, what: &str) {
    assert!(
        (found - truth).abs() <= truth.abs() * share,
        "{what}: found {found}, truth {truth}"
    );
}

#[test]
fn a_saturated_lock_has_the_serial_fraction_that_was_put_in() {
    for (threads, hold, think) in [(4, 10_000, 10_000), (2, 20_000, 5_000), (8, 5_000, 20_000)] {
        let (trace, _) = Workload {
            threads,
            hold,
            think,
            until: 200_000_000,
            spread: 0.3,
        }
        .run();
        let analysis = Analysis::new(&trace);
        let lock = &analysis.locks[0];
        assert_eq!((lock.address, lock.class), (LOCK, Class::Mutex));
        let demand = lock.demand.expect("thousands of holds");
        let truth = hold as f64 / (hold + think) as f64;
        near(
            demand.serial,
            truth,
            0.05,
            &format!("serial fraction of {threads} threads"),
        );
        near(demand.hold, hold as f64, 0.05, "hold");
        near(
            demand.operation,
            (hold + think) as f64,
            0.05,
            "demand of an operation",
        );
        assert!(demand.serial_range.contains(demand.serial));
        assert_eq!(demand.threads, threads as usize);
    }
}

#[test]
fn looks_at_a_lock_tell_of_holds_that_nobody_waited_behind() {
    for (threads, hold, think) in [(2, 10_000, 10_000), (2, 2_000, 18_000), (3, 5_000, 20_000)] {
        let until = 100_000_000;
        let (mut trace, truth) = Workload {
            threads,
            hold,
            think,
            until,
            spread: 0.9,
        }
        .run();
        trace.trailer.looks.push(truth.looks(until));
        let analysis = Analysis::new(&trace);
        let share = truth.held as f64 / (truth.held + truth.worked) as f64;
        let demand = analysis.locks[0].demand.expect("a thousand looks");
        assert!(demand.serial_range.contains(share), "{share}: {demand:?}");
        let width = demand.serial_range.high - demand.serial_range.low;
        assert!(width < 0.3, "{share}: {demand:?}");
        let (_, range) = verdict(&trace, &analysis)
            .serial_fraction
            .expect("a share is told");
        assert!(range.contains(share), "{share}: {range:?}");
    }
}

#[test]
fn no_more_than_is_said_of_the_low_end_and_a_sleeper_hides_nothing() {
    let mut hand = Hand::new(2, 100_000_000);
    hand.thread(1001, MAIN, "logger");
    hand.thread(1002, MAIN, "worker");
    hand.switch(1, 0, 0, Left::Runnable, MAIN);
    // The logger sleeps for all but a moment of every ten milliseconds; for six of the ten the
    // worker runs beside the main thread.
    for round in 0..10_u64 {
        let time = 1_000 + round * 10_000_000;
        hand.switch(time, 1, 0, Left::Runnable, 1001);
        hand.switch(time + 1_000, 1, 1001, Left::Sleeping, 1002);
        hand.switch(time + 6_000_000, 1, 1002, Left::Dead, 0);
        hand.at(
            time + 9_900_000,
            1,
            0,
            Kind::InterruptBegin(Interrupt::Timer),
        );
        let wakes = Kind::Waking {
            woken: 1001,
            target: 1,
            by: Context::Hardirq,
            new: false,
        };
        hand.at(time + 9_999_000, 1, 0, wakes);
        hand.at(time + 9_999_500, 1, 0, Kind::InterruptEnd(Interrupt::Timer));
    }
    let trace = hand.trace();
    let analysis = Analysis::new(&trace);
    let found = verdict(&trace, &analysis);
    let (_, range) = found.serial_fraction.expect("two fifths of the time");
    near(range.low, 0.25, 0.02, "serial share");
    let ceiling = found.ceiling.expect("a share is told");
    near(ceiling, 1.0 / range.low, 1e-9, "the most that cores give");
}

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
fn polling_is_the_locks_that_its_caller_sleeps_at_or_no_ones() {
    let frames = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let judged = |sampled: &[&str]| {
        let (mut trace, _) = Workload {
            threads: 2,
            hold: 2_000,
            think: 38_000,
            until: 100_000_000,
            spread: 0.5,
        }
        .run();
        trace.trailer.stacks = vec![frames(&["futex_wait", "insert_route"]), frames(sampled)];
        // One wait has a place; every fifth sample polls.
        let waits = |kind| matches!(kind, Kind::FutexEnter(call) if call.operation.waits());
        let mut wait = *trace
            .events
            .iter()
            .find(|e| waits(e.kind))
            .expect("it waits");
        wait.kind = Kind::Stack(0);
        let at = trace
            .events
            .partition_point(|event| event.time <= wait.time);
        trace.events.insert(at, wait);
        for number in 0..100 {
            let sample = Kind::Sample(if number % 5 == 0 { 1 } else { 2 });
            trace.events.push(tracer::event::Event {
                time: 99_999_999,
                kind: sample,
                ..wait
            });
        }
        trace.trailer.stacks.push(frames(&["work"]));
        let analysis = Analysis::new(&trace);
        let sentences = verdict(&trace, &analysis).sentences.join(" ");
        (analysis.locks[0].cost.spinning, sentences)
    };
    let contended = "std::sys::sync::mutex::futex::Mutex::lock_contended";
    let (spun, _) = judged(&[contended, "insert_route"]);
    // A fifth of what one of the two threads ran.
    assert!((0.15..0.21).contains(&spun), "{spun}");
    let (spun, sentences) = judged(&[contended, "log_line"]);
    assert!(spun == 0.0, "{spun}");
    assert!(sentences.contains("most in `log_line`"), "{sentences}");
    assert!(!sentences.contains("No lock stands"), "{sentences}");
    let (spun, sentences) = judged(&["parking_lot::RawMutex::unlock_slow", "insert_route"]);
    assert!(
        spun == 0.0 && !sentences.contains("polled"),
        "{spun} {sentences}"
    );
}

#[test]
fn a_thread_in_step_with_the_ticks_counts_by_the_time_it_ran() {
    let mut hand = Hand::new(2, 400_000_000);
    hand.thread(1001, MAIN, "timed");
    hand.switch(1_000, 0, 0, Left::Runnable, MAIN);
    // One works all the time; the other is woken by each tick, polls for 50 us, and sleeps.
    for tick in 1..100_u64 {
        let time = tick * 4_000_000;
        hand.at(time, 0, MAIN, Kind::Sample(1));
        hand.switch(time, 1, 0, Left::Runnable, 1001);
        hand.at(time + 1_000, 1, 1001, Kind::Sample(0));
        hand.switch(time + 50_000, 1, 1001, Left::Sleeping, 0);
    }
    let mut trace = hand.trace();
    let stacks = [["pthread_spin_lock", "poll"], ["work", "main"]];
    trace.trailer.stacks = stacks.map(|s| s.map(str::to_owned).into()).into();
    let share = Analysis::new(&trace).spinning.user_share();
    assert!((0.01..0.02).contains(&share), "{share}");
}

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
fn a_reader_that_waited_and_later_writes_shows_no_hold() {
    // Rust's: a writer has it, readers wait.
    const WRITTEN_READERS_WAIT: u32 = 0x7fff_ffff;
    let mut hand = Hand::new(2, 100_000_000);
    hand.thread(1001, MAIN, "reader");
    hand.switch(1_000, 0, 0, Left::Runnable, MAIN);
    hand.switch(1_000, 1, 0, Left::Runnable, 1001);
    for round in 0..99_u64 {
        let time = 10_000 + round * 1_000_000;
        hand.futex(
            time,
            1,
            1001,
            Operation::WaitBitset,
            LOCK,
            WRITTEN_READERS_WAIT,
        );
        hand.switch(time + 100, 1, 1001, Left::Sleeping, 0);
        hand.futex(
            time + 100_000,
            0,
            MAIN,
            Operation::Wake,
            LOCK,
            i32::MAX as u32,
        );
        hand.wake(time + 100_100, 0, MAIN, 1001);
        hand.at(time + 100_200, 0, MAIN, Kind::FutexExit(1));
        hand.switch(time + 100_500, 1, 0, Left::Runnable, 1001);
        hand.at(time + 100_600, 1, 1001, Kind::FutexExit(0));
        // Long after it has read, it writes, and wakes a reader.
        hand.futex(
            time + 900_000,
            1,
            1001,
            Operation::Wake,
            LOCK,
            i32::MAX as u32,
        );
        hand.at(time + 900_200, 1, 1001, Kind::FutexExit(0));
    }
    let trace = hand.trace();
    let analysis = Analysis::new(&trace);
    let lock = &analysis.locks[0];
    assert_eq!((lock.class, lock.demand), (Class::RwLock, None));
    let found = verdict(&trace, &analysis);
    assert_eq!(found.blamed, [0], "{:?}", found.sentences);
    assert_eq!(found.serial_fraction, None);
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

#[test]
fn counted_holds_make_a_rarely_contended_lock_exact() {
    let (mut trace, truth) = Workload {
        threads: 2,
        hold: 2_000,
        think: 38_000,
        until: 100_000_000,
        spread: 0.9,
    }
    .run();
    trace.trailer.holds.push(HoldCount {
        process: MAIN,
        address: LOCK,
        name: "table".into(),
        holds: truth.operations,
        held: truth.held,
    });
    let analysis = Analysis::new(&trace);
    let demand = analysis.locks[0].demand.expect("the program counted");
    assert!(demand.exact);
    near(
        demand.serial,
        truth.held as f64 / (truth.held + truth.worked) as f64,
        0.05,
        "serial fraction",
    );
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

#[test]
fn the_budget_accounts_for_every_nanosecond() {
    let (trace, _) = Workload {
        threads: 4,
        hold: 10_000,
        think: 10_000,
        until: 50_000_000,
        spread: 0.5,
    }
    .run();
    let analysis = Analysis::new(&trace);
    let budget = &analysis.budget;
    assert_eq!(budget.total(), budget.wall * budget.cores);
    let lost: u64 = budget.waits.iter().map(|(_, time)| time).sum();
    near(
        lost as f64,
        (budget.idle_locks + budget.idle_waits) as f64,
        0.001,
        "the waits' shares",
    );
    assert!(matches!(budget.waits[0].0, WaitFor::Lock(_)));
    near(
        budget.cores_used(),
        2.0,
        0.06,
        "cores used at a serial fraction of one half",
    );
    for (_, states) in &budget.by_core {
        assert_eq!(states.iter().sum::<u64>(), budget.wall);
    }
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
fn a_stolen_core_is_starvation_and_the_thief_has_a_name() {
    let mut hand = Hand::new(2, 10_000_000);
    hand.thread(1001, MAIN, "worker");
    hand.thread(500, 500, "miner");
    hand.switch(1, 0, 0, Left::Runnable, MAIN);
    hand.switch(1, 1, 0, Left::Runnable, 1001);
    // The thief takes core 1 for seven tenths of each millisecond; the worker stays runnable.
    for round in 0..10_u64 {
        let time = 100_000 + round * 1_000_000;
        hand.switch(time, 1, 1001, Left::Preempted, 500);
        hand.switch(time + 700_000, 1, 500, Left::Runnable, 1001);
    }
    let budget = Analysis::new(&hand.trace()).budget;
    assert_eq!(budget.total(), budget.wall * budget.cores);
    assert_eq!(budget.starved, 7_000_000);
    assert_eq!(
        budget.thieves[0],
        ("miner".to_owned(), 7_000_000, 7_000_000)
    );
    assert_eq!(budget.idle_locks, 0);
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

#[test]
fn the_critical_path_goes_through_the_wakers_and_fills_the_window() {
    let mut hand = Hand::new(2, 1_000_000);
    hand.thread(1001, MAIN, "worker");
    hand.switch(1, 0, 0, Left::Runnable, MAIN);
    hand.wake(100_000, 0, MAIN, 1001);
    hand.switch(100_000, 1, 0, Left::Runnable, 1001);
    hand.switch(200_000, 0, MAIN, Left::Sleeping, 0);
    // The worker sleeps on a timer in the middle of what main waits for.
    hand.switch(400_000, 1, 1001, Left::Sleeping, 0);
    hand.at(500_000, 1, 0, Kind::InterruptBegin(Interrupt::Timer));
    hand.at(
        500_100,
        1,
        0,
        Kind::Waking {
            woken: 1001,
            target: 1,
            by: Context::Hardirq,
            new: false,
        },
    );
    hand.at(500_200, 1, 0, Kind::InterruptEnd(Interrupt::Timer));
    hand.switch(500_300, 1, 0, Left::Runnable, 1001);
    hand.wake(800_000, 1, 1001, MAIN);
    hand.switch(800_500, 0, 0, Left::Runnable, MAIN);
    hand.switch(810_000, 1, 1001, Left::Sleeping, 0);
    hand.switch(950_000, 0, MAIN, Left::Sleeping, 0);
    let path = Analysis::new(&hand.trace()).path;
    let time = |link: Link| {
        path.iter()
            .find(|(found, _)| *found == link)
            .map_or(0, |(_, time)| *time)
    };
    assert_eq!(path.iter().map(|(_, time)| time).sum::<u64>(), 949_999);
    assert_eq!(time(Link::Ran(MAIN)), 199_999 + 149_500);
    assert_eq!(time(Link::Ran(1001)), 200_000 + 299_700);
    assert_eq!(time(Link::Waited(WaitFor::Time)), 100_100);
    assert_eq!(time(Link::NoCore(MAIN)), 500);
}

#[test]
fn lost_events_make_time_unknown_and_never_blocked() {
    let mut hand = Hand::new(1, 1_000_000);
    hand.switch(1, 0, 0, Left::Runnable, MAIN);
    hand.at(300_000, 0, MAIN, Kind::Lost(50));
    hand.switch(700_000, 0, 500, Left::Sleeping, MAIN);
    let budget = Analysis::new(&hand.trace()).budget;
    assert_eq!(budget.unknown, 400_000);
    assert_eq!(budget.total(), budget.wall);
}

#[test]
fn a_silent_idle_thread_does_not_make_time_unknown() {
    let mut hand = Hand::new(2, 1_000_000);
    hand.thread(1001, MAIN, "worker");
    hand.switch(1, 0, 0, Left::Runnable, MAIN);
    hand.switch(1, 1, 0, Left::Runnable, 1001);
    hand.switch(100_000, 1, 1001, Left::Sleeping, 0);
    hand.wake(300_000, 0, MAIN, 1001);
    // No switch from idle to the worker: the next that is heard of core 1 is the worker leaving it.
    hand.switch(500_000, 1, 1001, Left::Sleeping, 0);
    let analysis = Analysis::new(&hand.trace());
    assert_eq!(
        (analysis.timeline.inferred, analysis.budget.unknown),
        (1, 0)
    );
    assert_eq!(analysis.budget.program, 999_999 + 99_999 + 200_000);
}

#[test]
fn moves_interrupts_and_noise_are_counted() {
    let mut hand = Hand::new(2, 10_000_000);
    hand.thread(33, 2, "kworker/0");
    hand.switch(1, 0, 0, Left::Runnable, MAIN);
    for round in 0..5_u64 {
        let time = 1_000_000 + round * 1_000_000;
        hand.at(time, 0, MAIN, Kind::InterruptBegin(Interrupt::Timer));
        hand.at(
            time + 1_000,
            0,
            MAIN,
            Kind::InterruptBegin(Interrupt::Soft(3)),
        );
        hand.at(
            time + 3_000,
            0,
            MAIN,
            Kind::InterruptEnd(Interrupt::Soft(3)),
        );
        hand.at(time + 3_500, 0, MAIN, Kind::InterruptEnd(Interrupt::Timer));
    }
    hand.switch(7_000_000, 0, MAIN, Left::Preempted, 33);
    hand.switch(7_100_000, 0, 33, Left::Sleeping, MAIN);
    let analysis = Analysis::new(&hand.trace());
    assert_eq!(
        (analysis.budget.interrupts, analysis.budget.softirqs),
        (5 * 1_500, 5 * 2_000)
    );
    let timer = analysis
        .interrupts
        .iter()
        .find(|p| p.what == Interrupt::Timer)
        .expect("timers");
    assert_eq!((timer.times.count, timer.times.sum), (5, 7_500));
    let noise = &analysis.noise[0];
    assert_eq!(
        (noise.cpu, noise.owner, noise.times.longest),
        (0, MAIN, 100_000)
    );
    assert_eq!(noise.by[0].0, "kworker/0");
    assert!(analysis.migrations.is_empty());

    let mut hand = Hand::new(2, 10_000_000);
    for round in 0..6_u64 {
        let (time, cpu) = (1_000 + round * 1_000_000, (round % 2) as u16);
        hand.switch(time, cpu, 0, Left::Runnable, MAIN);
        hand.switch(time + 500_000, cpu, MAIN, Left::Runnable, 0);
    }
    let moves = Analysis::new(&hand.trace()).migrations;
    assert_eq!((moves[0].tid, moves[0].moves, moves[0].cores), (MAIN, 5, 2));
}

#[test]
fn the_scope_everything_counts_all_programs() {
    let mut hand = Hand::new(1, 1_000_000);
    hand.thread(500, 500, "other");
    hand.switch(1, 0, 0, Left::Runnable, 500);
    let mut trace = hand.trace();
    trace.trailer.scope = Scope::Everything;
    assert_eq!(Analysis::new(&trace).budget.program, 999_999);
}
