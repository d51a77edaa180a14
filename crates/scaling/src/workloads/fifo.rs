//! First-in-first-out priority as a lock: on one core two threads of the same priority never
//! overlap, on two cores they do.

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
    sentence: "Lets two threads of the same first-in-first-out priority enter a section without a \
               lock, on one core and on two, and counts how often both are inside.",
    then: "on several processors FIFO is \"your worst enemy; it will simply not work\": two \
           programs of the same priority stand a very high chance of running at the same time",
    kind: Kind::Experiment { run, planned },
};

/// Time of a setting.
const TIME: Duration = Duration::from_millis(300);

fn planned(bench: &Bench) -> Duration {
    2 * bench.time(TIME)
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
    let mut overlaps = [0, 0];
    let settings = [
        (
            "both on one core",
            [first, first],
            "none, by the rules of the scheduler",
        ),
        ("a core each", [first, second], "certain"),
    ];
    for (place, (name, cores, then)) in settings.into_iter().enumerate() {
        let seen = measure(cores, time);
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
    findings.sentence = format!(
        "Two threads of one FIFO priority overlapped {} times on one core and {} times on two: \
         priority is no lock.",
        overlaps[0], overlaps[1]
    );
    Ok(findings)
}

fn measure(cores: [CoreId; 2], time: Duration) -> Seen {
    let (inside, together) = (AtomicU32::new(0), Barrier::new(2));
    thread::scope(|scope| {
        let threads = cores.map(|core| {
            let (inside, together) = (&inside, &together);
            scope.spawn(move || {
                let _pin = Pinned::to(core);
                together.wait();
                let priority = RealTime::first_in_first_out(realtime::PRIORITY);
                let mut seen = Seen {
                    refused: priority.as_ref().err().map(ToString::to_string),
                    ..Seen::default()
                };
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
