//! Short live measurements: what is asserted holds on a busy machine too.

use std::time::Duration;

use host::environment::Environment;
use host::pressure::{Aggressor, Caches, Channel};
use host::topology::Topology;
use scaling::harness::interrupts::move_interrupts;
use scaling::harness::notes::Note;
use scaling::harness::order::order;
use scaling::harness::plan::{Job, Mode, Placement};
use scaling::harness::series::Run;
use scaling::harness::sweep::SweepError;
use scaling::measure::{Request, measure};
use scaling::result::ScaleResult;

fn request(command: &[&str]) -> Request {
    Request {
        command: command.iter().map(|s| (*s).to_owned()).collect(),
        mode: None,
        cores: None,
        placements: vec![Placement::Pinned],
        rounds: Some(3),
        quick: true,
        cause: false,
        forecast: false,
        beside: None,
        prepare: None,
        progress: None,
        unit: None,
        timeout: Duration::from_secs(20),
        seed: 1,
        interrupted: || false,
    }
}

fn run(request: &Request) -> Result<ScaleResult, SweepError> {
    measure(request, Environment::default())
}

#[test]
fn a_sleeping_command_is_told_that_it_ignores_its_cores_or_has_no_work() {
    let result = run(&request(&["sleep", "0.02"])).unwrap();
    let cores = host::cores::allowed_cores().unwrap().len();
    assert_eq!(
        result.points.len(),
        scaling::harness::allowance::counts(cores as u32, &[]).len()
    );
    let last = result.points.last().unwrap();
    assert!(last.speedup > 0.5 && last.speedup < 2.0);
    assert!(result.control.is_some());
    assert!(!result.not_measured.is_empty() && result.sentence.ends_with('.'));
}

#[test]
fn one_busy_process_is_told_that_it_ignores_its_cores() {
    if !needs::two_cores() {
        return;
    }
    let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    let result = run(&request(&["sh", "-c", script])).unwrap();
    // Where other programs have the core nobody can tell a busy command from one that waits, and
    // nothing is claimed.
    let mut runs = result.series.iter().flat_map(|s| s.rounds.iter().flatten());
    if result.points[0].busy <= 0.5 || runs.any(Run::crowded) {
        needs::skipped!("other programs have the cores");
        return;
    }
    assert!(
        result
            .notes
            .iter()
            .any(|n| matches!(n, Note::IgnoresCores { .. })),
        "{:?}",
        result.notes
    );
    assert!(result.next_experiment.contains("--mode copies"));
}

#[test]
fn more_cores_than_allowed_are_named() {
    let mut asks = request(&["true"]);
    asks.cores = Some(4096);
    let result = run(&asks).unwrap();
    assert!(
        result
            .notes
            .iter()
            .any(|n| matches!(n, Note::FewerCores { asked: 4096, .. }))
    );
}

#[test]
fn failing_hanging_and_absent_commands_are_named() {
    let error = run(&request(&["sh", "-c", "echo broken >&2; exit 3"]))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("returned 3") && error.contains("broken"),
        "{error}"
    );
    let mut hangs = request(&["sleep", "77"]);
    hangs.timeout = Duration::from_millis(200);
    let error = run(&hangs).unwrap_err().to_string();
    assert!(
        error.contains("did not end within") && error.contains("--timeout"),
        "{error}"
    );
    let error = run(&request(&["no-such-program-here"]))
        .unwrap_err()
        .to_string();
    assert!(error.contains("not installed"), "{error}");
    let error = run(&request(&["sh", "-c", "tty || exit 1"]))
        .unwrap_err()
        .to_string();
    assert!(error.contains("terminal"), "{error}");
}

#[test]
fn a_program_may_bring_its_own_rate() {
    let mut own = request(&["sh", "-c", "echo rate: {cores}00"]);
    own.progress = Some("rate:".to_owned());
    let result = run(&own).unwrap();
    for point in &result.points {
        assert!((point.speedup - f64::from(point.cores)).abs() < 1e-9);
    }
    own.progress = Some("no such words".to_owned());
    assert!(run(&own).unwrap_err().to_string().contains("no such words"));
}

#[test]
fn everything_at_once_and_nothing_pinned_afterwards() {
    let before = host::cores::allowed_cores().unwrap();
    let script = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done";
    let mut all = request(&["sh", "-c", script]);
    all.mode = Some(Mode::Copies);
    all.placements = vec![Placement::Pinned, Placement::Free];
    all.cause = true;
    all.forecast = true;
    all.beside = Some(vec!["true".to_owned()]);
    let result = run(&all).unwrap();
    assert!(result.beside.is_some());
    if before.len() > 1 {
        assert!(!result.pressure.is_empty());
        // So short a command may allow no forecast; then a note says why.
        let refused = |n: &Note| matches!(n, Note::NoForecast { .. });
        assert!(!result.one_core_forecast.is_empty() || result.notes.iter().any(refused));
    }
    let text = report::terminal::render(&scaling::result::show::document(&result));
    assert!(text.contains("What each core buys"), "{text}");
    assert_eq!(host::cores::allowed_cores().unwrap(), before);
}

#[test]
fn what_forks_away_is_ended_and_named() {
    let result = run(&request(&["sh", "-c", "setsid sleep 98766 & exit 0"])).unwrap();
    let named = |n: &Note| matches!(n, Note::ForksAway { processes } if *processes > 0);
    assert!(result.notes.iter().any(named), "{:?}", result.notes);
    let left = std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| line == b"sleep\098766\0")
    });
    assert!(!left, "something was left running");
}

#[test]
fn printing_without_end_is_named() {
    let mut prints = request(&["sh", "-c", "head -c 120000000 /dev/zero"]);
    prints.rounds = Some(1);
    prints.cores = Some(1);
    prints.timeout = Duration::from_mins(2);
    let result = run(&prints).unwrap();
    assert!(
        result
            .notes
            .iter()
            .any(|n| matches!(n, Note::PrintsMuch { bytes: 120_000_000 })),
        "{:?}",
        result.notes
    );
}

#[test]
fn device_interrupts_are_moved_and_put_back() {
    let cores = host::cores::allowed_cores().unwrap();
    if !needs::root("to move interrupts") || !needs::two_cores() {
        return;
    }
    let lines = || {
        let mut found: Vec<String> = std::fs::read_dir("/proc/irq")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                std::fs::read_to_string(entry.path().join("smp_affinity_list")).ok()
            })
            .collect();
        found.sort();
        found
    };
    let before = lines();
    let job = Job {
        command: vec!["true".to_owned()],
        mode: Mode::Threads,
        order: cores,
        timeout: Duration::from_secs(20),
        progress: None,
        prepare: None,
        seed: 1,
        interrupted: || false,
    };
    match move_interrupts(&job, 3).unwrap() {
        Ok(moved) => assert!(moved.what.contains("device interrupts"), "{moved:?}"),
        Err(refused) => needs::skipped!("{refused}"),
    }
    assert_eq!(lines(), before);
}

/// Prints the number of the core that it is confined to, plus one; 1000 for several.
const CORE: &str = "l=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status); \
                    case $l in *[-,]*) echo core: 1000;; *) echo core: $((l + 1));; esac";

#[test]
fn one_core_is_each_core_in_turn() {
    if !needs::two_cores() {
        return;
    }
    let cores = host::cores::allowed_cores().unwrap();
    let mut asks = request(&["sh", "-c", CORE]);
    asks.progress = Some("core:".to_owned());
    asks.cores = Some(2);
    asks.rounds = Some(4);
    let result = run(&asks).unwrap();
    let series = &result.series[0];
    // In every round one run on either of the two cores: the baseline is the mean of both.
    let first = order(&Topology::read(), &cores);
    let mean = f64::from(first[0].0 + first[1].0) / 2.0 + 1.0;
    for round in &series.rounds {
        assert!((round[0].rate - mean).abs() < 1e-9, "{series:?}");
        assert!((round[1].rate - 1000.0).abs() < 1e-9, "{series:?}");
    }
}

#[test]
fn a_neighbour_of_short_runs_is_seen() {
    let core = host::cores::allowed_cores().unwrap()[0];
    let caches = Caches {
        last: 1 << 20,
        second: 1 << 18,
    };
    let neighbour = Aggressor::start(Channel::SameCore, core, 1.0, caches);
    let mut asks = request(&[
        "sh",
        "-c",
        "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done",
    ]);
    asks.cores = Some(1);
    asks.rounds = Some(25);
    let result = run(&asks).unwrap();
    drop(neighbour);
    let disturbed = result.series[0].rounds.iter().flatten();
    let disturbed = disturbed.filter(|run| run.disturbed).count();
    assert!(disturbed > 12, "{disturbed} of 25: {:?}", result.series);
}
