//! Verdicts: what a result is worth, given what the tester itself can do.
//!
//! A tester that can just offer what the device carries measures itself. So every result stands
//! beside the self-test of the same size, ports and cores, with the device replaced by a wire. RFC
//! 8219 §9.2.1 demands twice the rate in a loop for its DNS test; we take over the factor for
//! "clean", call it "marked" down to 1.1, and below that give only a lower bound.

use report::units::FramesPerSecond;
use serde::{Deserialize, Serialize};

use crate::search::Limit;

/// The tester can do this many times the result; what of it may still be the tester's is printed
/// ([`upper_bound`]).
pub const CLEAN: f64 = 2.0;
/// Down to this factor a result stands, marked.
pub const MARKED: f64 = 1.1;

/// What a result is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// The self-test reaches at least twice the result.
    Clean,
    /// The self-test reaches at least 1.1 times the result.
    Marked,
    /// The device does at least this: the tester cannot tell more.
    Limited,
    /// The machine was disturbed while the deciding trial ran.
    Noisy,
    /// The device failed the test: there is no number, and that is the result.
    Failed,
    /// The tester failed: there is no number.
    Invalid,
}

impl Grade {
    /// One word.
    pub fn word(self) -> String {
        report::json::name(&self)
    }
}

/// The most that the device alone may do, frames/s, when `rate` was measured with a tester that does
/// `selftest`: a core that both share spends 1/rate a frame, of which up to 1/selftest is the
/// tester's. `None` when the tester's share may be all.
pub fn upper_bound(rate: f64, selftest: f64) -> Option<f64> {
    let device = 1.0 / rate - 1.0 / selftest;
    (rate > 0.0 && device > 0.0).then(|| 1.0 / device)
}

/// Grades a rate against the self-test's. `noise` is the reason why the deciding trial was
/// disturbed, if it was.
pub fn grade(
    rate: f64,
    selftest: Option<f64>,
    limit: Limit,
    noise: Option<&str>,
) -> (Grade, String) {
    let Some(selftest) = selftest else {
        return (
            Grade::Limited,
            "no self-test stands beside this result".to_owned(),
        );
    };
    let factor = selftest / rate.max(f64::MIN_POSITIVE);
    let cause = if factor < MARKED {
        Some("limited by the tester")
    } else {
        match limit {
            Limit::Tester => Some("the tester could not offer the next rate through this device"),
            Limit::Range => Some("no higher rate was offered"),
            Limit::Device => None,
        }
    };
    if let Some(cause) = cause {
        let words = format!(
            "{cause}: the device does at least this; over a cable the self-test reaches \
             {factor:.2} times as much"
        );
        return (Grade::Limited, words);
    }
    if let Some(noise) = noise {
        return (Grade::Noisy, noise.to_owned());
    }
    let most = upper_bound(rate, selftest).map_or(String::new(), |most| {
        format!(
            "; without the tester's share of a core the device does at most {}",
            FramesPerSecond(most)
        )
    });
    let words = format!("the self-test reaches {factor:.1} times the result{most}");
    if factor >= CLEAN {
        (Grade::Clean, words)
    } else {
        (Grade::Marked, words)
    }
}

#[cfg(test)]
#[path = "../tests/unit/honest.rs"]
mod tests;
