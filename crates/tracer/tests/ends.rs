//! Odd ends of targets and of the recorder itself. Root only.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tracer::analyse::Analysis;
use tracer::event::Kind;
use tracer::record::{Backend, Options, Recording};
use tracer::threads::Role;
use tracer::verdict::verdict;

use crate::live_help::{command, root, run};

#[test]
fn a_target_that_ends_at_once_is_too_little_evidence() {
    if !root() {
        return;
    }
    let recorded = || {
        let trace = run(&command(&["true"]));
        verdict(&trace, &Analysis::new(&trace))
    };
    // On a busy machine it may take longer to start than what is enough.
    let mut found = recorded();
    for _ in 0..20 {
        if !found.enough {
            break;
        }
        found = recorded();
    }
    assert!(!found.enough, "{:?}", found.sentences);
    assert!(
        found.sentences[0].starts_with("Not enough evidence"),
        "{:?}",
        found.sentences
    );
    assert!(
        found.sentences[0].contains("corelane trace record"),
        "{:?}",
        found.sentences
    );
}

#[test]
fn a_thousand_children_are_the_programs() {
    if !root() {
        return;
    }
    let trace = run(&command(&[
        "sh",
        "-c",
        "i=0; while [ $i -lt 1000 ]; do (:); i=$((i+1)); done",
    ]));
    assert!(trace.complaints.is_empty(), "{:?}", trace.complaints);
    let analysis = Analysis::new(&trace);
    let own = analysis
        .timeline
        .threads
        .iter()
        .filter(|thread| thread.role == Role::Target)
        .count();
    let lost = trace.events_lost() as usize;
    assert!(
        own + lost >= 1000,
        "{own} threads of the program, {lost} events lost"
    );
    assert_eq!(
        analysis.budget.total(),
        analysis.budget.wall * analysis.budget.cores
    );
}

#[test]
fn a_killed_target_leaves_a_whole_trace() {
    if !root() {
        return;
    }
    let trace = run(&command(&[
        "sh",
        "-c",
        "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; kill -9 $$",
    ]));
    assert!(trace.complaints.is_empty(), "{:?}", trace.complaints);
    assert!(
        trace.trailer.exit.contains("signal: 9"),
        "{}",
        trace.trailer.exit
    );
}

#[test]
fn a_recording_that_is_dropped_ends_its_command() {
    if !root() {
        return;
    }
    let recording = Recording::start(&command(&["sleep", "1000"])).expect("root may record");
    let process = recording.process().expect("a command has a process");
    drop(recording);
    assert!(!std::path::Path::new(&format!("/proc/{process}")).exists());
}

#[test]
fn both_ways_to_hear_of_switches_tell_the_same() {
    if !root() {
        return;
    }
    for backend in [Backend::Fastest, Backend::Perf] {
        let options = Options {
            backend,
            ..command(&["sh", "-c", "for i in 1 2 3 4 5; do sleep 0.01; done"])
        };
        let trace = run(&options);
        let told = &trace.header.switches;
        if backend == Backend::Fastest && told != "eBPF" {
            needs::skipped!("eBPF ({told})");
            continue;
        }
        let analysis = Analysis::new(&trace);
        let threads = &analysis.timeline.threads;
        let own = |tid| threads.role(tid) == Role::Target;
        let wakings = trace
            .events
            .iter()
            .filter(|event| matches!(event.kind, Kind::Waking { woken, .. } if own(woken)))
            .count();
        // Five sleeps, each ended by a timer, and five ends of a child waited for. A kernel may run
        // the timers of an idle core outside an interrupt, and perf is silent about some of
        // those.
        let told_at_least = if backend == Backend::Perf { 1 } else { 10 };
        assert!(wakings >= told_at_least, "{told}: {wakings} wakings");
        let switches = trace
            .events
            .iter()
            .filter(|event| matches!(event.kind, Kind::Switch { next, .. } if own(next)))
            .count();
        assert!(
            switches >= told_at_least,
            "{told}: {switches} switches to the program"
        );
        assert_eq!(
            analysis.budget.total(),
            analysis.budget.wall * analysis.budget.cores
        );
    }
}

/// Set for the copy of this program that records until it is killed.
const VICTIM: &str = "CORELANE_TEST_RECORDS_UNTIL_KILLED";

#[test]
fn records_until_killed() {
    if std::env::var_os(VICTIM).is_none() {
        return;
    }
    let _recording = Recording::start(&Options::default()).expect("root may record");
    println!("recording");
    std::thread::sleep(Duration::from_mins(1));
}

/// The programs that a process' descriptors hold attached.
fn programs_of(process: u32) -> Vec<u32> {
    let Ok(descriptors) = std::fs::read_dir(format!("/proc/{process}/fdinfo")) else {
        return Vec::new();
    };
    descriptors
        .flatten()
        .filter_map(|file| std::fs::read_to_string(file.path()).ok())
        .filter_map(|text| {
            let line = text.lines().find_map(|line| {
                line.strip_prefix("prog_id:")
                    .map(str::trim)
                    .map(str::to_owned)
            });
            line?.parse().ok()
        })
        .collect()
}

/// True while the kernel has a program of this number (`BPF_PROG_GET_FD_BY_ID`).
fn exists(program: u32) -> bool {
    const GET_BY_ID: libc::c_int = 13;
    let argument = [program, 0, 0, 0];
    // SAFETY: the command reads the array, whose size is given; a descriptor that comes back is
    // closed below.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            GET_BY_ID,
            argument.as_ptr(),
            size_of_val(&argument),
        )
    };
    if descriptor >= 0 {
        // SAFETY: ours, just made.
        unsafe { libc::close(descriptor as libc::c_int) };
    }
    descriptor >= 0
}

fn tracefs_mounts() -> usize {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    mounts
        .lines()
        .filter(|line| line.split(' ').nth(2) == Some("tracefs"))
        .count()
}

#[test]
fn a_killed_recorder_leaves_nothing_behind() {
    if !root() {
        return;
    }
    let mounts = tracefs_mounts();
    let mut victim = Command::new(std::env::current_exe().expect("this program"))
        .args(["ends::records_until_killed", "--exact", "--nocapture"])
        .env(VICTIM, "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program starts");
    let process = victim.id();
    let descriptors = || {
        let links = std::fs::read_dir(format!("/proc/{process}/fd")).ok()?;
        Some(
            links
                .flatten()
                .filter_map(|link| std::fs::read_link(link.path()).ok())
                .filter(|target| target.to_string_lossy().contains("perf_event"))
                .count(),
        )
    };
    let until = Instant::now() + Duration::from_secs(30);
    while descriptors().unwrap_or(0) < 10 {
        assert!(Instant::now() < until, "the recorder did not start");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(200));
    let programs = programs_of(process);
    victim.kill().expect("our own child");
    victim.wait().expect("our own child");
    // The kernel frees programs a moment after their last descriptor.
    let until = Instant::now() + Duration::from_secs(20);
    while programs.iter().any(|program| exists(*program)) {
        assert!(
            Instant::now() < until,
            "programs {programs:?} are still there"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(
        descriptors(),
        None,
        "a process that is gone holds no tracepoint"
    );
    assert_eq!(tracefs_mounts(), mounts);
}

/// The recorder notices the end later, by up to a tick of 100 ms: until then it may not forget what
/// the window needs.
#[test]
fn the_last_part_is_as_long_as_was_asked() {
    if !root() {
        return;
    }
    let mut busy = Command::new("sh")
        .args(["-c", "timeout 20 yes | cat >/dev/null"])
        .process_group(0)
        .spawn()
        .unwrap();
    let group = rustix::process::Pid::from_child(&busy);
    let lengths: Vec<u64> = (0..5)
        .map(|_| {
            let recording = Recording::start(&Options {
                last: Some(Duration::from_millis(150)),
                ..Options::default()
            });
            std::thread::sleep(Duration::from_millis(400));
            let trace = recording.unwrap().stop().unwrap().into_trace().unwrap();
            let (start, end) = trace.window();
            end - start
        })
        .collect();
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
    busy.wait().unwrap();
    assert_eq!(lengths, [150_000_000; 5]);
}
