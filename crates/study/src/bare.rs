//! What generator, cable and sink take by themselves: they are in every figure between interfaces.

use std::time::Duration;

use dut::bare::Bare;
use dut::case::SMALLEST;
use dut::error::Error;
use figures::{Estimate, Rounds, Weak, judge};
use host::CoreId;
use host::counting::Counting;
use report::units::FramesPerSecond;
use serde::{Deserialize, Serialize};

use crate::observer::Observer;

/// The rate of so many cores without a device, smallest frames.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct WithoutDevice {
    pub(crate) workers: usize,
    /// Median of the rounds that count; with one core of the mean of the cores, each alone.
    pub(crate) frames_per_second: FramesPerSecond,
    /// Lower end of the interval of that median, frames/s.
    pub(crate) low: f64,
    /// Its upper end.
    pub(crate) high: f64,
    /// Why the rounds are no evidence; absent where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) weak: Option<Weak>,
}

/// Measures it in rounds.
pub(crate) struct BareRounds {
    bare: Bare,
    cores: Vec<CoreId>,
    /// Each core alone, then all; the rate, and whether others had the cores.
    rounds: Rounds<(f64, bool)>,
}

impl BareRounds {
    /// On the cores that `bare` was opened with.
    pub(crate) fn new(bare: Bare, cores: &[CoreId], seed: u64) -> Self {
        Self {
            bare,
            cores: cores.to_vec(),
            rounds: Rounds::new(cores.len() + 1, seed),
        }
    }

    /// One more round: each core alone, and all of them.
    ///
    /// # Errors
    /// When it cannot be measured.
    pub(crate) fn measure(
        &mut self,
        trial: Duration,
        observer: &mut Observer,
    ) -> Result<(), Error> {
        let (bare, cores) = (&mut self.bare, &self.cores);
        self.rounds.round_in(0..=cores.len(), |index| {
            let range = if index < cores.len() {
                index..index + 1
            } else {
                0..cores.len()
            };
            let own = cores.get(range.clone()).unwrap_or(cores);
            let measure = || bare.measure(range, SMALLEST, trial);
            let counted = |found: &Result<(f64, Counting), Error>| {
                let counted = found.as_ref().map(|(_, counted)| counted.clone());
                counted.unwrap_or_default()
            };
            let (found, seen) = observer.watch(own, measure, counted);
            // After Ctrl-C it may fail in any way; the reason to name is the interrupt.
            host::cleanup::check()?;
            let rate = seen.calm.per_second.unwrap_or(found?.0);
            Ok((rate, seen.calm.slowed || seen.noise.is_noisy()))
        })
    }

    /// What was found.
    pub(crate) fn found(&self, seed: u64) -> Vec<WithoutDevice> {
        found(&self.rounds, self.cores.len(), seed)
    }
}

/// Of one core and of all `cores` of them.
fn found(rounds: &Rounds<(f64, bool)>, cores: usize, seed: u64) -> Vec<WithoutDevice> {
    let alone: Vec<usize> = (0..cores).collect();
    let of = |workers: usize, settings: &[usize]| {
        let rates = rounds.means(settings, |&(rate, _)| rate).into_iter();
        let noise = |&(_, noisy): &(f64, bool)| if noisy { 2.0 } else { 1.0 };
        let noise = rounds.means(settings, noise);
        let both = rates.zip(noise);
        let both: Vec<(f64, bool)> = both
            .filter_map(|(rate, noise)| Some((rate?, noise? > 1.0)))
            .collect();
        let judged = judge(&both, rounds.count(), seed);
        let rate = Estimate::of(&judged.values, seed);
        rate.value.is_finite().then_some(WithoutDevice {
            workers,
            frames_per_second: FramesPerSecond(rate.value),
            low: rate.interval.low,
            high: rate.interval.high,
            weak: judged.weak,
        })
    };
    let all = (cores > 1).then(|| of(cores, &[cores])).flatten();
    of(1, &alone).into_iter().chain(all).collect()
}

#[cfg(test)]
#[path = "../tests/unit/bare.rs"]
mod tests;
