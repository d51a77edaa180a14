//! Time that the host machine took from this virtual one, core by core, from `/proc/stat`.
//!
//! The kernel counts it in ticks. A thread on a stolen core looks as if it ran.

use std::collections::BTreeMap;
use std::fs::read_to_string;

use rustix::param::clock_ticks_per_second;

/// What each core had been stolen at the reading before, in ticks, and when that was.
#[derive(Default)]
pub(crate) struct Steal {
    before: BTreeMap<u16, u64>,
    read_at: u64,
}

impl Steal {
    /// Reads; tells which cores were stolen how many nanoseconds since the reading before, and how
    /// long ago that was.
    pub(crate) fn turn(&mut self, now: u64) -> (Vec<(u16, u64)>, u32) {
        let stat = read_to_string("/proc/stat").unwrap_or_default();
        self.compare(&stat, now)
    }

    fn compare(&mut self, stat: &str, now: u64) -> (Vec<(u16, u64)>, u32) {
        let tick = 1_000_000_000 / clock_ticks_per_second().max(1);
        let mut stolen = Vec::new();
        for (core, ticks) in stat.lines().filter_map(core) {
            let before = self.before.insert(core, ticks).unwrap_or(ticks);
            if ticks > before {
                stolen.push((core, (ticks - before) * tick));
            }
        }
        let within = now.saturating_sub(std::mem::replace(&mut self.read_at, now));
        (stolen, within.min(u32::MAX.into()) as u32)
    }
}

/// A core's line: its number and its stolen ticks.
fn core(line: &str) -> Option<(u16, u64)> {
    const STOLEN: usize = 7;
    let (name, numbers) = line.split_once(' ')?;
    let core = name.strip_prefix("cpu")?.parse().ok()?;
    Some((core, numbers.split_whitespace().nth(STOLEN)?.parse().ok()?))
}

#[cfg(test)]
#[path = "../../tests/unit/record_steal.rs"]
mod tests;
