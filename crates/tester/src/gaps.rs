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

use std::time::Duration;

use host::lookers::{Look, Lookers};
use host::noise::{ran_ns, waited_ns};
use host::process::this_thread;

/// A look this much late is no accident of waking up, ns.
const LATE_NS: u64 = 300_000;

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

/// What the worst core was away; nothing where nobody looked.
pub(crate) fn end(lookers: Lookers<Looker>) -> Gaps {
    let found = lookers.end().into_iter();
    let found = found.map(|core| core.map_or_else(Gaps::default, |looker| looker.gaps));
    found.reduce(Gaps::worse).unwrap_or_default()
}

/// Looks at the clock of one core.
#[derive(Debug)]
pub(crate) struct Looker {
    thread: u32,
    /// How long it had waited for the core when it was late last, ns.
    waited: u64,
    /// How long it had run at its first look.
    ran: u64,
    gaps: Gaps,
}

impl Default for Looker {
    /// Of the calling thread.
    fn default() -> Self {
        let thread = this_thread();
        Self {
            thread,
            waited: waited_ns(thread),
            ran: ran_ns(thread),
            gaps: Gaps::default(),
        }
    }
}

impl Look for Looker {
    fn look(&mut self, due_ns: u64, now_ns: u64) {
        if now_ns > due_ns + LATE_NS {
            let ready = waited_ns(self.thread);
            self.gaps
                .look(due_ns, now_ns, ready.saturating_sub(self.waited));
            self.waited = ready;
        }
    }

    fn end(&mut self) {
        self.gaps.ran = Duration::from_nanos(ran_ns(self.thread).saturating_sub(self.ran));
    }
}

#[cfg(test)]
#[path = "../tests/unit/gaps.rs"]
mod tests;
