//! `corelane trace`: signals while a recording is analysed, and the demonstration.

use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use host::temporary::Directory;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tracer::event::{Context, Event, Kind, Left};
use tracer::format::write::{CoreWriter, FileWriter};
use tracer::trace::{Header, Trailer};

use crate::schemas::assert_is;

const THREADS: u32 = 500;

/// A recording of `events` switches and wake-ups of two cores between many threads.
pub(crate) fn large(path: &Path, events: u64) {
    let header = Header {
        cores: vec![0, 1],
        ..Header::default()
    };
    let out = BufWriter::new(File::create(path).unwrap());
    let mut file = FileWriter::new(out, &header).unwrap();
    let mut cores = [CoreWriter::new(0), CoreWriter::new(1)];
    let mut running = [0, 0];
    for turn in 0..events / 2 {
        let cpu = (turn % 2) as u16;
        let core = usize::from(cpu);
        let next = 1 + (turn * 7 % u64::from(THREADS)) as u32;
        let tid = running[core];
        let woken = 1 + (next + 3) % THREADS;
        let waking = Kind::Waking {
            woken,
            target: cpu,
            by: Context::Thread,
            new: false,
        };
        let left = Left::Sleeping;
        for (after, kind) in [(0, waking), (400, Kind::Switch { left, next })] {
            let time = 1_000_000 + turn * 1_000 + after;
            cores[core].push(&Event {
                time,
                cpu,
                tid,
                kind,
            });
        }
        running[core] = next;
        if cores[core].is_full() {
            file.core(&mut cores[core]).unwrap();
        }
    }
    for core in &mut cores {
        file.core(core).unwrap();
    }
    let trailer = Trailer {
        start: 1,
        end: 1_000_000 + events * 500,
        losses_counted: true,
        ..Trailer::default()
    };
    file.finish(&trailer).unwrap();
}

fn start(words: &[&str], directory: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_corelane"))
        .arg("trace")
        .args(words)
        .current_dir(directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Bytes of the process' memory; none once it has ended.
fn memory(child: &mut Child) -> Option<u64> {
    let ended = child.try_wait().unwrap().is_some();
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    (!ended).then(|| kib.unwrap_or(0) * 1024)
}

/// Sends `signal` once the program has most of the trace in its memory; none when it was done
/// before.
fn interrupted(words: &[&str], directory: &Path, signal: Signal) -> Option<Output> {
    const READ: u64 = 64 << 20;
    let mut child = start(words, directory);
    while memory(&mut child)? < READ {
        std::thread::sleep(Duration::from_millis(1));
    }
    kill_process(Pid::from_child(&child), signal).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code() != Some(0)).then_some(output)
}

fn names(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_signal_ends_the_analysis_of_a_large_recording_and_leaves_nothing() {
    let place = Directory::new("analysis").unwrap();
    let directory = place.path();
    let trace = directory.join("large.trace");
    large(&trace, 2_000_000);
    for (words, signal) in [
        (
            &["report", "large.trace", "--json", "j", "--html", "h"][..],
            Signal::TERM,
        ),
        (&["report", "large.trace"], Signal::INT),
        (&["diff", "large.trace", "large.trace"], Signal::TERM),
        (&["export", "large.trace", "--perfetto", "p"], Signal::INT),
        (&["export", "large.trace", "--firefox", "f"], Signal::INT),
        (&["export", "large.trace", "--text", "t"], Signal::TERM),
    ] {
        // On a busy machine a signal may come when the program is just done.
        let output = (0..10).find_map(|_| {
            let output = interrupted(words, directory, signal);
            if output.is_none() {
                for name in ["j", "h", "p", "f", "t"] {
                    let _ = fs::remove_file(directory.join(name));
                }
            }
            output
        });
        let output = output.expect("a large recording takes longer than a signal");
        assert_eq!(output.status.code(), Some(130), "{words:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{words:?}: {output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.starts_with("corelane: interrupted"),
            "{words:?}: {said}"
        );
        assert_eq!(names(directory), [trace.as_path()], "{words:?}");
    }
}

#[test]
fn a_signal_ends_a_recording_which_is_shown_and_kept() {
    if !needs::root("to open tracepoints") {
        return;
    }
    let place = Directory::new("recording").unwrap();
    let directory = place.path();
    let mut child = start(
        &["record", "--all", "--seconds", "600", "-o", "t"],
        directory,
    );
    // The file is made when the recording begins.
    while !directory.join("t").exists() {
        assert_eq!(child.try_wait().unwrap(), None, "it records");
        std::thread::sleep(Duration::from_millis(10));
    }
    // On a quiet machine nothing else works, and the report would say no more than that.
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(300) {
        std::hint::spin_loop();
    }
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("cores the program used"), "{said}");
    let kept = start(&["report", "t"], directory)
        .wait_with_output()
        .unwrap();
    assert_eq!(kept.stdout, output.stdout, "{kept:?}");
}

#[test]
fn a_flight_recorder_keeps_its_last_part_for_whoever_wants_it() {
    if !needs::root("to open tracepoints") {
        return;
    }
    let place = Directory::new("flight").unwrap();
    let directory = place.path();
    let mut child = start(&["record", "--all", "--last", "0.4", "-o", "t"], directory);
    while !directory.join("t").exists() {
        assert_eq!(child.try_wait().unwrap(), None, "it records");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_secs(2));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    for words in [
        &["report", "t", "--json", "j"][..],
        &["export", "t", "--firefox", "f", "--collapsed", "c"],
    ] {
        let output = start(words, directory).wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let read = |name: &str| fs::read_to_string(directory.join(name)).unwrap();
    let raw: Value = serde_json::from_str(&read("j")).unwrap();
    assert_eq!(raw["budget"]["wall"], 400_000_000, "{raw}");
    let profile: Value = serde_json::from_str(&read("f")).unwrap();
    assert!(!profile["threads"].as_array().unwrap().is_empty());
    let stacks = read("c");
    let line = stacks.lines().next().unwrap();
    let (_, microseconds) = line.rsplit_once(' ').unwrap();
    assert!(microseconds.parse::<u64>().is_ok(), "{line}");
}

#[test]
fn the_page_of_a_recording_is_for_everybody() {
    let place = Directory::new("recording").unwrap();
    let directory = place.path();
    large(&directory.join("t"), 2_000);
    let words = ["report", "t", "--html", "page"];
    let output = start(&words, directory).wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    crate::page::is_for_everybody(&directory.join("page"));
}

#[test]
fn the_demonstration_names_the_lock_which_is_gone_in_the_mended_program() {
    if !needs::root("to open tracepoints") || !needs::two_cores() {
        return;
    }
    let _cores = needs::cores();
    let place = Directory::new("demonstration").unwrap();
    let directory = place.path();
    let words = ["demo", "--json", "j", "--html", "h"];
    let output = start(&words, directory).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout);
    let (first, rest) = said.split_once("The same with a table").unwrap();
    let (second, changed) = rest.split_once("What changed:").unwrap();
    assert!(first.contains("mutex `the one table`"), "{said}");
    assert!(!second.contains("the one table"), "{said}");
    assert!(changed.contains("`operations`: "), "{said}");

    let raw: Value = serde_json::from_slice(&fs::read(directory.join("j")).unwrap()).unwrap();
    assert_is("corelane-trace-diff", &raw);
    assert_is("corelane-trace", &raw["before"]);
    let locks = |which: &str| raw[which]["locks"].to_string();
    assert!(locks("before").contains("the one table"), "{said}");
    assert!(!locks("after").contains("the one table"), "{said}");
    crate::page::is_for_everybody(&directory.join("h"));
    let page = fs::read_to_string(directory.join("h")).unwrap();
    for part in [
        "mutex <code>the one table</code>",
        "id=\"demo-1\"",
        "id=\"demo-2\"",
        "id=\"demo-0\"",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn an_ordinary_user_is_told_what_the_demonstration_needs() {
    const NOBODY: u32 = 65534;
    if !needs::root("to become an ordinary user") || !needs::two_cores() {
        return;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_corelane"));
    let command = command.args(["trace", "demo"]).uid(NOBODY).gid(NOBODY);
    let output = match command.output() {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            needs::skipped!("nobody may not run this program where it lies");
            return;
        }
        output => output.unwrap(),
    };
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("needs root"), "{said}");
    assert!(output.stdout.is_empty(), "{output:?}");
}
