//! The simulation of the robot, split in two threads: one processor is too slow for it, two are
//! not. Where the threads run, and who uses their cores while they wait.
//!
//! Each part of a step computes in registers for one half of its time and reads a table of its own
//! for the other. One thread begins each step when it is due; both do their parts; the step is done
//! when the last is.

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use figures::quantile;
use host::RealTime;
use host::clock::now_ns;
use host::cores::CoreId;
use host::loops;
use host::pin::Pinned;

use super::bench::{Bench, Unable};
use super::findings::Findings;
use super::other_load::{Duty, OtherLoad, log, memory, network};
use super::periodic::{fastest_of_five, steps};
use super::{Kind, Workload, realtime};

/// The workload.
pub const WORKLOAD: Workload = Workload {
    name: "simulation",
    sentence: "Computes a step every millisecond, in registers and memory, whose parts are done \
               by one thread or by two. They are pinned, free, beside load, and with the load kept \
               off their cores.",
    then: "one processor was too slow. Split in two threads it ran in time, \"a very close call\"; \
           pinned it performed better. Others' cache misses were measured, an exclusive mode was \
           missing",
    kind: Kind::Experiment { run, planned },
};

/// From one step to the next.
const PERIOD: Duration = Duration::from_millis(1);
/// Time of each part of a step when nothing disturbs it: two are more than a period.
const PART: Duration = Duration::from_micros(600);
/// Time of a setting.
const TIME: Duration = Duration::from_millis(2400);

fn planned(bench: &Bench) -> Duration {
    7 * bench.time(TIME)
}

/// One part of a step.
#[derive(Clone)]
struct Part {
    steps: u64,
    table: Vec<u64>,
    reads: u64,
}

impl Part {
    /// A part that takes [`PART`] on `core`, with a table of `bytes`.
    fn new(core: CoreId, bytes: usize) -> Self {
        let _pin = Pinned::to(core);
        let table = loops::buffer(bytes);
        let once = fastest_of_five(|| {
            black_box(loops::read(black_box(&table)));
        });
        Self {
            steps: steps(core, PART / 2),
            reads: ((PART / 2).as_secs_f64() / once).round().max(1.0) as u64,
            table,
        }
    }

    fn work(&self, turn: u64) {
        black_box(loops::spin(self.steps, turn));
        for _ in 0..self.reads {
            black_box(loops::read(black_box(&self.table)));
        }
    }
}

/// One way to run it.
struct Setting<'a> {
    name: &'a str,
    then: &'a str,
    /// For each thread its core, or none when the scheduler chooses.
    threads: &'a [Option<CoreId>],
    /// Parts of a step, dealt out to the threads.
    parts: usize,
    /// Cores with other load.
    loaded: &'a [CoreId],
}

fn run(bench: &Bench) -> Result<Findings, Unable> {
    let (first, second) = bench.two()?;
    let both = [first, second];
    let apart = [Some(first), Some(second)];
    let setting = |name, then, threads, parts, loaded| Setting {
        name,
        then,
        threads,
        parts,
        loaded,
    };
    let settings = [
        setting("one thread", "too slow", &apart[1..], 2, &[][..]),
        setting("two threads, pinned", "in time", &apart, 2, &[]),
        setting("two threads, free", "worse", &[None, None], 2, &[]),
        setting("pinned, beside load", "in time", &apart, 2, &both),
        setting("free, beside load", "worse", &[None, None], 2, &both),
        setting(
            "half of it, load on its core",
            "cache misses of others",
            &apart[1..],
            1,
            &both[1..],
        ),
        setting(
            "half of it, load kept off its core",
            "wished for",
            &apart[1..],
            1,
            &both[..1],
        ),
    ];
    // Both tables together fit the second-level cache, so what others leave of it matters.
    let part = Part::new(second, bench.caches.second / 4);
    let mut findings = Findings::of(&["missed", "step, median", "step, 99 %", "step, worst"]);
    let mut words = Vec::new();
    for setting in settings {
        let seen = setting.run(&part, bench);
        bench.go_on()?;
        let at = |share| format!("{:.0} µs", quantile(&seen.steps, share));
        let missed = format!("{} of {}", seen.missed, seen.steps.len());
        words.push(format!("{}: {missed}, a step {}", setting.name, at(0.5)));
        findings.line(
            setting.name,
            setting.then,
            [missed, at(0.5), at(0.99), at(1.0)],
        );
        if let Some(refused) = seen.refused {
            findings.note(refused);
        }
    }
    findings.sentence = format!("Steps that missed the millisecond: {}.", words.join("; "));
    findings.note(
        "Load is kept off a core by its own affinity. A core that nobody else may use is a cpuset \
         partition, as `corelane planes --deployments partitioned` makes one.",
    );
    Ok(findings)
}

/// What a setting gave.
#[derive(Debug, Default)]
struct Seen {
    /// Microseconds of each step, from its beginning.
    steps: Vec<f64>,
    /// Steps that were not done when the next was due.
    missed: usize,
    refused: Option<String>,
}

impl Setting<'_> {
    fn run(&self, part: &Part, bench: &Bench) -> Seen {
        let duties = [log as Duty, network, memory];
        let load: Vec<_> = self
            .loaded
            .iter()
            .flat_map(|&core| duties.map(|duty| (duty, core)))
            .collect();
        let _load = OtherLoad::start(&load);
        let each = vec![part.clone(); self.parts / self.threads.len()];
        simulate(self.threads, &each, bench.time(TIME), bench.interrupted)
    }
}

/// Runs steps for `time`, each of which is `parts` on each of the threads.
fn simulate(
    threads: &[Option<CoreId>],
    parts: &[Part],
    time: Duration,
    interrupted: fn() -> bool,
) -> Seen {
    let Some((&first, others)) = threads.split_first() else {
        return Seen::default();
    };
    let meeting = Meeting {
        begin: Barrier::new(threads.len()),
        end: Barrier::new(threads.len()),
        over: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        for &core in others {
            let (meeting, parts) = (&meeting, parts.to_vec());
            scope.spawn(move || {
                let _guards = placed(core);
                meeting.follow(&parts);
            });
        }
        let lead = scope.spawn(|| {
            let (_guards, refused) = placed(first);
            realtime::exact_timers();
            Seen {
                refused,
                ..meeting.lead(parts, time, interrupted)
            }
        });
        lead.join().unwrap_or_default()
    })
}

/// Gives the calling thread its priority, and a core if it is to have one of its own.
fn placed(core: Option<CoreId>) -> ((Option<Pinned>, Option<RealTime>), Option<String>) {
    if let Some(core) = core {
        return realtime::placed(core, true);
    }
    match RealTime::first_in_first_out(realtime::PRIORITY) {
        Ok(rank) => ((None, Some(rank)), None),
        Err(refused) => ((None, None), Some(refused.to_string())),
    }
}

/// Where the threads of a step meet.
struct Meeting {
    begin: Barrier,
    end: Barrier,
    over: AtomicBool,
}

impl Meeting {
    /// Does its parts of every step that another thread begins.
    fn follow(&self, parts: &[Part]) {
        for turn in 0.. {
            self.begin.wait();
            if self.over.load(Ordering::Acquire) {
                return;
            }
            self.step(parts, turn);
        }
    }

    fn step(&self, parts: &[Part], turn: u64) {
        for part in parts {
            part.work(turn);
        }
        self.end.wait();
    }

    /// Begins every step when it is due, until `time` is over.
    fn lead(&self, parts: &[Part], time: Duration, interrupted: fn() -> bool) -> Seen {
        let (period, start) = (PERIOD.as_nanos() as u64, now_ns());
        let (mut due, end) = (start + period, start + time.as_nanos() as u64);
        let mut seen = Seen::default();
        for turn in 0.. {
            if due >= end || interrupted() {
                break;
            }
            realtime::sleep_until(due);
            let begun = now_ns();
            self.begin.wait();
            self.step(parts, turn);
            let done = now_ns();
            seen.steps.push((done - begun) as f64 / 1e3);
            let after = done.saturating_sub(due);
            seen.missed += usize::from(after > period);
            due += period * (1 + after / period);
        }
        self.over.store(true, Ordering::Release);
        self.begin.wait();
        seen
    }
}

#[cfg(test)]
#[path = "../../tests/unit/simulation.rs"]
mod tests;
