//! Which shared resource a program feels: its slowdown while something presses on one of them, in
//! doses.

use figures::{Estimate, Interval};
use host::pressure::Channel;
use serde::{Deserialize, Serialize};

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

/// Judges seconds over those without pressure: `control` is another run without, `pressed` those at
/// each dose. `inflation` is the factor by which the work got dearer on all cores.
pub fn sensitivity(
    channel: Channel,
    control: &Estimate,
    pressed: &[(f64, Estimate)],
    inflation: Option<f64>,
) -> Sensitivity {
    let doses: Vec<Dose> = pressed
        .iter()
        .map(|(duty, slowdown)| Dose {
            duty: *duty,
            slowdown: slowdown.value,
            interval: slowdown.interval,
            felt: slowdown.is_above(control, 1.0),
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

    fn estimate(ratios: [f64; 5]) -> Estimate {
        Estimate::of(&ratios, 1)
    }

    #[test]
    fn an_effect_counts_only_if_it_clears_the_control() {
        let control = estimate([1.02, 0.98, 1.0, 1.03, 0.99]);
        let slow = [(1.0, estimate([1.5, 1.48, 1.52, 1.5, 1.49]))];
        let same = [(1.0, estimate([1.02, 1.0, 0.99, 1.01, 1.03]))];
        let felt = sensitivity(Channel::MemoryReads, &control, &slow, Some(2.0));
        assert!(felt.felt && (felt.share.unwrap() - 1.5_f64.ln() / 2.0_f64.ln()).abs() < 1e-9);
        let not = sensitivity(Channel::Cache, &control, &same, Some(2.0));
        assert!(!not.felt && not.share == Some(0.0));
        assert_eq!(strongest(&[not, felt]), Some("memory bandwidth (reads)"));
    }

    #[test]
    fn the_working_set_lies_between_what_two_doses_leave() {
        let calm = estimate([1.0; 5]);
        let doses = [(0.25, 1.0), (0.5, 1.3), (1.0, 1.6)].map(|(dose, s)| (dose, estimate([s; 5])));
        let felt = sensitivity(Channel::Cache, &calm, &doses, None);
        assert_eq!(working_set(&[felt]), Some((0.5, 0.75)));
        let never = sensitivity(Channel::Cache, &calm, &[(0.25, calm), (1.0, calm)], None);
        assert_eq!(working_set(&[never]), None);
    }

    #[test]
    fn a_channel_on_the_same_core_explains_nothing_about_more_cores() {
        let twice = [(1.0, estimate([2.0; 5]))];
        let own = sensitivity(Channel::SameCore, &estimate([1.0; 5]), &twice, Some(2.0));
        assert!(own.felt && own.share.is_none());
        assert_eq!(strongest(&[own]), None);
    }
}
