//! Loads whose scaling is known by construction: the instrument's own test, to be run before it is
//! believed.
//!
//! Every load does a fixed amount of work, all but one as a process with as many threads as cores;
//! how the threads meet sets the serial fraction. The truth is a formula, or for the memory a
//! measurement by another instrument on the same machine in the same minute; never a figure from
//! another machine.

mod loads;
pub mod makefile;
pub mod noise;
pub mod synthetic;
pub mod verdict;

use host::topology::Topology;
use loads::{LOCKED, Layout, Serial, counters, lock, phases, stream};

use crate::harness::bandwidth::{Ceiling, LOOKS};
use crate::laws::speedup::karp_flatt;
use host::pressure::Caches;

/// What a calibration load must show.
#[derive(Debug, Clone, Copy)]
pub enum Truth {
    /// This serial fraction on so many cores, within this error (absolute).
    Fraction {
        /// The formula.
        at: fn(u32) -> f64,
        /// The stated error.
        error: f64,
    },
    /// A speed-up below this, at any number of cores above one.
    Below(f64),
}

/// Which part of the exact split has to carry the loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// Nothing is lost.
    Nothing,
    /// Idle cores.
    Idle,
    /// Dearer user work.
    User,
}

/// A load with its truth.
pub struct Load {
    /// What it is called.
    pub name: &'static str,
    /// How its threads meet.
    pub sentence: &'static str,
    /// What must come out.
    pub truth: Truth,
    /// Where the loss must be found.
    pub carrier: Carrier,
    /// How it does the work.
    pub work: Work,
}

/// Who does the work of a load.
#[derive(Debug, Clone, Copy)]
pub enum Work {
    /// This many threads of one process.
    Threads(fn(usize)),
    /// The same, returning how much they did a second: making ready is no part of it.
    Rated(fn(usize) -> f64),
    /// `make -j` with the rules of [`makefile`].
    Makefile,
}

/// Share of the work that is serial in the loads that have a share.
pub const SHARE: f64 = 0.2;

/// This serial fraction within this error.
const fn within(at: fn(u32) -> f64, error: f64) -> Truth {
    Truth::Fraction { at, error }
}

/// All loads.
pub fn all() -> &'static [Load] {
    const NONE: fn(u32) -> f64 = |_| 0.0;
    const AMDAHL: fn(u32) -> f64 = |_| SHARE;
    const LOADS: &[Load] = &[
        Load {
            name: "spin",
            sentence: "arithmetic in registers, divided evenly",
            truth: within(NONE, 0.03),
            carrier: Carrier::Nothing,
            work: Work::Threads(|threads| phases(threads, 0.0, Serial::None)),
        },
        Load {
            name: "serial-share",
            sentence: "a fifth of the work done by one thread while the others wait",
            truth: within(AMDAHL, 0.04),
            carrier: Carrier::Idle,
            work: Work::Threads(|threads| phases(threads, SHARE, Serial::Work)),
        },
        Load {
            name: "sleep-share",
            sentence: "a fifth of the time on one core spent asleep",
            truth: within(AMDAHL, 0.04),
            carrier: Carrier::Idle,
            work: Work::Threads(|threads| phases(threads, SHARE, Serial::Sleep)),
        },
        Load {
            name: "lock-share",
            sentence: "half of the work under one lock, of random lengths, waiting by spinning",
            truth: within(|n| closed_queue(LOCKED, n), 0.05),
            carrier: Carrier::User,
            work: Work::Threads(lock),
        },
        Load {
            name: "shared-counter",
            sentence: "every step adds to one counter that all share",
            truth: Truth::Below(1.5),
            carrier: Carrier::User,
            work: Work::Threads(|threads| counters(threads, Layout::One)),
        },
        Load {
            name: "false-sharing",
            sentence: "every thread adds to its own counter, all in one cache line",
            truth: Truth::Below(1.5),
            carrier: Carrier::User,
            work: Work::Threads(|threads| counters(threads, Layout::OneLine)),
        },
        Load {
            name: "own-lines",
            sentence: "every thread adds to its own counter, each in a line of its own",
            truth: within(NONE, 0.04),
            carrier: Carrier::Nothing,
            work: Work::Threads(|threads| counters(threads, Layout::OwnLines)),
        },
        Load {
            name: "stream",
            sentence: "each thread reads memory as fast as it can, four times the last-level cache",
            truth: within(memory_fraction, 0.1),
            carrier: Carrier::User,
            work: Work::Rated(stream),
        },
        Load {
            name: "makefile",
            sentence: "make -j on a generated Makefile: twelve equal parts, then a link of a \
                       fifth of the work",
            truth: within(makefile::fraction, 0.05),
            carrier: Carrier::Idle,
            work: Work::Makefile,
        },
    ];
    LOADS
}

/// The serial fraction that the memory itself imposes on readers, measured now by readers that are
/// not the load.
fn memory_fraction(cores: u32) -> f64 {
    let allowed = host::cores::allowed_cores().unwrap_or_default();
    let ours = &allowed[..allowed.len().min(cores as usize)];
    Ceiling::measure(ours, Caches::read(&Topology::read()), LOOKS).fraction()
}

/// The load with this name.
pub fn find(name: &str) -> Option<&'static Load> {
    all().iter().find(|load| load.name == name)
}

/// The serial fraction of a closed queue: `cores` customers think for `1 - share` and are served
/// one by one for `share` (exact mean value analysis; Reiser and Lavenberg, JACM 27(2), 1980).
pub fn closed_queue(share: f64, cores: u32) -> f64 {
    let (mut queue, mut rate) = (0.0, 1.0);
    for customers in 1..=cores {
        let response = share * (1.0 + queue);
        rate = f64::from(customers) / (1.0 - share + response);
        queue = rate * response;
    }
    karp_flatt(rate, cores).unwrap_or(0.0)
}

#[cfg(test)]
#[path = "../../tests/unit/calibration.rs"]
mod tests;
