//! A look at the clock on each core of a trial, every two milliseconds: one that comes late shows
//! that nobody ran there meanwhile.
//!
//! The kernel counts stolen time in ticks of 10 ms, which in a trial of 100 ms are nothing or a
//! tenth of it. The looker comes before the trial's own threads (they have the lowest real-time
//! priority). What the kernel does for packets keeps it waiting all the same, and that is the
//! device at work: so the time that it waited ready to run, which the kernel counts, is taken off.
//! What remains is the time in which the core took no interrupt, not even that of the clock.
//!
//! A look takes some microseconds, on a virtual machine up to 15. The trial's threads wait for it as
//! they would for somebody else, so the lookers say how long they ran.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;
use std::time::Duration;

use host::favour::{Rank, rank};
use host::noise::{ran_ns, waited_ns};
use host::process::this_thread;
use host::{CoreId, Pinned};

/// From one look to the next.
const EVERY: Duration = Duration::from_millis(2);
/// A look this much late is no accident of waking up, ns.
const LATE_NS: u64 = 300_000;
/// Before the threads of a trial, which have 1.
const PRIORITY: u32 = 2;

/// What the lookers of one core or several add up to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Gaps {
    /// How late all late looks were together, ns.
    pub(crate) away_ns: u64,
    /// The latest, ns.
    pub(crate) longest_ns: u64,
    /// How long the looker itself ran.
    pub(crate) ran: Duration,
}

impl Gaps {
    /// Takes a look that was to be at `due_ns` and was at `now_ns`, of which the looker was ready
    /// to run for `ready_ns`.
    pub(crate) fn look(&mut self, due_ns: u64, now_ns: u64, ready_ns: u64) {
        let late = now_ns.saturating_sub(due_ns).saturating_sub(ready_ns);
        if late >= LATE_NS {
            self.away_ns += late;
            self.longest_ns = self.longest_ns.max(late);
        }
    }

    /// The worse of two cores; the lookers of both ran for so long, or longer.
    fn worse(self, other: Self) -> Self {
        let worse = if other.away_ns > self.away_ns {
            other
        } else {
            self
        };
        let ran = self.ran.min(other.ran);
        Self { ran, ..worse }
    }
}

/// Lookers on some cores, until it is ended or dropped.
#[derive(Debug)]
pub(crate) struct Lookers {
    end: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Gaps>>,
}

impl Lookers {
    /// Looks on `cores`, each from the return of this call on; where the priority is refused,
    /// nobody looks.
    pub(crate) fn on(cores: &[CoreId]) -> Self {
        let end = Arc::new(AtomicBool::new(false));
        let ready = Arc::new(Barrier::new(cores.len() + 1));
        let look = |&core: &CoreId| {
            let (end, ready) = (Arc::clone(&end), Arc::clone(&ready));
            std::thread::spawn(move || {
                let pinned = Pinned::to(core);
                let urgent = rank(0, Rank::First(PRIORITY));
                ready.wait();
                if pinned.is_err() || urgent.is_err() {
                    return Gaps::default();
                }
                watch(&end)
            })
        };
        let threads = cores.iter().map(look).collect();
        ready.wait();
        Self { end, threads }
    }

    /// What the worst core was away.
    pub(crate) fn end(mut self) -> Gaps {
        self.end.store(true, Ordering::Relaxed);
        let found = self.threads.drain(..).map(JoinHandle::join);
        let found = found.map(Result::unwrap_or_default);
        found.reduce(Gaps::worse).unwrap_or_default()
    }
}

impl Drop for Lookers {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
    }
}

fn watch(end: &AtomicBool) -> Gaps {
    let mut gaps = Gaps::default();
    let own = this_thread();
    let (mut waited, ran) = (waited_ns(own), ran_ns(own));
    while !end.load(Ordering::Relaxed) {
        let due = host::clock::now_ns() + EVERY.as_nanos() as u64;
        std::thread::sleep(EVERY);
        let now = host::clock::now_ns();
        if now > due + LATE_NS {
            let ready = waited_ns(own);
            gaps.look(due, now, ready.saturating_sub(waited));
            waited = ready;
        }
    }
    gaps.ran = Duration::from_nanos(ran_ns(own).saturating_sub(ran));
    gaps
}

#[cfg(test)]
#[path = "../tests/unit/gaps.rs"]
mod tests;
