//! Whether other programs or the hypervisor had a part of the cores while runs were timed.
//!
//! The kernel counts the time of a core in ticks of 10 ms. A run of [`OBSERVABLE`] is judged by
//! itself. Shorter ones are summed up until they make a [`WINDOW`]: nobody can say which of them
//! was disturbed, so all of them count as disturbed.

use std::time::Duration;

use host::observe::{TICK, Times};

use super::keeper::Outcome;

/// Below this a run is too short to be judged by itself.
pub(super) const OBSERVABLE: Duration = Duration::from_millis(200);
/// Below this starting the process is so large a part of a run that it would look like another
/// program.
pub(super) const LEAST: Duration = Duration::from_millis(20);
/// Short runs are judged together from this much wall time on.
const WINDOW: f64 = 1.0;
/// Others had more than this share of the cores.
const DISTURBED: f64 = 0.05;
/// So many ticks of each core may be the kernel's rounding.
const ROUNDING: f64 = 3.0;

/// Seconds of cores during runs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Seen {
    /// Wall time.
    wall: f64,
    /// Wall time of all cores of the setting.
    capacity: f64,
    /// The cores worked.
    busy: f64,
    /// The hypervisor had them.
    pub(super) steal: f64,
    /// The command worked.
    own: f64,
}

impl Seen {
    /// What `times` says of so many `cores` during the run that ended as `outcome`.
    pub(super) fn of(times: &Times, outcome: &Outcome, cores: usize) -> Self {
        let wall = outcome.wall.as_secs_f64();
        let capacity = wall * cores as f64;
        Self {
            wall,
            capacity,
            busy: times.busy,
            steal: times.steal.min(0.9 * capacity),
            own: (outcome.user + outcome.system).as_secs_f64(),
        }
    }

    /// Whether others had a part of the cores.
    pub(super) fn disturbed(&self) -> bool {
        let rounding = ROUNDING * TICK * self.capacity / self.wall.max(1e-9);
        let foreign = (self.busy - self.own - rounding).max(0.0);
        foreign + self.steal > DISTURBED * self.capacity
    }

    fn add(&mut self, other: &Self) {
        self.wall += other.wall;
        self.capacity += other.capacity;
        self.busy += other.busy;
        self.steal += other.steal;
        self.own += other.own;
    }
}

/// Short runs, by number, that are judged together.
#[derive(Debug, Default)]
pub(super) struct Window {
    sum: Seen,
    runs: Vec<usize>,
    disturbed: Vec<usize>,
}

impl Window {
    /// Adds the short run of this number.
    pub(super) fn add(&mut self, number: usize, seen: &Seen) {
        self.sum.add(seen);
        self.runs.push(number);
        if self.sum.wall >= WINDOW {
            self.judge();
        }
    }

    /// The numbers of the disturbed runs. A last window that is not full counts if it is as long as
    /// a run that would be judged by itself.
    pub(super) fn disturbed(mut self) -> Vec<usize> {
        if self.sum.wall >= OBSERVABLE.as_secs_f64() {
            self.judge();
        }
        self.disturbed
    }

    fn judge(&mut self) {
        if self.sum.disturbed() {
            self.disturbed.append(&mut self.runs);
        }
        self.runs.clear();
        self.sum = Seen::default();
    }
}

#[cfg(test)]
#[path = "../../tests/unit/disturbance.rs"]
mod tests;
