//! First-in-first-out priority as a lock: on one core two threads of the same priority never
//! overlap, on two cores they do. So do a thread of the lowest and one of the highest priority.

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use host::RealTime;
use host::cores::CoreId;
use host::loops;
use host::pin::Pinned;

use super::bench::{Bench, Unable};
use super::findings::Findings;
use super::{Kind, Workload, realtime};

/// The workload.
pub const WORKLOAD: Workload = Workload {
    name: "fifo",
    sentence: "Lets two threads of the same first-in-first-out priority, then of priorities 1 and \
               63, enter a section without a lock. Counts how often both are inside, on one core \
               and on two.",
    then: "on several processors FIFO is \"your worst enemy; it will simply not work\". Two \
           programs of the same priority stand a very high chance of running at the same time. \
           So can a thread of priority 1 and one of priority 63",
    kind: Kind::Experiment { run, planned },
};

/// Time of a thread in a setting.
const TIME: Duration = Duration::from_millis(300);
/// The lowest priority there is.
const LOWEST: u32 = 1;

/// On one core a thread of the lowest priority has its time after that of the highest.
fn planned(bench: &Bench) -> Duration {
    5 * bench.time(TIME)
}

#[derive(Debug, Clone, Default)]
struct Seen {
    entries: u64,
    overlaps: u64,
    refused: Option<String>,
}

fn run(bench: &Bench) -> Result<Findings, Unable> {
    let (first, second) = bench.two()?;
    let time = bench.time(TIME);
    let mut findings = Findings::of(&["overlaps", "entries", "share"]);
    let mut overlaps = [0; 4];
    let same = [realtime::PRIORITY; 2];
    let apart = [LOWEST, realtime::PRIORITY];
    let never = "none, by the rules of the scheduler";
    let settings = [
        (
            "one priority, both on one core",
            [first, first],
            same,
            never,
        ),
        (
            "one priority, a core each",
            [first, second],
            same,
            "certain",
        ),
        (
            "priorities 1 and 63, both on one core",
            [first, first],
            apart,
            never,
        ),
        (
            "priorities 1 and 63, a core each",
            [first, second],
            apart,
            "possible",
        ),
    ];
    for (place, (name, cores, priorities, then)) in settings.into_iter().enumerate() {
        let seen = measure(cores, priorities, time);
        bench.go_on()?;
        overlaps[place] = seen.overlaps;
        findings.line(
            name,
            then,
            [
                seen.overlaps.to_string(),
                seen.entries.to_string(),
                format!(
                    "{:.2} %",
                    seen.overlaps as f64 / seen.entries.max(1) as f64 * 100.0
                ),
            ],
        );
        if let Some(refused) = seen.refused {
            findings.note(refused);
        }
    }
    let [one, two, one_apart, two_apart] = overlaps;
    findings.sentence = format!(
        "Two threads of one FIFO priority overlapped {one} times on one core and {two} times on \
         two. Those of priorities 1 and 63 did so {one_apart} and {two_apart} times: priority is no \
         lock."
    );
    Ok(findings)
}

/// Runs a thread on each of `cores`, with the priority of the same place.
fn measure(cores: [CoreId; 2], priorities: [u32; 2], time: Duration) -> Seen {
    let (inside, together) = (AtomicU32::new(0), Barrier::new(2));
    thread::scope(|scope| {
        let threads = [(cores[0], priorities[0]), (cores[1], priorities[1])];
        let threads = threads.map(|(core, priority)| {
            let (inside, together) = (&inside, &together);
            scope.spawn(move || {
                let _pin = Pinned::to(core);
                let rank = RealTime::first_in_first_out(priority);
                let mut seen = Seen {
                    refused: rank.as_ref().err().map(ToString::to_string),
                    ..Seen::default()
                };
                // Both have their priorities before one of them enters.
                together.wait();
                let start = Instant::now();
                while start.elapsed() < time {
                    seen.overlaps += u64::from(inside.fetch_add(1, Ordering::AcqRel) > 0);
                    black_box(loops::spin(1_000, 1));
                    inside.fetch_sub(1, Ordering::AcqRel);
                    seen.entries += 1;
                    thread::yield_now(); // outside the section a thread may let the other one run
                }
                seen
            })
        });
        let mut sum = Seen::default();
        for thread in threads {
            let seen = thread.join().unwrap_or_default();
            sum.entries += seen.entries;
            sum.overlaps += seen.overlaps;
            sum.refused = sum.refused.or(seen.refused);
        }
        sum
    })
}

#[cfg(test)]
#[path = "../../tests/unit/fifo.rs"]
mod tests;
