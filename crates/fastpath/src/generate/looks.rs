//! Pieces of work that a generator without a timetable times now and then, as it makes frames: they
//! show whether somebody slows its core.

use std::ops::Range;

use bpf::map::Plain;

use super::Generator;

/// A piece of work: `struct look` of the C source.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// When it began, ns of the monotonic clock.
    pub begun_ns: u64,
    /// How long it took, ns.
    pub took_ns: u64,
    /// Frames made before it.
    pub sent: u64,
}

// SAFETY: repr(C), 3 × 8 bytes, no hole; integers only.
unsafe impl Plain for Look {}

impl Generator {
    /// The pieces of work that began in a stretch of time, ns, of the last 4096; none of a generator
    /// with a timetable.
    pub fn looks(&self, within_ns: Range<u64>) -> Vec<Look> {
        let (all, kept) = (self.state.read(0).looks, self.looks.len() as u64);
        let numbers = all.saturating_sub(kept)..all;
        let looks = numbers.map(|number| self.looks.read((number % kept) as usize));
        looks
            .filter(|look| within_ns.contains(&look.begun_ns))
            .collect()
    }
}
