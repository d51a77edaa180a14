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
        // A burst has no timetable; it is as short as the tester can make it.
        let brief = schedule.duration_ns().unwrap_or(0) <= longest;
        let urgent = (brief && alone).then(|| Urgent::now(threads));
        Self {
            _favoured: urgent.is_none().then(Favoured::now),
            _urgent: urgent,
        }
    }
}
