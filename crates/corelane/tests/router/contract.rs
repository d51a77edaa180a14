//! What all verbs have in common, by those that ask a running router.

use std::fs;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use host::Namespace;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::health::get;
use super::lab::{Lab, is_root, text, wait_for};

/// A verb as typed: its words, and the configuration, the run directory behind them if it takes any.
struct Typed<'a> {
    place: &'a Namespace,
    words: Vec<String>,
}

impl Typed<'_> {
    fn command(&self, more: &[&str]) -> Command {
        let mut command = self.place.command(env!("CARGO_BIN_EXE_corelane"));
        command.args(&self.words).args(more).stdin(Stdio::null());
        command
    }

    fn run(&self, more: &[&str]) -> Output {
        self.command(more).output().unwrap()
    }
}

/// Each ends with 0: `run_directory` and `file` stand for theirs.
const VERBS: [&str; 10] = [
    "health run_directory",
    "fleet 127.0.0.1",
    "explain 10.1.0.2 run_directory",
    "record run_directory",
    "show ports run_directory",
    "top --once --interval 1 run_directory",
    "verify run_directory",
    "drain file run_directory",
    "undrain file run_directory",
    "announce --once file run_directory",
];

#[test]
fn every_verb_that_asks_a_router_keeps_the_contract() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let file = lab.path("router.toml");
    let keys = "ports = [\"r0\", \"r1\"]\ntable-words = 131072\nconsole = true\n";
    fs::write(&file, keys).unwrap();
    let router = lab.run_words(&["run".to_owned(), file.display().to_string()]);
    lab.wait_for_fast_path(&router, &["10.1.0.2"]);
    let is_ready = || wait_for("a ready router", 30, || get(&lab, "/readyz").0 == "200");
    let file = lab.path("contract.toml");
    let keys = "ports = [\"r0\", \"r1\"]\ndrain-quiet-seconds = 1\n\
                drain-withdraw = \"true\"\ndrain-restore = \"true\"\n";
    fs::write(&file, keys).unwrap();
    let directory = format!("--run-directory={}", lab.directory.path().display());
    let named = |word: &str| match word {
        "file" => file.display().to_string(),
        "run_directory" => directory.clone(),
        word => word.to_owned(),
    };
    for line in VERBS {
        let words = line.split(' ').map(named).collect();
        let verb = Typed {
            place: &lab.r,
            words,
        };
        if !line.starts_with("undrain") {
            is_ready();
        }
        let output = verb.run(&["-q"]);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", text(&output));
        assert!(output.stderr.is_empty(), "{line}: {}", text(&output));
        assert_eq!(verb.run(&["-q", "-v"]).status.code(), Some(2), "{line}");
        if !line.starts_with("announce") {
            let output = verb.run(&["--json"]);
            let told = text(&output);
            let value: Value = serde_json::from_slice(&output.stdout).expect(&told);
            let schema = value["schema"].as_str().unwrap_or_default();
            assert!(schema.starts_with("corelane-"), "{line}: {told}");
        }
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = verb.command(&[]).stdout(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}: {}", text(&output));
        let told = text(&output).to_lowercase();
        assert!(
            !told.contains("pipe") && !told.contains("panic"),
            "{line}: {told}"
        );
    }
}

#[test]
fn a_drain_that_is_interrupted_ends_with_130() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let _router = lab.run(&["r0", "r1"], &["--metrics", "127.0.0.1:9470"]);
    wait_for("a ready router", 30, || get(&lab, "/readyz").0 == "200");
    let file = lab.path("contract.toml");
    // It waits for so long, whatever passes.
    fs::write(
        &file,
        "ports = [\"r0\", \"r1\"]\ndrain-quiet-seconds = 50\n",
    )
    .unwrap();
    let mut command = lab.r.command(env!("CARGO_BIN_EXE_corelane"));
    command.args(["drain", "-q"]).arg(&file);
    command.arg("--run-directory").arg(lab.directory.path());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let drain = command.spawn().unwrap();
    wait_for("the drain", 10, || get(&lab, "/readyz").0 == "503");
    thread::sleep(Duration::from_millis(500));
    kill_process(Pid::from_child(&drain), Signal::INT).unwrap();
    let output = drain.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output));
}
