//! The keeper against commands that behave badly. Every test looks at what is left running
//! afterwards.

use std::ffi::CString;
use std::fs;
use std::time::{Duration, Instant};

use scaling::harness::keeper::{Exit, Keeper, Outcome, Spec};

fn spec(script: &str) -> Spec {
    let argv = ["sh", "-c", script]
        .iter()
        .map(|s| CString::new(*s).unwrap())
        .collect();
    let env = std::env::vars()
        .map(|(n, v)| CString::new(format!("{n}={v}")).unwrap())
        .collect();
    Spec {
        argv,
        env,
        copies: vec![None],
        timeout: Duration::from_secs(20),
        capture: false,
        count_events: false,
        repeat: false,
        interrupted: || false,
    }
}

fn run(spec: &Spec) -> Outcome {
    Keeper::start(spec).unwrap().run().unwrap()
}

/// Whether a process with `mark` in its command line runs (this test has it only in its own
/// memory).
fn runs(mark: &str) -> bool {
    fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        fs::read(entry.path().join("cmdline"))
            .is_ok_and(|line| line.windows(mark.len()).any(|part| part == mark.as_bytes()))
    })
}

#[test]
fn times_and_cpu_times_of_the_whole_tree() {
    let outcome = run(&spec(
        "sleep 0.05; (i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done); true",
    ));
    assert_eq!(outcome.exit, Exit::Success);
    assert!(outcome.wall > Duration::from_millis(50));
    let cpu = outcome.user + outcome.system;
    assert!(
        cpu > Duration::from_millis(2) && cpu < outcome.wall,
        "{outcome:?}"
    );
    assert_eq!(outcome.outlived, 0);
}

#[test]
fn one_keeper_runs_many_times_and_does_not_mix_the_costs() {
    let mut keeper = Keeper::start(&spec("true")).unwrap();
    for _ in 0..20 {
        let outcome = keeper.run().unwrap();
        assert_eq!(outcome.exit, Exit::Success);
        assert!(outcome.user + outcome.system < Duration::from_millis(100));
    }
}

#[test]
fn failures_are_told_apart() {
    assert_eq!(run(&spec("exit 7")).exit, Exit::Code(7));
    assert_eq!(
        run(&spec("kill -SEGV $$")).exit,
        Exit::Signal(libc::SIGSEGV)
    );
    let mut absent = spec("");
    absent.argv = vec![CString::new("no-such-program-here").unwrap()];
    assert_eq!(run(&absent).exit, Exit::NotStarted(libc::ENOENT));
}

#[test]
fn a_command_that_hangs_is_ended_with_all_it_started() {
    let mut hangs = spec("sleep 98761 & sleep 98761 & trap '' TERM; sleep 98761; sleep 98761");
    hangs.timeout = Duration::from_millis(300);
    let outcome = run(&hangs);
    assert_eq!(outcome.exit, Exit::TimedOut);
    assert!(outcome.wall < Duration::from_mins(1));
    assert!(!runs("98761"));
}

#[test]
fn a_command_that_forks_away_leaves_nothing() {
    let outcome = run(&spec(
        "setsid sh -c 'setsid sleep 98762 & sleep 98762' & exit 0",
    ));
    assert_eq!(outcome.exit, Exit::Success);
    assert!(outcome.outlived >= 1, "{outcome:?}");
    assert!(!runs("98762"));
}

#[test]
fn dropping_the_keeper_ends_a_run_under_way() {
    let mut keeper = Keeper::start(&spec("sleep 98763")).unwrap();
    keeper.begin().unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    while !runs("98763") {
        assert!(Instant::now() < end, "it has not begun");
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(keeper);
    assert!(!runs("98763"));
}

#[test]
fn an_interrupt_ends_the_wait_and_the_run() {
    let mut asked = spec("sleep 98764");
    asked.interrupted = || true;
    let mut keeper = Keeper::start(&asked).unwrap();
    assert!(keeper.run().is_err());
    drop(keeper);
    assert!(!runs("98764"));
}

#[test]
fn gigabytes_of_output_are_counted_and_dropped() {
    let mut prints = spec("head -c 300000000 /dev/zero; echo; echo end");
    prints.capture = true;
    let outcome = run(&prints);
    assert_eq!(outcome.exit, Exit::Success);
    assert_eq!(outcome.printed, 300_000_005);
    assert!(outcome.tail.ends_with(b"\nend\n") && outcome.tail.len() <= 64 * 1024);
}

#[test]
fn there_is_no_terminal() {
    let mut asks = spec("read line || echo no input; : < /dev/tty");
    asks.capture = true;
    let outcome = run(&asks);
    assert!(matches!(outcome.exit, Exit::Code(_)), "{outcome:?}");
    assert!(outcome.tail.starts_with(b"no input"));
}

#[test]
fn copies_are_pinned_one_core_each_and_counted() {
    let core = host::cores::allowed_cores().unwrap()[0].0;
    let mut copies = spec("grep Cpus_allowed_list /proc/self/status");
    copies.copies = vec![Some(vec![core]), Some(vec![core]), None];
    copies.capture = true;
    let outcome = run(&copies);
    let text = String::from_utf8(outcome.tail).unwrap();
    assert!(
        text.lines()
            .filter(|line| line.ends_with(&format!("\t{core}")))
            .count()
            >= 2,
        "{text}"
    );
    assert_eq!(text.lines().count(), 3);
    assert!(outcome.copies_per_second > 3.0 / outcome.wall.as_secs_f64() * 0.99);
}

#[test]
fn migrations_are_counted_where_the_kernel_lets_us() {
    let mut counted = spec("true");
    counted.count_events = true;
    let outcome = run(&counted);
    if outcome.migrations.is_none() {
        needs::skipped!("the kernel does not let this user count events (perf_event_paranoid)");
    }
    assert!(outcome.migrations.is_none_or(|n| n < 100));
}

#[test]
fn a_repeated_command_runs_again_until_the_keeper_is_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("runs");
    let lines = || {
        fs::read_to_string(&file)
            .unwrap_or_default()
            .lines()
            .count()
    };
    let mut again = spec(&format!("echo >> {}; sleep 0.01", file.display()));
    again.repeat = true;
    let mut keeper = Keeper::start(&again).unwrap();
    keeper.begin().unwrap();
    let start = std::time::Instant::now();
    while lines() < 3 && start.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(lines() >= 3);
    drop(keeper);
    let then = lines();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(lines(), then);
    // A command that cannot be started does not keep its keeper from ending.
    again.argv = vec![CString::new("no-such-program-here").unwrap()];
    let mut keeper = Keeper::start(&again).unwrap();
    keeper.begin().unwrap();
    drop(keeper);
}

#[test]
fn a_keeper_that_is_dropped_at_once_is_gone() {
    for _ in 0..50 {
        let mut again = spec("exit 0");
        again.repeat = true;
        let mut keeper = Keeper::start(&again).unwrap();
        keeper.begin().unwrap();
        let place = format!("/proc/{}", keeper.pid());
        drop(keeper);
        assert!(fs::metadata(place).is_err());
    }
}
