//! A periodic loop with a deadline, and what made its worst wake-up late.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use figures::quantile;
use host::clock::now_ns;
use host::cores::CoreId;
use host::loops;
use host::observe::{Interrupts, TICK, Times};
use host::pin::Pinned;

use super::realtime;

/// A loop.
#[derive(Debug, Clone, Copy)]
pub struct Periodic {
    /// Where it runs.
    pub core: CoreId,
    /// From one wake-up to the next; also the deadline.
    pub period: Duration,
    /// Work in each period: steps of [`loops::spin`].
    pub steps: u64,
    /// For how long.
    pub time: Duration,
    /// Whether to ask for real-time priority.
    pub priority: bool,
}

/// What it saw.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// Periods run.
    pub periods: usize,
    /// Periods whose work was not done when the next one began.
    pub missed: usize,
    /// Wake-ups after their time, microseconds: median, 99.9 %, worst.
    pub late: [f64; 3],
    /// What happened around the worst wake-up.
    pub worst_cause: String,
    /// Why there was no real-time priority, if it was refused.
    pub refused: Option<String>,
}

/// Steps of [`loops::spin`] that take `time` on `core`.
pub fn steps(core: CoreId, time: Duration) -> u64 {
    const SAMPLE: u64 = 200_000;
    let _pin = Pinned::to(core);
    let fastest = fastest_of_five(|| {
        loops::spin(SAMPLE, 1);
    });
    (SAMPLE as f64 * time.as_secs_f64() / fastest) as u64
}

/// Seconds of the fastest of five runs: the one that was least disturbed.
pub fn fastest_of_five(mut run: impl FnMut()) -> f64 {
    let mut seconds = || {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    (0..5).map(|_| seconds()).fold(f64::INFINITY, f64::min)
}

/// Periods between two looks at what the kernel counts: a look takes a tenth of a millisecond.
const WINDOW: usize = 50;

/// Runs the loop on a thread of its own.
pub fn run(periodic: Periodic, interrupted: fn() -> bool) -> Seen {
    thread::scope(|scope| scope.spawn(|| body(periodic, interrupted)).join()).unwrap_or_else(|_| {
        Seen {
            late: [f64::NAN; 3],
            refused: Some("the loop's thread ended early".to_owned()),
            ..Seen::default()
        }
    })
}

fn body(periodic: Periodic, interrupted: fn() -> bool) -> Seen {
    let (_guards, refused) = realtime::placed(periodic.core, periodic.priority);
    realtime::exact_timers();
    let period = periodic.period.as_nanos() as u64;
    let count = (periodic.time.as_nanos() as u64 / period) as usize;
    let mut late = Vec::with_capacity(count);
    let mut missed = 0;
    let mut worst = Worst::start(periodic.core, periodic.priority && refused.is_none());
    let mut due = now_ns() + period;
    for turn in 0..count {
        if turn % WINDOW == 0 {
            worst.look();
            // The look itself may have taken longer than a period; it is not the loop that is late
            // then.
            due = due.max(now_ns() + period / 4);
            if interrupted() {
                break;
            }
        }
        realtime::sleep_until(due);
        let woken = now_ns() - due;
        late.push(woken as f64 / 1e3);
        black_box(loops::spin(periodic.steps, turn as u64));
        let done = now_ns() - due;
        worst.note(woken.max(done.saturating_sub(period)));
        due += period;
        if done > period {
            missed += 1;
            due += (done - period).div_ceil(period) * period;
        }
    }
    worst.look();
    Seen {
        periods: late.len(),
        missed,
        late: [0.5, 0.999, 1.0].map(|share| quantile(&late, share)),
        worst_cause: worst.cause,
        refused,
    }
}

/// What the kernel has counted for this thread and its core.
struct Counted {
    switches: i64,
    cpu: f64,
    times: Times,
    interrupts: Interrupts,
}

impl Counted {
    fn now(core: CoreId) -> Self {
        Self {
            switches: realtime::forced_switches(),
            cpu: realtime::cpu_seconds(),
            times: Times::now(&[core]),
            interrupts: Interrupts::now(&[core]),
        }
    }
}

/// Follows the worst event and what the kernel counted in its window.
struct Worst {
    core: CoreId,
    first: bool,
    most: u64,
    in_window: bool,
    before: Counted,
    usual: u64,
    cause: String,
}

impl Worst {
    fn start(core: CoreId, first: bool) -> Self {
        Self {
            core,
            first,
            most: 0,
            in_window: false,
            before: Counted::now(core),
            usual: 0,
            cause: String::new(),
        }
    }

    fn note(&mut self, nanoseconds: u64) {
        if nanoseconds > self.most {
            self.most = nanoseconds;
            self.in_window = true;
        }
    }

    /// Ends a window: if it holds the worst event so far, says what happened in it.
    fn look(&mut self) {
        let now = Counted::now(self.core);
        let grown = self.before.interrupts.until(&now.interrupts);
        let sum = grown.iter().map(|g| g.1).sum();
        if self.in_window {
            let passed = self.before.times.until(&now.times);
            let own = now.cpu - self.before.cpu;
            // A thread that goes first does not wait for those that use the core in its pauses.
            let others = if self.first { 0.0 } else { passed.busy - own };
            let switches = now.switches - self.before.switches;
            self.cause = cause(switches, passed.steal, others, &grown, self.usual);
        }
        self.usual = if self.usual == 0 {
            sum
        } else {
            (7 * self.usual + sum) / 8
        };
        (self.before, self.in_window) = (now, false);
    }
}

/// What a window of fifty periods shows, the surest evidence first.
fn cause(
    switches: i64,
    steal: f64,
    others: f64,
    interrupts: &[(String, u64)],
    usual: u64,
) -> String {
    let sum: u64 = interrupts.iter().map(|i| i.1).sum();
    if steal >= TICK {
        format!(
            "the hypervisor took {:.0} ms of the core around it",
            steal * 1e3
        )
    } else if switches > 0 {
        format!(
            "another task took the core {switches} time{}",
            if switches == 1 { "" } else { "s" }
        )
    } else if others >= 2.0 * TICK {
        format!(
            "other tasks used the core for {:.0} ms around it, and this one had to wait its turn",
            others * 1e3
        )
    } else if usual > 0 && sum > 2 * usual {
        let (name, count) = interrupts
            .first()
            .map_or(("interrupts", sum), |(n, c)| (n.as_str(), *c));
        format!(
            "{count} times {name} around it, where all kinds together usually come {usual} times"
        )
    } else {
        "nothing that the kernel counts: the hypervisor, firmware, or an idle core waking up"
            .to_owned()
    }
}

#[cfg(test)]
#[path = "../../tests/unit/periodic.rs"]
mod tests;
