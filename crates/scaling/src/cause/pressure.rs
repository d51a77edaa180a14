//! Which shared resource a program feels: its slowdown while something presses on one of them, in
//! doses.

use figures::{Estimate, Interval};
use host::pressure::Channel;
use serde::{Deserialize, Serialize};

use crate::statistics::holm::holm;
use crate::statistics::{LEVEL, student};

/// The slowdown at one dose.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dose {
    /// Share of the time in which the aggressor worked, 0 to 1; for the cache the share of it that
    /// the aggressor took.
    pub duty: f64,
    /// Seconds under pressure over seconds without, within rounds, median.
    pub slowdown: f64,
    /// Its interval.
    pub interval: Interval,
    /// Whether the effect clears the control: the two intervals do not meet, and it is more than
    /// chance over all channels and doses.
    #[serde(default)]
    pub felt: bool,
}

/// What one channel does to a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sensitivity {
    /// What was pressed on.
    pub channel: Channel,
    /// Its doses, rising.
    pub doses: Vec<Dose>,
    /// Whether the effect at full dose is felt.
    pub felt: bool,
    /// Part of the dearer work at the largest core count that this channel at full dose would
    /// account for, at most 1; only for pressure that comes from other cores. Channels
    /// overlap, so these do not add up.
    pub share: Option<f64>,
}

/// The runs under one dose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pressed {
    /// As in [`Dose`].
    pub duty: f64,
    /// Seconds under pressure over seconds without.
    pub slowdown: Estimate,
    /// Whether they were longer beyond chance, see [`slower`].
    pub slower: bool,
}

/// Which settings were slower beyond chance. A round has the seconds of a calm run, of another calm
/// one, and under each pressure. A command is asked about some twenty pressures at once, and each
/// question alone may err: all answers together err in at most [`LEVEL`] of the experiments.
pub fn slower(rounds: &[Vec<f64>]) -> Vec<bool> {
    let settings = rounds.first().map_or(0, Vec::len);
    let chances: Vec<f64> = (2..settings)
        .map(|place| {
            let calm = |round: &Vec<f64>| (round[0] * round[1]).sqrt();
            let ratios: Vec<f64> = rounds.iter().map(|r| r[place] / calm(r)).collect();
            student::above(&ratios)
        })
        .collect();
    let below = |chance: f64| chance < LEVEL / 2.0;
    holm(&chances).into_iter().map(below).collect()
}

/// Judges seconds over those without pressure: `control` is another run without, `pressed` those at
/// each dose. `inflation` is the factor by which the work got dearer on all cores.
pub fn sensitivity(
    channel: Channel,
    control: &Estimate,
    pressed: &[Pressed],
    inflation: Option<f64>,
) -> Sensitivity {
    let doses: Vec<Dose> = pressed
        .iter()
        .map(|dose| Dose {
            duty: dose.duty,
            slowdown: dose.slowdown.value,
            interval: dose.slowdown.interval,
            felt: dose.slower && dose.slowdown.is_above(control, 1.0),
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
#[path = "../../tests/unit/pressure.rs"]
mod tests;
