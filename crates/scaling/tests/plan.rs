//! What a setting runs.

use std::time::Duration;

use host::cores::CoreId;
use scaling::harness::keeper::Spec;
use scaling::harness::plan::{Job, Mode, Placement, rate_printed};

fn job(command: &[&str], mode: Mode) -> Job {
    Job {
        command: command.iter().map(|s| (*s).to_owned()).collect(),
        mode,
        order: vec![CoreId(3), CoreId(5), CoreId(7)],
        timeout: Duration::from_secs(1),
        progress: None,
        prepare: None,
        seed: 1,
        interrupted: || false,
    }
}

fn words(spec: &Spec) -> Vec<&str> {
    spec.argv.iter().map(|a| a.to_str().unwrap()).collect()
}

#[test]
fn each_mode_is_told_its_cores_in_its_own_way() {
    let two = Placement::Pinned.on(2);
    let threads = job(&["x", "-t{cores}"], Mode::Threads).spec(two).unwrap();
    assert_eq!(words(&threads), ["x", "-t2"]);
    assert!(
        threads
            .env
            .iter()
            .any(|e| e.as_bytes() == b"OMP_NUM_THREADS=2")
    );
    assert_eq!(threads.copies, [Some(vec![3, 5])]);
    let copies = job(&["x"], Mode::Copies).spec(two).unwrap();
    assert_eq!(copies.copies, [Some(vec![3]), Some(vec![5])]);
    assert!(
        !copies
            .env
            .iter()
            .any(|e| e.as_bytes().starts_with(b"RAYON_NUM_THREADS="))
    );
    let make = job(&["make", "-s"], Mode::Make).spec(two).unwrap();
    assert_eq!(words(&make), ["make", "-s", "-j2"]);
    let free = job(&["x"], Mode::Copies).spec(Placement::Free.on(3));
    assert_eq!(free.unwrap().copies, [None, None, None]);
}

#[test]
fn the_mode_is_guessed_from_the_program() {
    assert_eq!(Mode::guess(&["/usr/bin/make".to_owned()]), Mode::Make);
    assert_eq!(Mode::guess(&["makefile-lint".to_owned()]), Mode::Threads);
}

#[test]
fn printed_rates_are_found_after_their_mark_and_summed_over_copies() {
    assert_eq!(
        rate_printed(b"a\nevents per second:   1234.50\n", "events per second"),
        Some(1234.5)
    );
    assert_eq!(rate_printed(b"rate=1 rate=2.5e3.\n", "rate"), Some(2501.0));
    assert_eq!(rate_printed(b"rate: none", "rate"), None);
    assert_eq!(rate_printed(b"", "rate"), None);
}

#[test]
fn a_zero_byte_is_refused_by_name() {
    let error = job(&["x", "a\0b"], Mode::Threads)
        .spec(Placement::Free.on(1))
        .unwrap_err();
    assert!(error.to_string().contains("a\\0b"));
}
