//! From an event to the thread that waits for it: a timer's interrupt or another thread's wake-up,
//! on the thread's own core or on another.
//!
//! A timer fires on the core that set it, as long as that one is not idle then: the kernel arms it
//! there (`get_nohz_timer_target` in kernel/time). So a thread on another core sets it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use figures::quantile;
use host::RealTime;
use host::clock::now_ns;
use host::cores::CoreId;
use host::pin::Pinned;
use rustix::event::{EventfdFlags, eventfd};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use super::bench::{Bench, Unable};
use super::findings::Findings;
use super::other_load::{Duty, OtherLoad, compute};
use super::{Kind, Workload, realtime};

/// The workload.
pub const WORKLOAD: Workload = Workload {
    name: "delivery",
    sentence: "Wakes a thread by a timer's interrupt or another thread, on its own core and \
               from another, which idles or computes, and times each wake-up.",
    then: "an interrupt on the first processor whose event goes to a thread on another \"will \
           slightly disturb the realtime behavior of the second CPU\". No figures",
    kind: Kind::Experiment { run, planned },
};

/// From an event to the next: the thread sleeps again by then.
const GAP: u64 = 250_000;
/// Time of a setting.
const TIME: Duration = Duration::from_millis(1200);

fn planned(bench: &Bench) -> Duration {
    8 * bench.time(TIME)
}

/// What wakes the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// The interrupt of a timer.
    Timer,
    /// A system call of another thread.
    Thread,
}

/// What was seen.
#[derive(Debug, Default)]
struct Seen {
    /// Microseconds from the event until the thread ran.
    after: Vec<f64>,
    refused: Option<String>,
}

fn run(bench: &Bench) -> Result<Findings, Unable> {
    let (other, own) = bench.two()?;
    let mut findings = Findings::of(&["wake-ups", "median", "99 %", "worst"]);
    let mut medians = Vec::new();
    for (by, name) in [
        (By::Timer, "a timer's interrupt"),
        (By::Thread, "another thread"),
    ] {
        for (busy, state) in [(false, "idle"), (true, "computing")] {
            for (from, place) in [(own, "on its own core"), (other, "on another core")] {
                let duties = [(compute as Duty, own)];
                let load = busy.then(|| OtherLoad::start(&duties));
                let seen = wake(by, from, own, bench.time(TIME), bench.interrupted)
                    .map_err(Unable::failed("cannot make a timer or an event"))?;
                drop(load);
                bench.go_on()?;
                let at = |share| format!("{:.1} µs", quantile(&seen.after, share));
                findings.line(
                    format!("{name} {place}, its own core {state}"),
                    "",
                    [seen.after.len().to_string(), at(0.5), at(0.99), at(1.0)],
                );
                if let Some(refused) = seen.refused {
                    findings.note(refused);
                }
                medians.push(at(0.5));
            }
        }
    }
    findings.sentence = format!(
        "A timer's interrupt wakes a thread after {} on its own core and {} from another; where \
         that core computes, {} and {}. A thread wakes one after {} and {}, and {} and {}.",
        medians[0],
        medians[1],
        medians[2],
        medians[3],
        medians[4],
        medians[5],
        medians[6],
        medians[7]
    );
    Ok(findings)
}

/// An event between two threads.
struct Event {
    by: By,
    descriptor: OwnedFd,
    /// When it happened or was due, nanoseconds of the monotonic clock; 0 is the end.
    at: AtomicU64,
    /// Wake-ups so far.
    heard: AtomicU64,
}

impl Event {
    fn new(by: By) -> io::Result<Self> {
        let descriptor = match by {
            By::Timer => timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?,
            By::Thread => eventfd(0, EventfdFlags::CLOEXEC)?,
        };
        Ok(Self {
            by,
            descriptor,
            at: AtomicU64::new(0),
            heard: AtomicU64::new(0),
        })
    }

    /// Lets it happen `in_` nanoseconds from now; a thread's wake-up happens after a sleep.
    fn happen(&self, in_: u64) -> io::Result<()> {
        let due = now_ns() + in_;
        match self.by {
            By::Timer => {
                self.at.store(due, Ordering::Release);
                self.set(due)
            }
            By::Thread => {
                realtime::sleep_until(due);
                self.at.store(now_ns(), Ordering::Release);
                self.write()
            }
        }
    }

    /// Wakes the thread for the last time.
    fn end(&self) -> io::Result<()> {
        self.at.store(0, Ordering::Release);
        match self.by {
            By::Timer => self.set(1), // long past
            By::Thread => self.write(),
        }
    }

    fn set(&self, due: u64) -> io::Result<()> {
        let time = |nanoseconds: u64| Timespec {
            tv_sec: (nanoseconds / 1_000_000_000).cast_signed(),
            tv_nsec: (nanoseconds % 1_000_000_000).cast_signed(),
        };
        let once = Itimerspec {
            it_interval: time(0),
            it_value: time(due),
        };
        timerfd_settime(&self.descriptor, TimerfdTimerFlags::ABSTIME, &once)?;
        Ok(())
    }

    fn write(&self) -> io::Result<()> {
        rustix::io::write(&self.descriptor, &1_u64.to_ne_bytes())?;
        Ok(())
    }

    /// Waits for it again and again; microseconds after which each was heard.
    fn hear(&self) -> Vec<f64> {
        let mut after = Vec::new();
        let mut count = [0_u8; 8];
        while rustix::io::read(self.descriptor.as_fd(), &mut count).is_ok() {
            let now = now_ns();
            let at = self.at.load(Ordering::Acquire);
            if at == 0 {
                break;
            }
            after.push(now.saturating_sub(at) as f64 / 1e3);
            self.heard.fetch_add(1, Ordering::AcqRel);
        }
        after
    }

    /// Lets it happen until `time` is over.
    fn repeat(&self, time: Duration, interrupted: fn() -> bool) -> io::Result<()> {
        let start = Instant::now();
        let goes_on = || start.elapsed() < time && !interrupted();
        realtime::sleep_until(now_ns() + GAP); // the other thread waits by then
        while goes_on() {
            let before = self.heard.load(Ordering::Acquire);
            self.happen(GAP)?;
            realtime::sleep_until(now_ns() + GAP);
            while self.heard.load(Ordering::Acquire) == before && goes_on() {
                realtime::sleep_until(now_ns() + GAP);
            }
            realtime::sleep_until(now_ns() + GAP);
        }
        self.end()
    }
}

/// Lets `by` happen on core `from` and a thread on core `to` hear it.
fn wake(
    by: By,
    from: CoreId,
    to: CoreId,
    time: Duration,
    interrupted: fn() -> bool,
) -> io::Result<Seen> {
    let event = Event::new(by)?;
    thread::scope(|scope| {
        let hears = scope.spawn(|| {
            let (_guards, refused) = realtime::placed(to, true);
            let after = event.hear();
            Seen { after, refused }
        });
        let wakes = scope.spawn(|| {
            let _pin = Pinned::to(from);
            // Before the load, after the one that it wakes; without the right to it the other
            // thread says so.
            let _rank = RealTime::first_in_first_out(realtime::PRIORITY - 1);
            realtime::exact_timers();
            let repeated = event.repeat(time, interrupted);
            // Whatever failed, the other thread must not wait for ever.
            repeated.or_else(|error| event.end().and(Err(error)))
        });
        let failed = || io::Error::other("a thread ended early");
        wakes.join().unwrap_or_else(|_| Err(failed()))?;
        hears.join().map_err(|_| failed())
    })
}

#[cfg(test)]
#[path = "../../tests/unit/delivery.rs"]
mod tests;
