//! What a move to another core costs: the call, the data left behind in the old core's caches, a
//! line sent back and forth.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use figures::median;
use host::cores::CoreId;
use host::loops;
use host::pin::Pinned;

use super::bench::{Bench, Unable};
use super::findings::Findings;
use super::{Kind, Workload};
use crate::result::show::seconds;

/// The workload.
pub const WORKLOAD: Workload = Workload {
    name: "migration",
    sentence: "Reads a working set again and again, staying on a core or moving to another each \
               time, and sends a cache line back and forth.",
    then: "no figures: after a move the data has to come from memory, so moves are to be avoided; \
           pinning two threads made the simulation faster",
    kind: Kind::Experiment { run, planned },
};

/// Time of a working set.
const TIME: Duration = Duration::from_millis(300);

/// Three working sets; the moves and the line's journeys take less than one more.
fn planned(bench: &Bench) -> Duration {
    4 * bench.time(TIME)
}

fn run(bench: &Bench) -> Result<Findings, Unable> {
    let (a, b) = bench.two()?;
    let mut findings = Findings::of(&["staying", "moving", "more"]);
    let only = |time| [String::new(), seconds(time), String::new()];
    let call = call(a, b, if bench.quick { 200 } else { 600 });
    findings.line(
        "the call, until the thread runs on the other core",
        "",
        only(call),
    );
    let mut worst: f64 = 0.0;
    for (label, bytes) in [
        ("first-level cache", 16 * 1024),
        ("half of the second-level cache", bench.caches.second / 2),
        ("a quarter of the last-level cache", bench.caches.last / 4),
    ] {
        bench.go_on()?;
        let (stay, moved) = refill(a, b, bytes, bench.time(TIME));
        worst = worst.max(moved - stay);
        findings.line(
            format!("refilling {} ({label})", report::units::Bytes(bytes as u64)),
            "",
            [stay, moved, moved - stay].map(seconds),
        );
    }
    for (index, &one) in bench.cores.iter().take(4).enumerate() {
        for &other in bench.cores.iter().take(4).skip(index + 1) {
            findings.line(
                format!("a cache line from core {one} to core {other} and back"),
                "",
                only(round_trip(one, other)),
            );
        }
    }
    findings.sentence = format!(
        "A move costs {} and up to {} more for what was in the caches.",
        seconds(call),
        seconds(worst)
    );
    Ok(findings)
}

/// Median seconds of moving this thread from one core to the other.
fn call(a: CoreId, b: CoreId, times: usize) -> f64 {
    let seconds: Vec<f64> = (0..times)
        .filter_map(|turn| {
            let start = Instant::now();
            let pin = Pinned::to(if turn % 2 == 0 { a } else { b });
            let took = start.elapsed().as_secs_f64();
            pin.is_ok().then_some(took)
        })
        .collect();
    median(&seconds[seconds.len().min(2)..])
}

/// Median seconds of reading `bytes` when they were read on the same core before, and when they
/// were read on the other.
fn refill(a: CoreId, b: CoreId, bytes: usize, time: Duration) -> (f64, f64) {
    let mut words = loops::buffer(bytes);
    let (mut stay, mut moved) = (Vec::new(), Vec::new());
    let timed = |words: &[u64]| {
        let start = Instant::now();
        black_box(loops::read(words));
        start.elapsed().as_secs_f64()
    };
    let start = Instant::now();
    let mut at_home = true;
    while start.elapsed() < time || stay.len() < 5 {
        let home = Pinned::to(if at_home { a } else { b });
        loops::fill(&mut words, 1); // changed lines are in this core's caches only
        timed(&words);
        stay.push(timed(&words));
        drop(home);
        let away = Pinned::to(if at_home { b } else { a });
        moved.push(timed(&words));
        drop(away);
        at_home = !at_home;
    }
    (median(&stay), median(&moved))
}

/// Seconds for a line to travel to the other core and back.
fn round_trip(a: CoreId, b: CoreId) -> f64 {
    const TRIPS: u64 = 4_000;
    let line = AtomicU64::new(0);
    let wait = |value: u64| {
        let mut turns = 0_u32;
        while line.load(Ordering::Acquire) != value {
            turns += 1;
            if turns > 100_000 {
                thread::yield_now(); // somebody else has the other core
            } else {
                std::hint::spin_loop();
            }
        }
    };
    let best: Vec<f64> = (0..5)
        .map(|_| {
            line.store(0, Ordering::Release);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let _pin = Pinned::to(b);
                    for trip in 0..TRIPS {
                        wait(2 * trip + 1);
                        line.store(2 * trip + 2, Ordering::Release);
                    }
                });
                let _pin = Pinned::to(a);
                line.store(1, Ordering::Release);
                wait(2);
                let start = Instant::now();
                for trip in 1..TRIPS {
                    line.store(2 * trip + 1, Ordering::Release);
                    wait(2 * trip + 2);
                }
                start.elapsed().as_secs_f64() / (TRIPS - 1) as f64
            })
        })
        .collect();
    median(&best)
}

#[cfg(test)]
#[path = "../../tests/unit/migration.rs"]
mod tests;
