//! What all verbs have in common: exit codes, standard output, words.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixListener;
use std::process::{Command, Output, Stdio};

use host::temporary::Directory;
use router::management_plane::config::InstanceName;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::schemas::assert_is;
use crate::verbs::{self, verbs};

const PLANES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/planes.json");

fn corelane(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corelane"));
    command.args(words).stdin(Stdio::null());
    command
}

fn run(words: &[&str]) -> Output {
    corelane(words).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_wrong_option_ends_every_verb_with_2_and_prints_nothing() {
    for (words, help) in verbs::all() {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let refused = |more: &[&str], named: &str| {
            let output = run(&[&words, more].concat());
            assert_eq!(output.status.code(), Some(2), "{words:?}");
            assert_eq!(text(&output.stdout), "", "{words:?}");
            let said = text(&output.stderr);
            assert!(said.contains(named), "{words:?}: {said}");
        };
        refused(&["--no-such-option"], "--no-such-option");
        // A group is asked for one of what is below it.
        if help.contains("[OPTIONS] <COMMAND>\n") {
            refused(&[], "Usage: corelane");
        }
    }
}

#[test]
fn every_verb_has_help_on_standard_output() {
    for verb in verbs() {
        let output = run(&[&verb, "--help"]);
        assert!(output.status.success(), "{verb}");
        assert!(text(&output.stdout).contains("Usage: corelane"), "{verb}");
        assert_eq!(text(&output.stderr), "", "{verb}");
    }
}

#[test]
fn help_explains_verbs_and_topics() {
    let help = |words: &[&str]| run(&[&["help"][..], words].concat());
    assert!(text(&help(&["scale", "ab"]).stdout).contains("Usage: corelane scale ab"));
    for topic in [
        "compare-builds",
        "glossary",
        "router",
        "second-core",
        "tutorial",
        "verbs",
    ] {
        let page = text(&help(&[topic]).stdout);
        assert!(page.starts_with("# "), "{topic}: {page}");
        assert!(text(&help(&[]).stdout).contains(topic), "{topic}");
    }
    let unknown = help(&["sorcery"]);
    assert_eq!(unknown.status.code(), Some(2));
    let said = text(&unknown.stderr);
    assert!(
        said.contains("\"sorcery\" is no verb") && said.contains("tutorial"),
        "{said}"
    );
    assert_eq!(text(&unknown.stdout), "");
}

/// What gives nothing to store: it acts, prints a script or a list, or writes what it names itself.
const NO_DOCUMENT: [&str; 7] = [
    "announce",
    "completions",
    "help",
    "manual",
    "run",
    "trace export",
    "trace record",
];

/// What is random in these, and there is no less of it to do.
const ALWAYS_QUICK: [&str; 3] = ["lab forecast", "planes advise", "verify"];

#[test]
fn options_that_mean_the_same_are_called_the_same() {
    for (words, help) in verbs::all() {
        let below = verbs::below(&help);
        let has = |option: &str| {
            let told = help.lines().map(str::trim_start);
            let mut rest = told.filter_map(|line| line.strip_prefix(option));
            rest.any(|rest| rest.is_empty() || rest.starts_with("  "))
        };
        let name = words.join(" ");
        let is_group = help.contains("<COMMAND>") && !help.contains("--seed");
        if !is_group {
            let acts = NO_DOCUMENT.contains(&name.as_str());
            assert_ne!(has("--json [<FILE>]"), acts, "{name}");
        }
        // Every page has its document, and what measures can be asked for less.
        assert!(!has("--html <FILE>") || has("--json [<FILE>]"), "{name}");
        assert_eq!(
            has("--quick"),
            has("--seed <N>") && !ALWAYS_QUICK.contains(&name.as_str()),
            "{name}"
        );
        // What is stored is shown again: with the same options, and nothing is measured.
        if name.ends_with(" report") {
            assert!(help.contains("<FILE>") && has("--html <FILE>"), "{name}");
            assert!(!has("--quick") && !has("--seed <N>"), "{name}");
        }
        let stores = has("--html <FILE>") && !is_group && words.len() == 1;
        assert!(!stores || below.contains(&"report".to_owned()), "{name}");
    }
    let stored = ["lab", "planes", "scale", "study", "test", "trace"];
    for verb in stored {
        let help = verbs::help(&[verb.to_owned()]);
        assert!(verbs::below(&help).contains(&"report".to_owned()), "{verb}");
    }
}

#[test]
fn ports_are_given_with_commas_or_one_by_one() {
    let unknown = |words: &[&str]| {
        let output = run(words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        text(&output.stderr)
    };
    let tune = |ports: &[&str]| unknown(&[&["tune"][..], ports].concat());
    let said = tune(&["--port", "cl-no-0,cl-no-1"]);
    assert!(said.contains("cl-no-0"), "{said}");
    assert_eq!(said, tune(&["--port", "cl-no-0", "--port", "cl-no-1"]));
    assert_eq!(said, tune(&["cl-no-0", "cl-no-1"]));
    let one = unknown(&["run", "--port", "cl-no-0,cl-no-0"]);
    let by_one = unknown(&["run", "--port", "cl-no-0", "--port", "cl-no-0"]);
    assert_eq!(one, by_one);
}

#[test]
fn times_rates_and_sizes_are_read_alike() {
    for words in [
        "fleet --interval 1furlong a",
        "lab fleet --seconds 0.1ms",
        "lab fleet --rate 1pps",
        "scale ab --seconds 0.1 -- true -- true",
        "study --seconds 1furlong",
        "test loss --rate 0",
        "test loss --rate 5Mbit/s",
        "test loss --trial 1furlong",
        "top --interval 10ms",
        "trace record --seconds 0s -- true",
        "trace record --ring 1B -- true",
        "verify --frames --seconds x",
        "planes advise --worst-jitter 50",
    ] {
        let output = run(&words.split(' ').collect::<Vec<_>>());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words}: {said}");
        assert!(
            said.contains("allowed are ") || said.contains("write "),
            "{words}: {said}"
        );
    }
    let calibrated = "test throughput --dut calibrated --calibrated rate=0.5M,delay=20us --quick \
                      --sizes 64 --trial 100ms --json";
    let output = run(&calibrated.split_whitespace().collect::<Vec<_>>());
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn older_spellings_go_on_with_a_hint() {
    for (words, hint) in [
        ("test loss --ports a,b", "`--ports` is now `--port`"),
        (
            "trace record --duration 1 --pid 4194304",
            "`--duration` is now `--seconds`",
        ),
    ] {
        let output = run(&words.split(' ').collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(1), "{words}");
        let said = text(&output.stderr);
        assert!(said.contains(hint), "{words}: {said}");
    }
    let words = [
        "trace",
        "record",
        "-o",
        "/dev/null",
        "--",
        "true",
        "--duration",
        "1",
    ];
    let output = run(&words);
    assert!(
        !text(&output.stderr).contains("is now"),
        "that is another program's"
    );
}

/// A device in memory, for a test of minutes.
const DEVICE: &str = "-v --dut calibrated --calibrated rate=500kpps,buffer=64";

/// Each goes on for much longer than it takes to interrupt it.
#[test]
fn what_is_interrupted_ends_with_130() {
    let directory = Directory::new("contract").unwrap();
    let others = [
        "scale -v --rounds 100 -- sleep 1",
        "scale ab -v -- sleep 1 -- sleep 1",
        "scale calibrate -v --quick",
        "scale workload -v all",
        "study -v --engine memory --seconds 60",
    ];
    let tests = verbs::below(&verbs::help(&["test".to_owned()]));
    let tests = tests.iter().filter(|name| *name != "report");
    let tests = tests.map(|name| format!("test {name} {DEVICE}"));
    for words in tests.chain(others.map(str::to_owned)) {
        let mut command = corelane(&words.split(' ').collect::<Vec<_>>());
        command.current_dir(directory.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut steps = BufReader::new(child.stderr.take().unwrap());
        let mut step = String::new();
        assert!(steps.read_line(&mut step).unwrap() > 0, "{words}");
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let mut rest = String::new();
        steps.read_to_string(&mut rest).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{words}: {step}{rest}");
    }
}

#[test]
fn every_verb_says_less_or_more_and_not_both() {
    for (words, help) in verbs::all() {
        for option in ["-q, --quiet", "-v, --verbose"] {
            assert!(help.contains(option), "{words:?} lacks {option}");
        }
        if verbs::below(&help).is_empty() {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let output = run(&[&words, &["-q", "-v"][..]].concat());
            assert_eq!(output.status.code(), Some(2), "{words:?}");
            let said = text(&output.stderr);
            assert!(said.contains("cannot be used with"), "{words:?}: {said}");
        }
    }
}

/// Standard error is no terminal here, so nothing is said unasked.
#[test]
fn progress_is_told_as_asked() {
    let rates = "scale ab --quick --progress rate: -- echo rate: 100 -- echo rate: 100";
    let said = |talk: &[&str]| {
        let words: Vec<&str> = rates.split(' ').collect();
        let output = run(&[talk, &words].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(!output.stdout.is_empty());
        text(&output.stderr)
    };
    assert_eq!(said(&[]), "");
    assert_eq!(said(&["-q"]), "");
    let steps = said(&["-v"]);
    let lines = steps
        .lines()
        .filter(|line| line.contains("blocks of four runs"));
    assert!(lines.count() > 2 && !steps.contains('\x1b'), "{steps}");
}

#[test]
fn hints_are_told_unless_quiet() {
    let directory = Directory::new("contract").unwrap();
    let words = "study --quick --engine memory --cores 1 --seconds 1 --rounds 2";
    let said = |talk: &[&str]| {
        let words: Vec<&str> = words.split(' ').collect();
        let mut command = corelane(&[&words, talk].concat());
        let output = command.current_dir(directory.path()).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    assert!(said(&[]).contains("written: "));
    assert_eq!(said(&["--quiet"]), "");
}

#[test]
fn json_without_a_file_is_all_that_standard_output_has() {
    let directory = Directory::new("contract").unwrap();
    let file = directory.path().join("doctor.json");
    for words in [
        vec!["doctor", "--json"],
        vec!["doctor", "--json", "-"],
        vec!["doctor", "--json", file.to_str().unwrap()],
    ] {
        let output = run(&words);
        assert!(output.status.success(), "{words:?}");
        let mut raw = text(&output.stdout);
        if words.len() == 3 && words[2] != "-" {
            assert!(raw.contains("verdict"), "people are told too: {raw}");
            raw = fs::read_to_string(&file).unwrap();
        }
        let value: Value = serde_json::from_str(&raw).unwrap();
        assert_is("corelane-doctor", &value);
    }
}

#[test]
fn what_fails_says_so_on_standard_error_and_ends_with_1() {
    for words in [
        &["show", "ports", "--run-directory", "/nonexistent"][..],
        &["health", "--run-directory", "/nonexistent"],
        &["explain", "10.0.0.1", "--run-directory", "/nonexistent"],
        &["drain", "/nonexistent"],
        &["undrain", "/nonexistent"],
        &["fleet", "--file", "/nonexistent"],
        &["top", "--run-directory", "/nonexistent"],
        &["verify", "--run-directory", "/nonexistent"],
        &["study", "report", "/nonexistent"],
        &["planes", "report", "/nonexistent"],
        &["planes", "report", "/etc/hostname"],
        &["test", "report", "/nonexistent"],
        &["trace", "report", "/nonexistent"],
        &["lab", "report", "/nonexistent"],
        &["lab", "report", PLANES],
        &["scale", "report", "/nonexistent"],
        &["scale", "report", PLANES],
        &["scale", "compare", "/nonexistent", "/nonexistent"],
        &["run", "/nonexistent"],
        &["announce", "/nonexistent"],
        &["manual", "/nonexistent"],
    ] {
        let output = run(words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert_eq!(text(&output.stdout), "", "{words:?}");
        let said = text(&output.stderr);
        assert!(said.starts_with("corelane: "), "{words:?}: {said}");
        let named = words
            .iter()
            .any(|word| word.starts_with('/') && said.contains(word));
        assert!(named, "{words:?}: {said}");
    }
}

#[test]
fn the_answer_no_is_3() {
    let advise = |rate: &str| {
        let rate = ["--user-plane-rate", rate];
        let output = run(&[&["planes", "advise", "--from", PLANES][..], &rate].concat());
        output.status.code()
    };
    assert_eq!((advise("1M"), advise("900G")), (Some(0), Some(3)));
}

#[test]
fn a_router_whose_answers_differ_ends_verify_with_3() {
    let directory = Directory::new("contract").unwrap();
    let name: InstanceName = "default".parse().unwrap();
    // A stand-in for the router: no real one is known to differ.
    let listener = UnixListener::bind(name.socket(directory.path())).unwrap();
    for (different, code) in [(0, 0), (1, 3)] {
        let mut verify = corelane(&["verify", "--run-directory"]);
        verify.arg(directory.path()).stdout(Stdio::piped());
        let verify = verify.spawn().unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let mut question = String::new();
        BufReader::new(&stream).read_line(&mut question).unwrap();
        assert_eq!(question, "verify\n");
        let found = json!({ "compared": 8, "different": different });
        let answer = json!({ "schema": "corelane-verify/1", "table": true, "verification": found });
        stream.write_all(answer.to_string().as_bytes()).unwrap();
        drop(stream);
        let output = verify.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code));
        let said = format!("different: {different}");
        assert!(text(&output.stdout).contains(&said), "{output:?}");
    }
}

#[test]
fn a_reader_that_has_read_enough_is_no_error() {
    for words in [
        &["doctor"][..],
        &["doctor", "--json"],
        &["planes", "report", PLANES],
        &["completions", "bash"],
        &["help"],
        &["run", "--help"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = corelane(words).stdout(writer).output().unwrap();
        assert_eq!(text(&output.stderr), "", "{words:?}");
        assert!(output.status.success(), "{words:?}: {}", output.status);
    }
}

#[test]
fn shells_complete_verbs_and_options() {
    for shell in ["bash", "zsh", "fish"] {
        let script = text(&run(&["completions", shell]).stdout);
        for verb in verbs() {
            assert!(script.contains(&verb), "{shell}: {verb}");
        }
    }
    let complete = "source /dev/stdin; COMP_WORDS=(corelane stu); COMP_CWORD=1; \
                    _corelane corelane stu corelane; echo \"${COMPREPLY[@]}\"";
    let script = run(&["completions", "bash"]).stdout;
    let directory = Directory::new("contract").unwrap();
    let file = directory.path().join("completions");
    fs::write(&file, script).unwrap();
    let mut shell = Command::new("bash");
    shell.args(["--norc", "-c", complete]);
    let output = shell
        .stdin(fs::File::open(&file).unwrap())
        .output()
        .unwrap();
    assert_eq!(text(&output.stdout), "study\n", "{}", text(&output.stderr));
}

#[test]
fn every_verb_has_its_page_of_the_manual() {
    let directory = Directory::new("contract").unwrap();
    let output = run(&["manual", directory.path().to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for verb in verbs() {
        let page = directory.path().join(format!("corelane-{verb}.1"));
        let page = fs::read_to_string(&page).unwrap();
        assert!(page.contains(".TH"), "{verb}");
    }
}

#[test]
fn a_watch_of_a_fleet_that_is_interrupted_ends_with_130() {
    // Nobody listens there: the watch says so again and again.
    let mut command = corelane(&["fleet", "--watch", "--interval", "0.1", "127.0.0.1:1"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut watch = command.spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.as_mut().unwrap());
    let mut line = String::new();
    let read = lines.read_line(&mut line).unwrap();
    assert!(read > 0, "it prints before it is interrupted");
    kill_process(Pid::from_child(&watch), Signal::INT).unwrap();
    let output = watch.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
}
