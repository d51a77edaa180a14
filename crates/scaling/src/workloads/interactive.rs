//! A program that somebody looks at: how late it answers while others compute, on one core and on
//! all.

use std::hint::black_box;
use std::thread;
use std::time::Duration;

use figures::quantile;
use host::clock::now_ns;
use host::cores::{CoreId, bind};
use host::loops;

use super::bench::{Bench, Unable};
use super::findings::Findings;
use super::other_load::{Duty, OtherLoad, compute, log};
use super::periodic::steps;
use super::{Kind, Workload, realtime};

/// The workload.
pub const WORKLOAD: Workload = Workload {
    name: "interactive",
    sentence: "Draws a screen 60 times a second at normal priority, 3 ms of work each. Beside it \
               compute no program, one, and more than there are cores; on one core and on all.",
    then: "no figures: with one processor the machine \"becomes unresponsive\" while it prints, \
           with two it \"runs very smoothly\". A display server may have a processor of its own",
    kind: Kind::Experiment { run, planned },
};

/// From one screen to the next.
const PERIOD: Duration = Duration::from_nanos(16_666_667);
/// Work for a screen.
const WORK: Duration = Duration::from_millis(3);
/// Time of a setting.
const TIME: Duration = Duration::from_secs(3);

fn planned(bench: &Bench) -> Duration {
    6 * bench.time(TIME)
}

fn run(bench: &Bench) -> Result<Findings, Unable> {
    bench.two()?;
    let steps = steps(bench.last(), WORK);
    let mut findings = Findings::of(&["missed", "drawn after, median", "90 %", "worst"]);
    let crowd: Vec<Duty> = bench.cores.iter().map(|_| compute as Duty).collect();
    let loads = [
        ("nothing", vec![]),
        ("one that computes", vec![compute as Duty]),
        (
            "one for each core that computes, one that writes a file",
            [crowd, vec![log as Duty]].concat(),
        ),
    ];
    let mut words = Vec::new();
    for (place, cores) in [
        ("one core".to_owned(), &[bench.last()][..]),
        (format!("{} cores", bench.cores.len()), &bench.cores[..]),
    ] {
        let mut medians = Vec::new();
        for (beside, duties) in &loads {
            let load = OtherLoad::anywhere(duties, cores);
            let seen = screens(cores, steps, bench.time(TIME), bench.interrupted);
            drop(load);
            bench.go_on()?;
            let at = |share| format!("{:.1} ms", quantile(&seen.after, share));
            medians.push(at(0.5));
            findings.line(
                format!("{place}, beside {beside}"),
                "",
                [
                    format!("{} of {}", seen.missed, seen.after.len()),
                    at(0.5),
                    at(0.9),
                    at(1.0),
                ],
            );
        }
        words.push(format!("on {place} {}", medians.join(", ")));
    }
    findings.sentence = format!(
        "A screen is drawn so long after it was due, beside nothing, one that computes, and more of \
         them than cores: {}.",
        words.join("; ")
    );
    Ok(findings)
}

/// What the one who looks sees.
#[derive(Debug, Default)]
struct Seen {
    /// Milliseconds from when a screen was due until it was drawn.
    after: Vec<f64>,
    /// Screens that were not drawn when the next was due.
    missed: usize,
}

/// Draws screens for `time` on a thread that may use `cores`.
fn screens(cores: &[CoreId], steps: u64, time: Duration, interrupted: fn() -> bool) -> Seen {
    let body = || {
        // A core that may not be used is not used; the caller takes allowed ones.
        let _ = bind(0, cores);
        realtime::exact_timers();
        let (period, start) = (PERIOD.as_nanos() as u64, now_ns());
        let (mut due, end) = (start + period, start + time.as_nanos() as u64);
        let mut seen = Seen::default();
        while due < end && !interrupted() {
            realtime::sleep_until(due);
            black_box(loops::spin(steps, due));
            let after = now_ns().saturating_sub(due);
            seen.after.push(after as f64 / 1e6);
            seen.missed += usize::from(after > period);
            // A screen that could not be drawn is left out.
            due += period * (1 + after / period);
        }
        seen
    };
    thread::scope(|scope| scope.spawn(body).join()).unwrap_or_default()
}

#[cfg(test)]
#[path = "../../tests/unit/interactive.rs"]
mod tests;
