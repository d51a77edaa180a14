//! Which shared resource a program feels: its slowdown while something presses on one of them, in
//! doses.

use host::pressure::Channel;
use serde::{Deserialize, Serialize};

use crate::statistics::{Interval, median, median_interval};

/// The slowdown at one dose.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Dose {
    /// Share of the time in which the aggressor worked, 0 to 1; for the cache the share of it that
    /// the aggressor took.
    pub duty: f64,
    /// Seconds under pressure over seconds without, within rounds, median.
    pub slowdown: f64,
    /// Its interval.
    pub interval: Interval,
    /// Whether the effect clears the control: the two intervals do not meet.
    #[serde(default)]
    pub felt: bool,
}

/// What one channel does to a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sensitivity {
    /// What was pressed on.
    pub channel: Channel,
    /// Its doses, rising.
    pub doses: Vec<Dose>,
    /// Whether the effect at full dose clears the control: the two intervals do not meet.
    pub felt: bool,
    /// Part of the dearer work at the largest core count that this channel at full dose would
    /// account for, at most 1; only for pressure that comes from other cores. Channels
    /// overlap, so these do not add up.
    pub share: Option<f64>,
}

/// Judges recorded seconds. `calm[round]` is without pressure, `control[round]` another such run,
/// `pressed[dose][round]` the runs under it. `inflation` is the factor by which the work got dearer
/// on all cores.
pub fn sensitivity(
    channel: Channel,
    calm: &[f64],
    control: &[f64],
    pressed: &[(f64, Vec<f64>)],
    inflation: Option<f64>,
    seed: u64,
) -> Sensitivity {
    let over =
        |seconds: &[f64]| -> Vec<f64> { seconds.iter().zip(calm).map(|(s, c)| s / c).collect() };
    let floor = median_interval(&over(control), 1000, seed);
    let doses: Vec<Dose> = pressed
        .iter()
        .map(|(duty, seconds)| {
            let ratios = over(seconds);
            let interval = median_interval(&ratios, 1000, seed);
            Dose {
                duty: *duty,
                slowdown: median(&ratios),
                interval,
                felt: interval.low > floor.high.max(1.0),
            }
        })
        .collect();
    let full = doses.last();
    let felt = full.is_some_and(|dose| dose.felt);
    let share = match (inflation, full) {
        (Some(inflation), Some(dose)) if channel.from_another_core() && inflation > 1.02 => {
            Some(if felt {
                (dose.slowdown.ln() / inflation.ln()).clamp(0.0, 1.0)
            } else {
                0.0
            })
        }
        _ => None,
    };
    Sensitivity {
        channel,
        doses,
        felt,
        share,
    }
}

/// How much of the last-level cache the program uses, as far as the doses tell: shares of the
/// cache, from and to. It is felt from the first dose that takes something away from it. `None`
/// where no dose was felt.
pub fn working_set(pressure: &[Sensitivity]) -> Option<(f64, f64)> {
    let doses = &pressure.iter().find(|s| s.channel == Channel::Cache)?.doses;
    let first = doses.iter().position(|dose| dose.felt)?;
    let before = first.checked_sub(1).map_or(0.0, |place| doses[place].duty);
    Some(((1.0 - doses[first].duty).max(0.0), 1.0 - before))
}

/// The name of the channel from other cores that is felt most, if one is.
pub fn strongest(pressure: &[Sensitivity]) -> Option<&'static str> {
    pressure
        .iter()
        .filter(|s| s.felt && s.channel.from_another_core())
        .max_by(|a, b| full(a).total_cmp(&full(b)))
        .map(|s| s.channel.name())
}

fn full(sensitivity: &Sensitivity) -> f64 {
    sensitivity.doses.last().map_or(0.0, |dose| dose.slowdown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_counts_only_if_it_clears_the_control() {
        let calm = [1.0, 1.0, 1.0, 1.0, 1.0];
        let control = [1.02, 0.98, 1.0, 1.03, 0.99];
        let slow = vec![1.5, 1.48, 1.52, 1.5, 1.49];
        let same = vec![1.02, 1.0, 0.99, 1.01, 1.03];
        let felt = sensitivity(
            Channel::MemoryReads,
            &calm,
            &control,
            &[(1.0, slow)],
            Some(2.0),
            1,
        );
        assert!(felt.felt && (felt.share.unwrap() - 1.5_f64.ln() / 2.0_f64.ln()).abs() < 1e-9);
        let not = sensitivity(
            Channel::Cache,
            &calm,
            &control,
            &[(1.0, same)],
            Some(2.0),
            1,
        );
        assert!(!not.felt && not.share == Some(0.0));
        assert_eq!(strongest(&[not, felt]), Some("memory bandwidth (reads)"));
    }

    #[test]
    fn the_working_set_lies_between_what_two_doses_leave() {
        let calm = [1.0; 5];
        let doses = [
            (0.25, vec![1.0; 5]),
            (0.5, vec![1.3; 5]),
            (1.0, vec![1.6; 5]),
        ];
        let felt = sensitivity(Channel::Cache, &calm, &calm, &doses, None, 1);
        assert_eq!(working_set(&[felt]), Some((0.5, 0.75)));
        let calm_all = [(0.25, vec![1.0; 5]), (1.0, vec![1.0; 5])];
        let never = sensitivity(Channel::Cache, &calm, &calm, &calm_all, None, 1);
        assert_eq!(working_set(&[never]), None);
    }

    #[test]
    fn a_channel_on_the_same_core_explains_nothing_about_more_cores() {
        let calm = [1.0; 5];
        let own = sensitivity(
            Channel::SameCore,
            &calm,
            &calm,
            &[(1.0, vec![2.0; 5])],
            Some(2.0),
            1,
        );
        assert!(own.felt && own.share.is_none());
        assert_eq!(strongest(&[own]), None);
    }
}
