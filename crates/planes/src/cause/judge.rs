//! From rounds of measurements to shares: pure functions.

use figures::{Estimate, differences, median};

use crate::result::{ChannelShare, Method};

/// A difference smaller than this share is within the noise of a shared machine and not called one.
pub(crate) const NOTICED: f64 = 0.05;

/// One intervention, value by round.
#[derive(Debug, Clone)]
pub(crate) struct Probe {
    /// The shared thing.
    pub(crate) channel: String,
    /// What was done with it.
    pub(crate) method: Method,
    /// Whether its share counts towards what is explained, or repeats a part of another's.
    pub(crate) counts: bool,
    /// The victim's figure under the intervention, by round.
    pub(crate) values: Vec<f64>,
}

/// What a plane's figure was, by round.
#[derive(Debug, Clone, Default)]
pub(crate) struct Observed {
    /// Without the other plane.
    pub(crate) alone: Vec<f64>,
    /// With it.
    pub(crate) beside: Vec<f64>,
    /// The same once more: the control of what is removed.
    pub(crate) again: Vec<f64>,
    /// Instead of it as much work in registers: the control of what presses. Empty where nothing
    /// presses.
    pub(crate) registers: Vec<f64>,
}

/// A disturbance and its channels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Judged {
    pub(crate) alone: f64,
    pub(crate) beside: f64,
    pub(crate) channels: Vec<ChannelShare>,
    pub(crate) explained: f64,
}

/// Judges a plane's figures, of which more is worse; `None` when it is not disturbed: the
/// difference that the other plane makes must be there in every round, exceed the difference
/// between two equal trials, and [`NOTICED`].
pub(crate) fn judge(rounds: &Observed, probes: &[Probe], seed: u64) -> Option<Judged> {
    let estimate = |values: &[f64]| Estimate::of(values, seed);
    let alone = median(&rounds.alone);
    let total = estimate(&differences(&rounds.beside, &rounds.alone));
    let noise = differences(&rounds.beside, &rounds.again);
    let noise = median(noise.into_iter().map(f64::abs));
    if total.interval.low <= 0.0 || total.value <= noise.max(NOTICED * alone) {
        return None;
    }
    let shares = |values: &[f64], others: &[f64]| {
        let parts = differences(values, others);
        estimate(
            &parts
                .iter()
                .map(|part| part / total.value)
                .collect::<Vec<_>>(),
        )
    };
    let channels: Vec<ChannelShare> = probes
        .iter()
        .map(|probe| {
            let (own, control) = match probe.method {
                Method::Removed => (
                    shares(&rounds.beside, &probe.values),
                    shares(&rounds.beside, &rounds.again),
                ),
                Method::Pressed => (
                    shares(&probe.values, &rounds.alone),
                    shares(&rounds.registers, &rounds.alone),
                ),
            };
            ChannelShare {
                channel: probe.channel.clone(),
                method: probe.method,
                counts: probe.counts,
                share: own.value,
                low: own.interval.low,
                high: own.interval.high,
                control: control.value,
                control_low: control.interval.low,
                control_high: control.interval.high,
                clear: own.is_above(&control, 0.0) && own.value > NOTICED,
            }
        })
        .collect();
    let explained = channels
        .iter()
        .filter(|channel| channel.clear && channel.counts)
        .map(|channel| channel.share.min(1.0))
        .sum();
    Some(Judged {
        alone,
        beside: median(&rounds.beside),
        channels,
        explained,
    })
}

#[cfg(test)]
#[path = "../../tests/unit/cause_judge.rs"]
mod tests;
