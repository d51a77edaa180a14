//! How much of an operation only one thread can do at a time.

use tracer::analyse::Analysis;
use tracer::analyse::classify::Class;
use tracer::event::{Context, Interrupt, Kind, Left, Operation, Tid};
use tracer::timeline::Doing;
use tracer::trace::{HoldCount, Look, Looks};
use tracer::verdict::verdict;

use super::near;
use crate::synthetic::{Hand, LOCK, MAIN, Workload};

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
fn a_look_that_comes_late_to_a_lock_that_a_thread_sleeps_at_finds_it_taken() {
    let (threads, hold, think, until) = (2, 10_000, 15_000, 400_000_000);
    let (mut trace, truth) = Workload {
        threads,
        hold,
        think,
        until,
        spread: 0.5,
    }
    .run();
    // Where a thread sleeps, the look comes 20 µs late, as on a core that must wake; else 2 µs late.
    let slept = Analysis::new(&trace);
    let sleeps = |time: u64| {
        let lives = slept.timeline.targets();
        let mut now = lives.flat_map(|life| &life.segments);
        now.any(|at| at.start <= time && time < at.end && matches!(at.doing, Doing::Blocked(_)))
    };
    let mut looks = truth.looks(until);
    for look in &mut looks.looks {
        let late = if sleeps(look.time) { 20_000 } else { 2_000 };
        *look = Look {
            late,
            ..truth.look(look.time + u64::from(late))
        };
    }
    trace.trailer.looks.push(looks);
    let analysis = Analysis::new(&trace);
    let share = truth.held as f64 / (truth.held + truth.worked) as f64;
    let demand = analysis.locks[0].demand.expect("thousands of looks");
    assert!(demand.serial_range.contains(share), "{share}: {demand:?}");
    near(demand.serial, share, 0.05, "serial share");
}

#[test]
fn a_lock_that_was_let_go_is_free_until_the_woken_thread_goes_on() {
    for threads in [2, 3] {
        let (trace, truth) = Workload {
            threads,
            hold: 8_000,
            think: 12_000,
            until: 400_000_000,
            spread: 0.5,
        }
        .arriving_after(6_000);
        for late in [1_000, 15_000] {
            let mut looks = truth.looks(400_000_000);
            for look in &mut looks.looks {
                *look = Look {
                    late,
                    ..truth.look(look.time + u64::from(late))
                };
            }
            let mut trace = trace.clone();
            trace.trailer.looks.push(looks);
            let analysis = Analysis::new(&trace);
            let share = truth.held as f64 / (truth.held + truth.worked) as f64;
            let demand = analysis.locks[0].demand.expect("thousands of looks");
            assert!(
                demand.serial_range.contains(share),
                "{threads} threads, {late} ns late, {share}: {demand:?}"
            );
        }
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

/// Rust's read-write lock: a writer has it, readers wait.
const WRITTEN_READERS_WAIT: u32 = 0x7fff_ffff;
/// A writer has let it go and has not yet woken the readers.
const FREE_READERS_WAIT: u32 = 0x4000_0000;

#[test]
fn a_reader_that_waited_and_later_writes_shows_no_hold() {
    assert_no_hold(|_| WRITTEN_READERS_WAIT);
}

#[test]
fn a_reader_that_comes_while_the_writer_lets_go_shows_no_hold_either() {
    let state = |round| match round {
        50 => FREE_READERS_WAIT,
        _ => WRITTEN_READERS_WAIT,
    };
    assert_no_hold(state);
}

/// A reader waits in a hundred rounds, at these states of the lock, and later writes: no hold is
/// known, and no serial share.
fn assert_no_hold(state: impl Fn(u64) -> u32) {
    let mut hand = Hand::new(2, 100_000_000);
    hand.thread(1001, MAIN, "reader");
    hand.switch(1_000, 0, 0, Left::Runnable, MAIN);
    hand.switch(1_000, 1, 0, Left::Runnable, 1001);
    for round in 0..99_u64 {
        let time = 10_000 + round * 1_000_000;
        hand.futex(time, 1, 1001, Operation::WaitBitset, LOCK, state(round));
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
    let why = found.serial_untold.expect("a reason");
    assert!(why.ends_with("is held is not known"), "{why}");
    let said = |sentence: &String| sentence.contains(&why);
    assert!(found.sentences.iter().any(said), "{:?}", found.sentences);
}

/// Looks at the lock at these instants: the word and the one after it.
fn looks(all: impl Iterator<Item = (u64, u32, u32)>) -> Looks {
    let look = |(time, word, after)| Look {
        time,
        word,
        after,
        before: 0,
        late: 0,
    };
    Looks {
        process: MAIN,
        address: LOCK,
        looks: all.map(look).collect(),
    }
}

#[test]
fn a_thread_that_was_woken_at_the_lock_is_not_its_holder() {
    const OTHER: Tid = 77;
    const ROUNDS: u64 = 100;
    let mut hand = Hand::new(2, ROUNDS * 1_000_000);
    hand.thread(1001, MAIN, "waiter");
    hand.thread(OTHER, OTHER, "other");
    hand.switch(1, 0, 0, Left::Runnable, MAIN);
    hand.switch(1, 1, 0, Left::Runnable, 1001);
    // The main thread takes the lock again each time that it has let it go. The waiter is woken and
    // has no core for most of the time.
    for round in 0..ROUNDS {
        let time = round * 1_000_000 + 1_000;
        hand.futex(time, 1, 1001, Operation::WaitBitset, LOCK, 2);
        hand.switch(time + 100, 1, 1001, Left::Sleeping, OTHER);
        hand.futex(time + 100_000, 0, MAIN, Operation::Wake, LOCK, 1);
        hand.wake(time + 100_100, 0, MAIN, 1001);
        hand.at(time + 100_200, 0, MAIN, Kind::FutexExit(1));
        hand.switch(time + 900_000, 1, OTHER, Left::Runnable, 1001);
        hand.at(time + 900_100, 1, 1001, Kind::FutexExit(0));
        hand.futex(time + 910_000, 1, 1001, Operation::Wake, LOCK, 1);
        hand.at(time + 910_100, 1, 1001, Kind::FutexExit(0));
    }
    let mut trace = hand.trace();
    // They find the lock taken and are not told by whom.
    let taken = (0..ROUNDS * 7).map(|at| (50_000 + at * 141_000, 2, 0));
    trace.trailer.looks.push(looks(taken));
    let analysis = Analysis::new(&trace);
    let demand = analysis.locks[0].demand.expect("looks tell");
    let range = demand.serial_range;
    assert!(range.low > 0.75 && range.contains(1.0 / 1.1), "{demand:?}");
}

#[test]
fn holders_without_a_core_show_no_hold_to_those_who_wait() {
    const OTHER: Tid = 77;
    const ROUNDS: u64 = 100;
    let mut hand = Hand::new(2, ROUNDS * 1_000_000);
    hand.thread(1001, MAIN, "waiter");
    hand.thread(OTHER, OTHER, "other");
    hand.switch(1, 0, 0, Left::Runnable, MAIN);
    hand.switch(1, 1, 0, Left::Runnable, 1001);
    // The waiter waits for as long as another program has the core of the main thread, the holder.
    for round in 0..ROUNDS {
        let time = round * 1_000_000 + 1_000;
        hand.futex(time, 1, 1001, Operation::WaitBitset, LOCK, 2);
        hand.switch(time + 100, 1, 1001, Left::Sleeping, 0);
        hand.switch(time + 1_000, 0, MAIN, Left::Runnable, OTHER);
        hand.switch(time + 800_000, 0, OTHER, Left::Runnable, MAIN);
        hand.futex(time + 810_000, 0, MAIN, Operation::Wake, LOCK, 1);
        hand.wake(time + 810_100, 0, MAIN, 1001);
        hand.at(time + 810_200, 0, MAIN, Kind::FutexExit(1));
        hand.switch(time + 810_500, 1, 0, Left::Runnable, 1001);
        hand.at(time + 810_600, 1, 1001, Kind::FutexExit(0));
        hand.futex(time + 900_000, 1, 1001, Operation::Wake, LOCK, 1);
        hand.at(time + 900_100, 1, 1001, Kind::FutexExit(0));
    }
    let trace = hand.trace();
    let analysis = Analysis::new(&trace);
    let lock = &analysis.locks[0];
    assert!(lock.waited.holds_on_core.count >= 30, "{lock:?}");
    assert_eq!(lock.demand, None);
    let found = verdict(&trace, &analysis);
    assert_eq!(found.serial_fraction, None, "{:?}", found.sentences);
}

#[test]
fn a_lock_held_by_a_thread_that_runs_alone_counts_once() {
    const HALF: u64 = 50_000_000;
    let mut hand = Hand::new(2, 2 * HALF);
    hand.thread(1001, MAIN, "worker");
    hand.switch(1, 0, 0, Left::Runnable, MAIN);
    // The other sleeps until a timer wakes it.
    hand.switch(1, 1, 0, Left::Runnable, 1001);
    hand.switch(1_000, 1, 1001, Left::Sleeping, 0);
    hand.at(HALF - 3_000, 1, 0, Kind::InterruptBegin(Interrupt::Timer));
    let wakes = Kind::Waking {
        woken: 1001,
        target: 1,
        by: Context::Hardirq,
        new: false,
    };
    hand.at(HALF - 2_000, 1, 0, wakes);
    hand.at(HALF - 1_500, 1, 0, Kind::InterruptEnd(Interrupt::Timer));
    hand.switch(HALF, 1, 0, Left::Runnable, 1001);
    for round in 0..40 {
        let time = HALF + (round + 1) * 1_000_000;
        hand.futex(time, 1, 1001, Operation::WaitBitset, LOCK, 2);
        hand.switch(time + 100, 1, 1001, Left::Sleeping, 0);
        hand.futex(time + 1_000, 0, MAIN, Operation::Wake, LOCK, 1);
        hand.wake(time + 1_010, 0, MAIN, 1001);
        hand.at(time + 1_020, 0, MAIN, Kind::FutexExit(1));
        hand.switch(time + 1_300, 1, 0, Left::Runnable, 1001);
        hand.at(time + 1_310, 1, 1001, Kind::FutexExit(0));
        hand.futex(time + 2_000, 1, 1001, Operation::Wake, LOCK, 1);
        hand.at(time + 2_010, 1, 1001, Kind::FutexExit(0));
    }
    let mut trace = hand.trace();
    // While it is alone, the main thread has the lock all the time; later hardly anybody has.
    let held = (1..1_000).map(|at| match at * 100_000 {
        time if time < HALF => (time, 1, MAIN),
        time => (time, 0, 0),
    });
    trace.trailer.looks.push(looks(held));
    let analysis = Analysis::new(&trace);
    let found = verdict(&trace, &analysis);
    let (_, range) = found.serial_fraction.expect("a third of the work");
    assert!(range.low > 0.33 && range.high < 0.35, "{range:?}");
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
