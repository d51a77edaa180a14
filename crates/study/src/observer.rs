//! One trial, watched: what took its cores meanwhile, and whether these ran slower than they can.

use std::time::{Duration, Instant};

use dut::case::{Case, Sample};
use dut::device::Device;
use dut::error::Error;
use host::clock::Span;
use host::noise::Reading;
use host::pace::Calmest;
use host::{CoreId, Noise};

use crate::evidence::{self, Measured};

/// What others did during a trial.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) noise: Noise,
    /// How long it took.
    pub(crate) seconds: f64,
    /// Whether a core ran slower than it can while it counted.
    pub(crate) slowed: bool,
}

/// Watches the trials of a run.
#[derive(Debug, Default)]
pub(crate) struct Observer(Calmest);

impl Observer {
    /// What `run` gives, and what happened meanwhile on the `cores` that are at work; `counted` says of
    /// what it gives when it counted.
    pub(crate) fn watch<T>(
        &mut self,
        cores: &[CoreId],
        run: impl FnOnce() -> T,
        counted: impl FnOnce(&T) -> Option<Span>,
    ) -> (T, Seen) {
        let (before, begun) = (Reading::now(cores), Instant::now());
        let (given, slowed) = self.0.watch(cores, run, counted);
        let seen = Seen {
            seconds: begun.elapsed().as_secs_f64(),
            noise: before.until(&Reading::now(cores)),
            slowed,
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
        let counted = |sample: &Result<Sample, Error>| sample.as_ref().ok()?.counted;
        self.0.wait(cores, until);
        let (sample, seen): (Result<Sample, Error>, Seen) =
            self.watch(cores, || device.measure(case, trial), counted);
        // After Ctrl-C a device may fail in any way; the reason to name is the interrupt.
        host::cleanup::check()?;
        Ok(Measured {
            sample: sample.map_err(|error| Error::from(format!("{case}: {error}")))?,
            disturbed: seen.slowed || evidence::is_disturbed(case, &seen.noise, seen.seconds),
        })
    }
}

#[cfg(test)]
#[path = "../tests/unit/observer.rs"]
mod tests;
