//! What two commands cost each other.
//!
//! Four settings in rounds of random order: each alone, and each while the other runs again and
//! again beside it. With two cores or more each command has a core of its own, so what remains is
//! what they share: caches, memory, the kernel.

use figures::{Interval, Rounds, median};
use serde::{Deserialize, Serialize};

use super::keeper::{Keeper, Spec};
use super::runs::{SweepError, succeeded};

/// How much longer a command takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Effect {
    /// Median seconds alone.
    pub alone: f64,
    /// Median seconds beside the other.
    pub beside: f64,
    /// Seconds beside over seconds alone, within rounds; 1 is no effect.
    pub ratio: f64,
    /// Interval of the ratio.
    pub interval: Interval,
}

/// The effects of two commands on each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mutual {
    /// What the other does to the first.
    pub first: Effect,
    /// What the first does to the other.
    pub second: Effect,
}

/// Measures what `first` and `second` cost each other in `rounds` rounds.
///
/// # Errors
/// When either fails or hangs, and when interrupted.
pub fn beside(first: &Spec, second: &Spec, rounds: usize, seed: u64) -> Result<Mutual, SweepError> {
    let mut keepers = [Keeper::start(first)?, Keeper::start(second)?];
    let specs = [first, second];
    let names = ["the command", "the command beside it"];
    let mut seconds = Rounds::new(4, seed);
    seconds.run(rounds, |setting| {
        let victim = setting % 2;
        let mut company = None;
        if setting >= 2 {
            let again = Spec {
                repeat: true,
                ..specs[1 - victim].clone()
            };
            company.insert(Keeper::start(&again)?).begin()?;
        }
        let outcome = keepers[victim].run()?;
        drop(company);
        succeeded(names[victim], "", specs[victim].timeout, &outcome)?;
        Ok::<_, SweepError>(outcome.wall.as_secs_f64())
    })?;
    let effect = |victim: usize| {
        let ratio = seconds.ratio(victim + 2, victim, f64::clone);
        Effect {
            alone: median(seconds.of(victim)),
            beside: median(seconds.of(victim + 2)),
            ratio: ratio.value,
            interval: ratio.interval,
        }
    };
    Ok(Mutual {
        first: effect(0),
        second: effect(1),
    })
}
