//! Threads that poll for a lock, by samples.

use tracer::analyse::Analysis;
use tracer::event::{Kind, Left};
use tracer::verdict::verdict;

use crate::synthetic::{Hand, MAIN, Workload};

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
