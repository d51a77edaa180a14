//! One trial, watched: what took its cores meanwhile, and whether these ran slower than they can.
//!
//! A core that shares its units with a stranger does up to half its work, and nothing that the kernel
//! counts shows it ([`host::pace`]). So the pieces of work of a trial are held against those of the
//! calmest trial of this run on the same core, with as many cores at work.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use dut::case::{Case, Sample};
use dut::device::Device;
use dut::error::Error;
use host::noise::Reading;
use host::{CoreId, Noise, pace};

use crate::evidence::{self, Measured};

/// Pieces of work that take so many times as long as in the calmest trial were slowed down. On a
/// virtual machine whose neighbour came and went they took 1.00 to 1.07 times as long without it,
/// and 1.3 to 2.1 times with it.
const SLOWED: f64 = 1.12;

/// A look between trials: some pieces of work.
const LOOK: Duration = Duration::from_millis(9);

/// What others did during a trial.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) noise: Noise,
    /// How long it took.
    pub(crate) seconds: f64,
    /// Whether a core ran slower than it can.
    pub(crate) slowed: bool,
}

/// Watches the trials of a run.
#[derive(Debug, Default)]
pub(crate) struct Observer {
    /// The shortest mean of a trial's pieces of work, ns, by how many cores were at work, on each.
    calmest: BTreeMap<(usize, CoreId), f64>,
    /// The same of looks between trials.
    idle: BTreeMap<(usize, CoreId), f64>,
}

impl Observer {
    /// What `run` gives, and what happened meanwhile on the `cores` that are at work.
    pub(crate) fn watch<T>(&mut self, cores: &[CoreId], run: impl FnOnce() -> T) -> (T, Seen) {
        let (before, pace) = (Reading::now(cores), pace::Watch::on(cores));
        let begun = Instant::now();
        let given = run();
        let seconds = begun.elapsed().as_secs_f64();
        let pieces = pace.end();
        let noise = before.until(&Reading::now(cores));
        let slowed = is_slowed(&mut self.calmest, cores, &pieces);
        let seen = Seen {
            noise,
            seconds,
            slowed,
        };
        (given, seen)
    }

    /// Returns when nobody slows `cores`, or at `until`.
    pub(crate) fn await_calm(&mut self, cores: &[CoreId], until: Instant) {
        while Instant::now() + LOOK < until && !host::interrupted() {
            let pace = pace::Watch::on(cores);
            std::thread::sleep(LOOK);
            if !is_slowed(&mut self.idle, cores, &pace.end()) {
                return;
            }
        }
    }

    /// Measures a case of `device` once on `cores`, for `trial`, as soon as nobody slows them, or at
    /// `until`.
    ///
    /// # Errors
    /// When it cannot be measured, or the user interrupts.
    pub(crate) fn measure(
        &mut self,
        device: &mut dyn Device,
        case: &Case,
        cores: &[CoreId],
        (trial, until): (Duration, Instant),
    ) -> Result<Measured, Error> {
        self.await_calm(cores, until);
        let (sample, seen): (Result<Sample, Error>, Seen) =
            self.watch(cores, || device.measure(case, trial));
        // After Ctrl-C a device may fail in any way; the reason to name is the interrupt.
        host::cleanup::check()?;
        Ok(Measured {
            sample: sample.map_err(|error| Error::from(format!("{case}: {error}")))?,
            disturbed: seen.slowed || evidence::is_disturbed(case, &seen.noise, seen.seconds),
        })
    }
}

/// Whether one of `cores` was slower than in the `calmest` trial until now, this one included.
fn is_slowed(
    calmest: &mut BTreeMap<(usize, CoreId), f64>,
    cores: &[CoreId],
    pieces: &[Option<f64>],
) -> bool {
    let mut slowed = false;
    for (&core, &piece) in cores.iter().zip(pieces) {
        let Some(piece) = piece else { continue };
        let calmest = calmest.entry((cores.len(), core)).or_insert(piece);
        *calmest = calmest.min(piece);
        slowed |= piece > SLOWED * *calmest;
    }
    slowed
}

#[cfg(test)]
#[path = "../tests/unit/observer.rs"]
mod tests;
