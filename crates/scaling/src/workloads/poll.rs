//! Something to be done a hundred thousand times a second: polling a clock on a core of its own, or
//! timers.

use std::thread;
use std::time::Duration;

use figures::quantile;
use host::clock::now_ns;
use host::cores::CoreId;

use super::bench::{Bench, Unable};
use super::findings::Findings;
use super::{Kind, Workload, realtime};

/// The workload.
pub const WORKLOAD: Workload = Workload {
    name: "poll",
    sentence: "Does a job every 10 µs, once by polling the clock on a core of its own and once by \
               timers.",
    then: "no figures: below what the system's timer can do, a heavy burden as interrupts, no \
           problem on one processor of several",
    kind: Kind::Experiment { run, planned },
};

const PERIOD: u64 = 10_000;
/// Time of each way: shorter than the share of a second that the kernel leaves to real-time
/// threads, so it is not throttled.
const TIME: Duration = Duration::from_millis(600);
/// Gives real-time throttling its share back.
const PAUSE: Duration = Duration::from_millis(100);

fn planned(bench: &Bench) -> Duration {
    2 * (bench.time(TIME) + PAUSE)
}

struct Seen {
    late: Vec<f64>,
    missed: u64,
    busy: f64,
    refused: Option<String>,
}

fn run(bench: &Bench) -> Result<Findings, Unable> {
    let time = bench.time(TIME);
    let mut findings = Findings::of(&[
        "missed",
        "late, median",
        "late, 99.9 %",
        "late, worst",
        "of a core",
    ]);
    let mut words = Vec::new();
    for (name, polls) in [("polling", true), ("timers", false)] {
        let core = bench.last();
        let seen = thread::scope(|scope| scope.spawn(|| measure(core, time, polls)).join())
            .map_err(|_| Unable::Failed("the polling thread ended early".into()))?;
        bench.go_on()?;
        let all = seen.late.len() as u64 + seen.missed;
        let at = |share| quantile(&seen.late, share);
        findings.line(
            name,
            "",
            [
                format!("{} of {all}", seen.missed),
                format!("{:.2} µs", at(0.5)),
                format!("{:.2} µs", at(0.999)),
                format!("{:.1} µs", at(1.0)),
                format!("{:.0} %", seen.busy * 100.0),
            ],
        );
        words.push(format!(
            "{name}: {:.2} µs late at the median, {} periods missed, {:.0} % of a core",
            at(0.5),
            seen.missed,
            seen.busy * 100.0
        ));
        if let Some(refused) = seen.refused {
            findings.note(refused);
        }
        thread::sleep(PAUSE);
    }
    findings.sentence = words.join("; ");
    Ok(findings)
}

fn measure(core: CoreId, time: Duration, polls: bool) -> Seen {
    let (_guards, refused) = realtime::placed(core, true);
    realtime::exact_timers();
    let count = time.as_nanos() as u64 / PERIOD;
    let mut late = Vec::with_capacity(count as usize);
    let mut missed = 0;
    let (start, cpu) = (now_ns(), realtime::cpu_seconds());
    let (mut due, end) = (start + PERIOD, start + time.as_nanos() as u64);
    while due < end {
        if polls {
            while now_ns() < due {
                std::hint::spin_loop();
            }
        } else {
            realtime::sleep_until(due);
        }
        let behind = now_ns().saturating_sub(due);
        late.push(behind as f64 / 1e3);
        missed += behind / PERIOD;
        due += PERIOD * (1 + behind / PERIOD);
    }
    let wall = (now_ns() - start) as f64 * 1e-9;
    Seen {
        late,
        missed,
        busy: (realtime::cpu_seconds() - cpu) / wall,
        refused,
    }
}

#[cfg(test)]
#[path = "../../tests/unit/poll.rs"]
mod tests;
