//! Where the time of cores and threads went.

use tracer::analyse::Analysis;
use tracer::analyse::budget::WaitFor;
use tracer::analyse::critical_path::Link;
use tracer::event::{Context, Interrupt, Kind, Left};
use tracer::trace::{Scope, Trace};
use tracer::verdict::verdict;

use super::near;
use crate::synthetic::{Hand, MAIN, Workload};

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

/// Eleven milliseconds of two threads on two cores. Another program takes core 1 for so long of each
/// of the first ten; the thread that was there stays runnable.
fn stolen(taken: u64) -> Trace {
    let mut hand = Hand::new(2, 11_000_000);
    hand.thread(1001, MAIN, "worker");
    hand.thread(500, 500, "miner");
    hand.switch(1, 0, 0, Left::Runnable, MAIN);
    hand.switch(1, 1, 0, Left::Runnable, 1001);
    for round in 0..10_u64 {
        let time = 100_000 + round * 1_000_000;
        hand.switch(time, 1, 1001, Left::Preempted, 500);
        hand.switch(time + taken, 1, 500, Left::Runnable, 1001);
    }
    hand.trace()
}

#[test]
fn a_stolen_core_is_starvation_and_the_thief_has_a_name() {
    let budget = Analysis::new(&stolen(700_000)).budget;
    assert_eq!(budget.total(), budget.wall * budget.cores);
    assert_eq!(budget.starved, 7_000_000);
    assert_eq!(
        budget.thieves[0],
        ("miner".to_owned(), 7_000_000, 7_000_000)
    );
    assert_eq!(budget.idle_locks, 0);
}

#[test]
fn threads_that_seldom_run_together_are_not_called_free_of_locks() {
    for (taken, words) in [
        (700_000, "Whether a lock stands in the way is not known"),
        (200_000, "No lock stands in the way"),
    ] {
        let trace = stolen(taken);
        let sentences = verdict(&trace, &Analysis::new(&trace)).sentences;
        let said = |words: &str| sentences.iter().any(|one| one.starts_with(words));
        assert!(said(words), "{sentences:?}");
        assert!(
            !(said("No lock") && said("Whether")) && said("Starvation"),
            "{sentences:?}"
        );
    }
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
fn the_scope_everything_counts_all_programs() {
    let mut hand = Hand::new(1, 1_000_000);
    hand.thread(500, 500, "other");
    hand.switch(1, 0, 0, Left::Runnable, 500);
    let mut trace = hand.trace();
    trace.trailer.scope = Scope::Everything;
    assert_eq!(Analysis::new(&trace).budget.program, 999_999);
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
