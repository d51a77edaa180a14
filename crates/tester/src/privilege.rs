//! What the threads of a trial are granted over others on their cores while it runs.

use host::Favoured;
use host::favour::Urgent;

use crate::schedule::Schedule;

/// Held while the traffic of a trial runs; what it grants is taken back when it is dropped.
#[derive(Debug)]
pub(crate) struct Privilege {
    /// A short trial: no ordinary thread gets a core of it.
    _urgent: Option<Urgent>,
    /// A long one, or one in which something else is to run on the same cores: ordinary threads get
    /// a hundredth.
    _favoured: Option<Favoured>,
}

impl Privilege {
    /// For the calling thread, which makes the frames, and the kernel's `threads` that take part,
    /// whose favour is permanent.
    pub(crate) fn during(schedule: &Schedule, threads: &[u32], alone: bool) -> Self {
        let longest = Urgent::LONGEST.as_nanos() as u64;
        let brief = longest_ns(schedule) <= longest;
        let urgent = (brief && alone).then(|| Urgent::now(threads));
        Self {
            _favoured: urgent.is_none().then(Favoured::now),
            _urgent: urgent,
        }
    }
}

/// How long the traffic may last, ns. A burst has no timetable: it lasts as long as the slowest of
/// our senders takes.
fn longest_ns(schedule: &Schedule) -> u64 {
    /// Frames a second that every sender makes.
    const SLOWEST: f64 = 200_000.0;
    let burst = schedule.frames() as f64 / SLOWEST * 1e9;
    schedule.duration_ns().unwrap_or(burst as u64)
}

#[cfg(test)]
#[path = "../tests/unit/privilege.rs"]
mod tests;
