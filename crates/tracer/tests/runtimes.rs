//! Programs of other runtimes whose threads take turns at a lock that no futex word tells: of none
//! is said that no lock stands in the way, nor a serial share. Root, and each runtime; what is missing
//! is said.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use tracer::analyse::Analysis;
use tracer::record::{Options, Unwinding};
use tracer::verdict::{Verdict, verdict};

use crate::live_help::{BUSY, command, root, run};

fn source(name: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.join("tests/programs").join(name)
}

/// Whether this compiles; where the compiler is missing, the test says so.
fn compiles(words: &[&str], source: &Path) -> bool {
    let output = Command::new(words[0])
        .args(&words[1..])
        .arg(source)
        .output();
    match output {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{words:?}: {said}");
            true
        }
        Err(error) => {
            needs::skipped!("{} is not installed ({error})", words[0]);
            false
        }
    }
}

/// What is said of a program.
fn said_of(words: &[&str]) -> Verdict {
    let options = Options {
        stacks: Some(Unwinding::FramePointers),
        ..command(words)
    };
    let trace = run(&options);
    verdict(&trace, &Analysis::new(&trace))
}

/// Nothing is claimed that is not known.
fn claims_nothing(found: &Verdict) {
    let said = found.sentences.join("\n");
    assert!(found.enough, "{said}");
    assert!(!said.contains("No lock stands in the way"), "{said}");
    assert_eq!(found.serial_fraction, None, "{said}");
    let known = ["took turns", "is not known", "is not told"];
    assert!(known.iter().any(|words| said.contains(words)), "{said}");
}

#[test]
fn threads_of_python_take_turns_at_the_interpreters_lock() {
    if !root() {
        return;
    }
    let _one = BUSY.lock();
    let source = source("turns.py").display().to_string();
    if Command::new("python3").arg("--version").output().is_err() {
        needs::skipped!("python3 is not installed");
        return;
    }
    let found = said_of(&["python3", &source]);
    claims_nothing(&found);
    let said = found.sentences.join("\n");
    assert!(said.contains("Two threads took turns"), "{said}");
}

#[test]
fn goroutines_at_a_mutex_are_not_called_free() {
    if !root() {
        return;
    }
    let _one = BUSY.lock();
    let place = TempDir::new().expect("a temporary directory");
    let program = place.path().join("turns").display().to_string();
    if compiles(&["go", "build", "-o", &program], &source("turns.go")) {
        claims_nothing(&said_of(&[&program]));
    }
}

#[test]
fn threads_of_java_at_a_monitor_are_not_called_free() {
    if !root() {
        return;
    }
    let _one = BUSY.lock();
    let place = TempDir::new().expect("a temporary directory");
    let classes = place.path().display().to_string();
    if compiles(&["javac", "-d", &classes], &source("Turns.java")) {
        claims_nothing(&said_of(&["java", "-cp", &classes, "Turns"]));
    }
}
