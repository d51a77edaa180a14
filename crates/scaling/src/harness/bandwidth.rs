//! What the memory gives, and how much of it a command takes, without hardware counters: readers of
//! ours on other cores tell.
//!
//! A reader that shares the memory with somebody reads less. What it loses beside the command, over
//! what it loses beside a second reader, is the command's traffic in readers. That assumes the loss
//! to grow with the traffic, so it is an estimate; where two readers do not disturb each other
//! nothing can be said, and nothing is.

use std::convert::Infallible;
use std::slice::from_ref;
use std::thread;
use std::time::{Duration, Instant};

use figures::{Rounds, median};
use host::cores::CoreId;
use host::pressure::{Aggressor, Caches, Channel};
use serde::{Deserialize, Serialize};

use super::plan::{Job, Placement};
use super::runs::{Runs, SweepError};

/// One look at the readers.
const WINDOW: Duration = Duration::from_millis(80);
/// Looks at the command beside a reader, by turns.
const ROUNDS: usize = 5;
/// Looks at readers alone: the rate of one look is off by a tenth and more where neighbours use the
/// same memory.
pub const LOOKS: usize = 31;
/// The same with `--quick`.
pub const QUICK_LOOKS: usize = 9;
/// Readers that were resting need this long to be at their pace.
const SETTLE: Duration = Duration::from_millis(5);
/// A reader that keeps more than this beside another reader tells nothing about the command.
const UNDISTURBED: f64 = 0.95;

/// Reading rates, bytes a second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ceiling {
    /// Of one core alone.
    pub one: f64,
    /// Of all cores in sum.
    pub all: f64,
    /// All cores' rate over one core's within a round.
    pub gain: f64,
    /// How many that are.
    pub cores: u32,
}

impl Ceiling {
    /// Measures readers on `cores`, one and all in each of `looks` rounds; medians over the rounds.
    pub fn measure(cores: &[CoreId], caches: Caches, looks: usize) -> Self {
        let readers: Vec<Aggressor> = cores
            .iter()
            .map(|&core| Aggressor::start(Channel::MemoryReads, core, 1.0, caches))
            .collect();
        let active = [1, readers.len()];
        let mut rates = Rounds::new(active.len(), 1);
        let Ok(()) = rates.run(looks, |place| {
            Ok::<_, Infallible>(reading(&readers, active[place]))
        });
        Self {
            one: median(rates.of(0)),
            all: median(rates.of(1)),
            gain: rates.ratio(1, 0, f64::clone).value,
            cores: cores.len() as u32,
        }
    }

    /// The serial fraction of a program that does nothing but read memory.
    pub fn fraction(&self) -> f64 {
        let n = f64::from(self.cores);
        if self.cores < 2 || self.gain <= 0.0 {
            return 0.0;
        }
        (n / self.gain - 1.0) / (n - 1.0)
    }
}

/// Bytes a second that the first `active` of `readers` read together while the others rest.
fn reading(readers: &[Aggressor], active: usize) -> f64 {
    for (number, reader) in readers.iter().enumerate() {
        reader.rest(number >= active);
    }
    thread::sleep(SETTLE);
    let sum = || readers.iter().map(Aggressor::work).sum::<u64>();
    let (before, start) = (sum(), Instant::now());
    thread::sleep(WINDOW);
    (sum() - before) as f64 / start.elapsed().as_secs_f64()
}

/// How much of the memory's bandwidth a command takes on one core.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Traffic {
    /// Part of its rate that a reader keeps beside the command.
    pub beside_command: f64,
    /// Part of its rate that a reader keeps beside another reader.
    pub beside_reader: f64,
}

impl Traffic {
    /// Measures `job` on one core beside a reader on another; `None` with a single core.
    ///
    /// # Errors
    /// When the command fails or hangs, and when interrupted.
    pub fn measure(job: &Job, caches: Caches) -> Result<Option<Self>, SweepError> {
        let (Some(&first), Some(&other)) = (job.order.first(), job.order.get(1)) else {
            return Ok(None);
        };
        let mut runs = Runs::start(job, Placement::Pinned.on(1))?;
        let (mut command, mut reader) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            runs.prepare()?;
            let meter = Aggressor::start(Channel::MemoryReads, other, 1.0, caches);
            let alone = reading(from_ref(&meter), 1);
            let (before, start) = (meter.work(), Instant::now());
            runs.run_prepared()?;
            let beside = (meter.work() - before) as f64 / start.elapsed().as_secs_f64();
            let second = Aggressor::start(Channel::MemoryReads, first, 1.0, caches);
            let crowded = reading(from_ref(&meter), 1);
            drop(second);
            command.push(beside / alone);
            reader.push(crowded / alone);
        }
        Ok(Some(Self {
            beside_command: median(&command),
            beside_reader: median(&reader),
        }))
    }

    /// The command's traffic as a multiple of a reader's; `None` where readers do not disturb each
    /// other.
    pub fn in_readers(&self) -> Option<f64> {
        (self.beside_reader < UNDISTURBED).then(|| {
            ((1.0 - self.beside_command) / (1.0 - self.beside_reader)).clamp(0.0, f64::INFINITY)
        })
    }
}

#[cfg(test)]
#[path = "../../tests/unit/bandwidth.rs"]
mod tests;
