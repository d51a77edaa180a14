//! Recordings of this machine. Root only: elsewhere each test says that it is skipped.

use std::time::Duration;

use tracer::analyse::Analysis;
use tracer::event::Kind;
use tracer::record::{self, Options, RecordError, Recording, Target};
use tracer::verdict::verdict;

use crate::live_help::{command, root, run};

#[test]
fn a_command_is_seen_from_its_start_to_its_end() {
    if !root() {
        return;
    }
    let trace = run(&command(&["sh", "-c", "sleep 0.05; exit 3"]));
    assert!(trace.complaints.is_empty(), "{:?}", trace.complaints);
    assert!(trace.trailer.exit.contains('3'), "{}", trace.trailer.exit);
    let names: Vec<_> = trace
        .tasks
        .iter()
        .map(|change| format!("{:?}", change.what))
        .collect();
    assert!(
        names.iter().any(|name| name.contains("sleep")),
        "no thread named sleep"
    );
    assert!(
        trace
            .events
            .iter()
            .any(|event| matches!(event.kind, Kind::Switch { .. }))
    );
    let (start, end) = trace.window();
    assert!(
        end - start >= 50_000_000,
        "the window is {} ns",
        end - start
    );
}

#[test]
fn the_threads_of_one_core_follow_each_other_without_gaps() {
    if !root() {
        return;
    }
    let nap = || std::thread::sleep(Duration::from_millis(300));
    let ((), trace) = record::record_while(&Options::default(), nap).expect("root may record");
    if trace.events_lost() > 0 {
        needs::skipped!("this busy machine lost {} events", trace.events_lost());
        return;
    }
    // Some kernels keep perf silent for a few threads (seen on 6.18: the idle threads of some
    // cores, threads of init); their switches are not in doubt.
    let heard: std::collections::HashSet<_> = trace.events.iter().map(|event| event.tid).collect();
    let mut followed = 0;
    for cpu in &trace.header.cores {
        let mut runs = None;
        for event in trace.events.iter().filter(|event| event.cpu == *cpu) {
            if let Kind::Switch { next, .. } = event.kind {
                if let Some(runs) = runs.filter(|runs| *runs != 0 && heard.contains(runs)) {
                    assert_eq!(event.tid, runs, "on core {cpu} at {}", event.time);
                    followed += 1;
                }
                runs = Some(next);
            }
        }
    }
    assert!(
        followed > 10,
        "only {followed} switches in 0.3 s of a whole machine"
    );
}

#[test]
fn absent_targets_are_errors() {
    if !root() {
        return;
    }
    let error = Recording::start(&command(&["/no/such/program"])).expect_err("no such program");
    assert!(matches!(error, RecordError::Command { .. }), "{error}");
    let options = Options {
        target: Target::Process(u32::MAX / 2),
        ..Options::default()
    };
    assert!(matches!(
        Recording::start(&options),
        Err(RecordError::NoProcess(_))
    ));
}

#[test]
fn a_tiny_ring_tells_its_losses() {
    if !root() {
        return;
    }
    // Before all ordinary threads, so the recorder cannot empty the rings meanwhile.
    let script = "for i in 1 2 3 4 5 6 7 8; do (i=0; while [ $i -lt 100 ]; do /bin/true; \
                  i=$((i+1)); done) & done; wait";
    let trace = run(&Options {
        ring_bytes: 4096,
        ..command(&["chrt", "--fifo", "10", "sh", "-c", script])
    });
    let told: u64 = trace
        .events
        .iter()
        .map(|event| {
            if let Kind::Lost(count) = event.kind {
                u64::from(count)
            } else {
                0
            }
        })
        .sum();
    assert!(
        trace.events_lost() > 0,
        "a ring of one page holds {} events?",
        trace.events.len()
    );
    assert_eq!(
        told,
        trace.events_lost(),
        "the stream and the count disagree"
    );
    let said = verdict(&trace, &Analysis::new(&trace)).sentences.join(" ");
    assert!(
        said.contains("were lost") && said.contains("--ring"),
        "{said}"
    );
}
