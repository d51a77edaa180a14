//! Each verb and each clause of the contract: a command that shows it, or the test that does.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use host::temporary::Directory;
use rustix::process::{Pid, Signal, kill_process};
use scaling::calibration::verdict::Calibration;
use serde_json::Value;

use crate::page::is_for_everybody;
use crate::pages::{page, repository};
use crate::schemas::assert_is;
use crate::{trace, verbs};

const PLANES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/planes.json");
/// A device in memory, one trial of 10 ms.
const DEVICE: &str =
    "--dut calibrated --calibrated rate=20kpps,buffer=64 --quick --trial 0.01 --repeats 1";

/// A verb that anybody may use, what stands behind it, and the form of its document, if it has any.
/// `DEVICE` and `PLANES` stand for the above; what one writes, a later one reads.
const TYPED: [(&str, &str, &str); 28] = [
    ("completions", "zsh", ""),
    ("doctor", "", "doctor"),
    (
        "lab forecast",
        "--rate 1M --without-kernel",
        "fleet-forecast",
    ),
    ("manual", ".", ""),
    (
        "planes advise",
        "--from PLANES --user-plane-rate 1M",
        "planes-advice",
    ),
    ("planes report", "PLANES", "planes"),
    ("scale", "--quick --rounds 1 -- true", "scale"),
    (
        "scale ab",
        "--quick --worth 100 -- true -- true",
        "scale-ab",
    ),
    ("scale compare", "scale.json scale.json", "scale-comparison"),
    ("scale forecasts", "", "scale-forecasts"),
    ("scale list", "", "scale-list"),
    ("scale report", "scale.json", "scale"),
    ("scale workload", "--quick keysearch", "scale-suite"),
    (
        "study",
        "--quick --engine memory --cores 1 --seconds 1 --rounds 2",
        "study",
    ),
    ("study report", "study.json", "study"),
    ("test back-to-back", "DEVICE --sizes 64 --rate 5000", "test"),
    ("test bursts", "DEVICE --sizes 64", "test"),
    ("test latency", "DEVICE --sizes 64 --rate 5000", "test"),
    ("test loss", "DEVICE --sizes 64 --rate 5000", "test"),
    (
        "test recovery",
        "DEVICE --sizes 64 --rate 5000 --around 0.1",
        "test",
    ),
    (
        "test reset",
        "DEVICE --sizes 64 --rate 5000 --around 0.1",
        "test",
    ),
    ("test selftest", "DEVICE --sizes 64", "test"),
    ("test sweep", "DEVICE --payloads 64 --rate 5000", "test"),
    ("test throughput", "DEVICE --sizes 64", "test"),
    ("test report", "test-throughput.json", "test"),
    ("trace diff", "recording recording", "trace-diff"),
    ("trace export", "recording --text -", ""),
    ("trace report", "recording", "trace"),
];

/// What asks a router, takes long or needs root: the tests that read its document from standard
/// output, if it has any, and that have its reader go away.
const ASKS: &str = "every_verb_that_asks_a_router_keeps_the_contract";
const ELSEWHERE: [(&str, [&str; 2]); 20] = [
    ("announce", ["", ASKS]),
    (
        "capture",
        [
            "frames_are_told_as_lines_and_as_json",
            "however_a_capture_ends_the_router_is_as_before",
        ],
    ),
    ("drain", [ASKS; 2]),
    ("explain", [ASKS; 2]),
    ("fleet", [ASKS; 2]),
    ("health", [ASKS; 2]),
    (
        "lab fleet",
        [
            "each_event_costs_what_it_must",
            "a_killed_run_leaves_no_program_and_the_next_removes_the_rest",
        ],
    ),
    ("lab report", ["each_event_costs_what_it_must"; 2]),
    ("planes", ["the_planes_keep_the_contract"; 2]),
    ("record", [ASKS; 2]),
    (
        "record report",
        ["what_went_wrong_is_written_down_and_played_again"; 2],
    ),
    (
        "run",
        [
            "",
            "it_forwards_though_nobody_reads_that_it_does_and_nobody_can_ask_it",
        ],
    ),
    ("scale calibrate", [LONG; 2]),
    ("show", [ASKS; 2]),
    ("top", [ASKS; 2]),
    ("trace demo", ["the_demonstration_keeps_the_contract"; 2]),
    (
        "trace record",
        ["", "a_recording_whose_reader_has_gone_is_kept"],
    ),
    (
        "tune",
        ["a_dry_run_changes_nothing_and_undo_gives_back_what_apply_changed"; 2],
    ),
    ("undrain", [ASKS; 2]),
    ("verify", [ASKS; 2]),
];

/// The test of what takes minutes, which runs when it is asked for.
const LONG: &str = "the_calibration_keeps_the_contract";

/// Verbs that can answer no, each with a test of it: those of the table in docs/verbs.md.
const NO: [(&str, &str); 13] = [
    ("announce", "once_tells_and_answers"),
    ("drain", "a_stream_that_stays_is_told_by_port"),
    (
        "explain",
        "where_the_kernel_would_do_something_else_that_is_said",
    ),
    ("fleet", "a_fleet_of_one_is_well_when_it_is_ready"),
    (
        "health",
        "a_router_is_ready_while_it_does_what_it_was_asked_to",
    ),
    (
        "lab forecast",
        "a_forecast_tells_what_fleets_carry_and_asks_the_kernel",
    ),
    ("planes advise", "the_answer_no_is_3"),
    ("scale ab", "the_exit_code_is_the_verdict"),
    ("scale calibrate", LONG),
    ("study", "the_bounds_are_written_with_what_they_are_made_of"),
    (
        "test",
        "a_stored_result_shows_the_same_again_and_meets_expectations",
    ),
    (
        "tune",
        "a_dry_run_changes_nothing_and_undo_gives_back_what_apply_changed",
    ),
    ("verify", "a_router_whose_answers_differ_ends_verify_with_3"),
];

/// What goes on for long, each with a test that interrupts it.
const INTERRUPTED: [(&str, &str); 30] = [
    ("announce", "it_follows_the_router_that_comes_and_goes"),
    ("capture", "however_a_capture_ends_the_router_is_as_before"),
    ("drain", "a_drain_that_is_interrupted_ends_with_130"),
    (
        "fleet",
        "a_watch_of_a_fleet_that_is_interrupted_ends_with_130",
    ),
    (
        "lab fleet",
        "an_interrupted_run_shows_what_it_has_and_leaves_nothing",
    ),
    ("planes", "the_planes_keep_the_contract"),
    // Without --from it measures as `planes` does.
    ("planes advise", "the_planes_keep_the_contract"),
    ("record", "what_cannot_be_recorded_is_said"),
    (
        "run",
        "the_kernel_forwards_again_after_a_stop_and_after_a_crash",
    ),
    ("scale", ENDS),
    ("scale ab", ENDS),
    ("scale calibrate", ENDS),
    ("scale workload", ENDS),
    ("study", ENDS),
    ("test back-to-back", ENDS),
    ("test bursts", ENDS),
    ("test latency", ENDS),
    ("test loss", ENDS),
    ("test recovery", ENDS),
    ("test reset", ENDS),
    ("test selftest", ENDS),
    ("test sweep", ENDS),
    ("test throughput", ENDS),
    ("top", "top_shows_rates_and_gives_the_terminal_back"),
    ("trace demo", "the_demonstration_keeps_the_contract"),
    ("trace diff", ANALYSED),
    ("trace export", ANALYSED),
    (
        "trace record",
        "a_signal_ends_a_recording_which_is_shown_and_kept",
    ),
    ("trace report", ANALYSED),
    ("verify", "a_search_can_be_stopped_and_leaves_nothing"),
];
const ENDS: &str = "what_is_interrupted_ends_with_130";
const ANALYSED: &str = "a_signal_ends_the_analysis_of_a_large_recording_and_leaves_nothing";

/// What is done at once.
const AT_ONCE: [&str; 18] = [
    "completions",
    "doctor",
    "explain",
    "health",
    "lab forecast",
    "lab report",
    "manual",
    "planes report",
    "record report",
    "scale compare",
    "scale forecasts",
    "scale list",
    "scale report",
    "show",
    "study report",
    "test report",
    "tune",
    "undrain",
];

/// The verbs that can be typed, with their help: those below a group, and it, where it does something.
fn leaves() -> Vec<(String, String)> {
    let all = verbs::all().into_iter();
    let leaves = all.filter(|(_, help)| !help.contains("[OPTIONS] <COMMAND>\n"));
    leaves
        .map(|(words, help)| (words.join(" "), help))
        .collect()
}

/// The sources of all tests.
fn sources(directory: &Path, all: &mut String) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|end| end == "rs") {
            *all += &fs::read_to_string(path).unwrap();
        }
    }
}

#[track_caller]
fn is_each_once<'a>(named: impl Iterator<Item = &'a str>, all: &BTreeSet<&str>) {
    let named: Vec<&str> = named.collect();
    let set: BTreeSet<&str> = named.iter().copied().collect();
    assert_eq!(&set, all);
    assert_eq!(named.len(), set.len(), "each once: {named:?}");
}

#[test]
fn each_verb_has_a_test_of_each_clause() {
    let leaves = leaves();
    let all: BTreeSet<&str> = leaves.iter().map(|(name, _)| name.as_str()).collect();
    let typed = TYPED.iter().map(|&(verb, ..)| verb);
    let elsewhere = ELSEWHERE.map(|(verb, _)| verb);
    is_each_once(typed.chain(elsewhere), &all);
    is_each_once(
        INTERRUPTED.map(|(verb, _)| verb).into_iter().chain(AT_ONCE),
        &all,
    );
    let no = page("verbs.md");
    let (_, no) = no
        .split_once("| verb | what the answer no means |")
        .unwrap();
    let rows = no.split("\n\n").next().unwrap().lines().skip(2);
    let rows: BTreeSet<String> = rows
        .map(|row| {
            let verb = row.split('`').nth(1).unwrap();
            verb.split(" --").next().unwrap().to_owned()
        })
        .collect();
    is_each_once(
        NO.into_iter().map(|(verb, _)| verb),
        &rows.iter().map(String::as_str).collect(),
    );

    let mut tests = String::new();
    sources(&repository().join("crates/corelane/tests"), &mut tests);
    for (verb, [document, pipe]) in ELSEWHERE {
        let (_, help) = leaves.iter().find(|(name, _)| name == verb).unwrap();
        assert_eq!(document.is_empty(), !help.contains("--json"), "{verb}");
        assert!(!pipe.is_empty(), "{verb}");
    }
    let elsewhere = ELSEWHERE.into_iter().flat_map(|(_, tests)| tests);
    let by_tests = NO.into_iter().chain(INTERRUPTED).map(|(_, test)| test);
    for test in elsewhere.chain(by_tests).filter(|test| !test.is_empty()) {
        assert!(tests.contains(&format!("fn {test}()")), "no test {test}");
    }
}

/// A verb as typed in a directory.
fn command(directory: &Path, verb: &str, more: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corelane"));
    let more = more.replace("PLANES", PLANES).replace("DEVICE", DEVICE);
    command.args(verb.split(' ')).args(more.split_whitespace());
    command.current_dir(directory).stdin(Stdio::null());
    command.env("CORELANE_FORECASTS", directory.join("forecasts.json"));
    command
}

/// With an option before a command's own words.
fn with(option: &str, more: &str) -> String {
    match more.split_once("-- ") {
        Some((ours, theirs)) if !ours.ends_with('-') => format!("{ours} {option} -- {theirs}"),
        _ => format!("{more} {option}"),
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Done for a reader that has gone: that is no error.
pub(crate) fn for_nobody(command: &mut Command) -> Output {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command.stdout(writer).output().unwrap();
    assert_eq!(said(&output), "", "{command:?}");
    output
}

/// It did what it is for. Of two equal commands, `scale ab` may call one slower by chance (3), and
/// beside other tests it may be unable to tell (4).
#[track_caller]
fn has_answered(verb: &str, output: &Output) {
    let code = output.status.code();
    let verdicts: &[i32] = if verb == "scale ab" { &[0, 3, 4] } else { &[0] };
    let has = code.is_some_and(|code| verdicts.contains(&code));
    assert!(has, "{verb}: {}: {}", output.status, said(output));
}

#[test]
fn documents_are_alone_on_standard_output_and_readers_may_go() {
    let directory = Directory::new("each").unwrap();
    let place = directory.path();
    trace::large(&place.join("recording"), 2_000);
    for (verb, more, form) in TYPED {
        let _cores = needs::cores();
        if !form.is_empty() {
            let output = command(place, verb, &with("--json", more))
                .output()
                .unwrap();
            has_answered(verb, &output);
            let document: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_is(&format!("corelane-{form}"), &document);
            let name = format!("{}.json", verb.replace(' ', "-"));
            fs::write(place.join(name), &output.stdout).unwrap();
        }
        has_answered(
            verb,
            &for_nobody(&mut command(place, verb, &with("-q", more))),
        );
    }
    // Pages that no other test looks at.
    for (verb, more) in [
        ("planes report", "planes-advise.json"),
        ("scale report", "scale-ab.json"),
        ("scale report", "scale-compare.json"),
        ("scale report", "scale-workload.json"),
        ("scale forecasts", ""),
    ] {
        let mut command = command(place, verb, &format!("{more} --html page.html"));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{verb} {more}: {}", said(&output));
        is_for_everybody(&place.join("page.html"));
    }
}

/// Begins, is interrupted at the first line that it writes, and ends with 130.
fn is_interrupted(mut command: Command) {
    let (reader, writer) = std::io::pipe().unwrap();
    command.stdout(writer.try_clone().unwrap()).stderr(writer);
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut lines = BufReader::new(reader);
    let mut said = String::new();
    lines.read_line(&mut said).unwrap();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    lines.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
}

/// Its answer is yes or no, which no contract says.
#[track_caller]
fn answers(output: &Output) {
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 3)), "{code:?}: {}", said(output));
}

/// Its document from standard output, whatever its answer is.
fn document(command: &mut Command, form: &str) -> Output {
    let output = command.output().unwrap();
    answers(&output);
    assert_is(form, &serde_json::from_slice(&output.stdout).unwrap());
    output
}

#[test]
#[ignore = "it takes minutes, and nothing else can be measured meanwhile"]
fn the_calibration_keeps_the_contract() {
    let directory = Directory::new("each").unwrap();
    let calibrate = |more: &str| {
        let words = format!("--quick {more}");
        command(directory.path(), "scale calibrate", &words)
    };
    std::thread::scope(|threads| {
        threads.spawn(|| answers(&for_nobody(&mut calibrate("-q"))));
        let output = document(&mut calibrate("--json"), "corelane-scale-calibration");
        let found: Calibration = serde_json::from_slice(&output.stdout).unwrap();
        let code = if found.holds() { 0 } else { 3 };
        assert_eq!(output.status.code(), Some(code));
    });
}

#[test]
fn the_planes_keep_the_contract() {
    if !needs::root("for network namespaces") || !needs::two_cores() {
        return;
    }
    if planes::guest::program().is_none() {
        needs::skipped!("needs the guests' program: make guest");
        return;
    }
    let _cores = needs::cores();
    let directory = Directory::new("each").unwrap();
    let one = "--quick --deployments smp-free --mode kernel --payloads 64";
    let planes = |more: &str| command(directory.path(), "planes", &format!("{one} {more}"));
    is_interrupted(planes("-v"));
    document(&mut planes("--json"), "corelane-planes");
    assert!(for_nobody(&mut planes("-q")).status.success());
}

#[test]
fn the_demonstration_keeps_the_contract() {
    if !needs::root("to open tracepoints") || !needs::two_cores() {
        return;
    }
    let _cores = needs::cores();
    let directory = Directory::new("each").unwrap();
    let demo = |more: &str| command(directory.path(), "trace demo", more);
    is_interrupted(demo(""));
    document(&mut demo("--json"), "corelane-trace-diff");
    assert!(for_nobody(&mut demo("-q")).status.success());
}

#[test]
fn a_recording_whose_reader_has_gone_is_kept() {
    if !needs::root("to open tracepoints") {
        return;
    }
    let directory = Directory::new("each").unwrap();
    let record = |more| command(directory.path(), "trace record", more);
    assert!(for_nobody(&mut record("-q -- true")).status.success());
    assert!(directory.path().join("corelane.trace").exists());
}
