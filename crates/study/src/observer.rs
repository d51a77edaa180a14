//! One trial, watched: what took its cores meanwhile, and whether these ran slower than they can.

use std::time::{Duration, Instant};

use dut::case::{Case, Sample};
use dut::device::Device;
use dut::error::Error;
use host::counting::Counting;
use host::noise::Reading;
use host::pace::{Calm, Calmest};
use host::{CoreId, Noise};

use crate::evidence::{self, Measured};

/// A case forwards for so long before what is compared is measured, and nobody counts: else who comes
/// first finds caches full of another engine's tables.
const WARM_UP: Duration = Duration::from_millis(60);

/// What others did during a trial.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) noise: Noise,
    /// How calm its cores were.
    pub(crate) calm: Calm,
}

/// Watches the trials of a run.
#[derive(Debug, Default)]
pub(crate) struct Observer(Calmest);

impl Observer {
    /// What `run` gives, and what happened meanwhile on the `cores` that are at work; `counted` says of
    /// what it gives what was counted in it.
    pub(crate) fn watch<T>(
        &mut self,
        cores: &[CoreId],
        run: impl FnOnce() -> T,
        counted: impl FnOnce(&T) -> Counting,
    ) -> (T, Seen) {
        let before = Reading::now(cores);
        let (given, calm) = self.0.watch(cores, run, counted);
        let seen = Seen {
            noise: before.until(&Reading::now(cores)),
            calm,
        };
        (given, seen)
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
        let counted = |sample: &Result<Sample, Error>| {
            let counted = sample.as_ref().map(|sample| sample.counted.clone());
            counted.unwrap_or_default()
        };
        self.0.wait(cores, until);
        let (sample, seen): (Result<Sample, Error>, Seen) =
            self.watch(cores, || device.measure(case, trial), counted);
        let sample = told(case, sample)?;
        Ok(Measured {
            frames_per_second: seen.calm.per_second.unwrap_or(sample.frames_per_second),
            changes_per_second: sample.changes_per_second,
            disturbed: evidence::is_disturbed(case, &seen),
        })
    }
}

/// Fills the caches of a case's cores with what it needs.
///
/// # Errors
/// When it cannot be measured, or the user interrupts.
pub(crate) fn warm_up(device: &mut dyn Device, case: &Case) -> Result<(), Error> {
    host::cleanup::check()?;
    told(case, device.measure(case, WARM_UP)).map(|_| ())
}

/// What a case gave, or which case failed.
fn told(case: &Case, sample: Result<Sample, Error>) -> Result<Sample, Error> {
    // After Ctrl-C a device may fail in any way; the reason to name is the interrupt.
    host::cleanup::check()?;
    sample.map_err(|error| format!("{case}: {error}").into())
}

#[cfg(test)]
#[path = "../tests/unit/observer.rs"]
mod tests;
