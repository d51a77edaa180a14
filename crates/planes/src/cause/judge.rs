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
mod tests {
    use super::*;

    fn probe(channel: &str, method: Method, values: [f64; 5]) -> Probe {
        Probe {
            channel: channel.to_owned(),
            method,
            counts: true,
            values: values.to_vec(),
        }
    }

    fn rounds() -> Observed {
        Observed {
            alone: vec![10.0, 11.0, 10.0, 9.0, 10.0],
            beside: vec![20.0, 21.0, 20.0, 19.0, 20.0],
            again: vec![20.5, 20.5, 20.0, 19.5, 20.0],
            registers: vec![11.0, 12.0, 11.0, 10.0, 11.0],
        }
    }

    #[test]
    fn what_was_put_in_comes_out() {
        let probes = [
            probe("queue", Method::Removed, [14.0, 15.0, 14.0, 13.0, 14.0]),
            probe("cache", Method::Pressed, [13.0, 14.0, 13.0, 12.0, 13.0]),
            probe("nothing", Method::Removed, [20.0, 21.0, 20.0, 19.0, 20.0]),
            probe(
                "registers alone",
                Method::Pressed,
                [11.0, 12.0, 11.0, 10.0, 11.0],
            ),
        ];
        let judged = judge(&rounds(), &probes, 1).unwrap();
        assert_eq!((judged.alone, judged.beside), (10.0, 20.0));
        let shares: Vec<(f64, bool)> = judged
            .channels
            .iter()
            .map(|channel| (channel.share, channel.clear))
            .collect();
        assert_eq!(
            shares,
            [(0.6, true), (0.3, true), (0.0, false), (0.1, false)]
        );
        assert!(
            (judged.explained - 0.9).abs() < 1e-9,
            "{}",
            judged.explained
        );
    }

    #[test]
    fn an_intervention_that_helps_in_some_rounds_only_is_not_clear() {
        let probes = [probe(
            "luck",
            Method::Removed,
            [10.0, 21.0, 10.0, 19.0, 10.0],
        )];
        let judged = judge(&rounds(), &probes, 1).unwrap();
        assert_eq!(
            (judged.channels[0].share, judged.channels[0].clear),
            (1.0, false)
        );
        assert!(judged.explained.abs() < 1e-9);
    }

    #[test]
    fn a_plane_that_varies_by_itself_is_not_disturbed() {
        let noisy = Observed {
            again: vec![9.0, 33.0, 8.0, 35.0, 7.0],
            ..rounds()
        };
        assert_eq!(judge(&noisy, &[], 1), None);
        let calm = Observed {
            beside: rounds().alone,
            ..rounds()
        };
        assert_eq!(judge(&calm, &[], 1), None);
    }
}
