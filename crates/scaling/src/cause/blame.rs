//! The parts of the exact split divided further by what the instruments saw, and what remains
//! unexplained.
//!
//! A part of the split says *that* cores idled or work got dearer; its children say *why*. Children
//! come from instruments that see different things, so within one part they may overlap, and what
//! presses from outside is an upper bound: the remainder of a part is what its children together
//! leave, and never below nothing.

use figures::Interval;
use serde::{Deserialize, Serialize};

use super::budget::Budget;
use super::counters::Inflation;
use super::pressure::Sensitivity;

/// A part of the lost efficiency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cause {
    /// What it is.
    pub name: String,
    /// Of which part of the split it is a part; nothing for the parts of the split themselves.
    #[serde(default)]
    pub of: Option<String>,
    /// Its part of the loss: the parts of the exact split add to 1. Negative where it was a gain.
    pub share: f64,
    /// Interval of the share over the rounds; `None` where one run was looked at, which has none.
    pub interval: Option<Interval>,
    /// The factor on the efficiency.
    pub factor: f64,
    /// How it is known.
    pub evidence: String,
}

/// Names of the parts of the split that can be divided further.
pub const IDLE: &str = "idle cores";
/// See [`IDLE`].
pub const USER: &str = "dearer user work";
/// See [`IDLE`].
pub const SYSTEM: &str = "dearer system work";
/// Taken by the hypervisor: a cause by itself.
pub const STEAL: &str = "steal by the hypervisor";

/// Less than this share of the loss is no child of its own.
const WORTH_NAMING: f64 = 0.02;

/// What the instruments saw.
#[derive(Debug, Clone, Copy, Default)]
pub struct Evidence<'a> {
    /// One run under the profiler.
    pub budget: Option<&'a Budget>,
    /// Hardware counters.
    pub counters: Option<&'a Inflation>,
    /// Pressure on one shared resource at a time.
    pub pressure: &'a [Sensitivity],
}

/// The children of the parts of `split`, whose shares are of a loss with the logarithm `total`
/// (below 0).
pub fn children(split: &[Cause], total: f64, evidence: &Evidence) -> Vec<Cause> {
    let lost: Vec<&Cause> = split.iter().filter(|part| part.share > 0.0).collect();
    let mut found = Vec::new();
    for part in lost {
        match part.name.as_str() {
            IDLE => {
                for (reason, share) in evidence.budget.map(Budget::shares).unwrap_or_default() {
                    found.push(child(part, reason, share, "one run under the profiler"));
                }
            }
            USER => {
                if let Some(inflation) = evidence.counters {
                    found.extend(counted(part, inflation));
                } else {
                    found.extend(polling(part, total, evidence.budget.map(|b| b.polling)));
                    for felt in evidence.pressure {
                        if let Some(share) = felt.share.filter(|_| felt.felt) {
                            found.push(child(
                                part,
                                felt.channel.name().to_owned(),
                                share,
                                "pressed on alone, at most",
                            ));
                        }
                    }
                }
            }
            SYSTEM => found.extend(polling(
                part,
                total,
                evidence.budget.map(|b| b.kernel_polling),
            )),
            _ => {}
        }
    }
    found.retain(|cause| cause.share >= WORTH_NAMING);
    found
}

/// The share of the loss that nothing explains: what the children of each part leave of it. Steal
/// is a cause by itself.
pub fn unexplained(split: &[Cause], children: &[Cause]) -> f64 {
    let left = |part: &&Cause| {
        let named: f64 = children
            .iter()
            .filter(|child| child.of.as_deref() == Some(&part.name))
            .map(|child| child.share)
            .sum();
        (part.share - named).max(0.0)
    };
    split
        .iter()
        .filter(|part| part.name != STEAL && part.share > 0.0)
        .map(|part| left(&part))
        .sum::<f64>()
        .min(1.0)
}

/// A part of `part`: the share `of_part` of it.
fn child(part: &Cause, name: String, of_part: f64, evidence: &str) -> Cause {
    Cause {
        name,
        of: Some(part.name.clone()),
        share: part.share * of_part,
        interval: None,
        factor: part.factor.powf(of_part),
        evidence: evidence.to_owned(),
    }
}

/// The dearer work by counters: exact, so the three add up to the part.
fn counted(part: &Cause, inflation: &Inflation) -> Vec<Cause> {
    let sum = inflation.instructions + inflation.stalls + inflation.clock;
    if sum >= 0.0 {
        return Vec::new();
    }
    [
        ("more instructions", inflation.instructions),
        ("stalls", inflation.stalls),
        ("a lower clock", inflation.clock),
    ]
    .into_iter()
    .map(|(name, log)| child(part, name.to_owned(), log / sum, "hardware counters"))
    .collect()
}

/// Polling of locks: the share `polled` of the program's time was no work, which made the rest
/// dearer by `1/(1 - polled)`.
fn polling(part: &Cause, total: f64, polled: Option<f64>) -> Option<Cause> {
    let polled = polled.filter(|p| (0.0..1.0).contains(p))?;
    let of_loss = (1.0 - polled).ln() / total;
    (total < 0.0 && part.share > 0.0).then(|| {
        child(
            part,
            "polling locks".to_owned(),
            (of_loss / part.share).clamp(0.0, 1.0),
            "samples of the profiler",
        )
    })
}

#[cfg(test)]
#[path = "../../tests/unit/cause_blame.rs"]
pub(crate) mod tests;
