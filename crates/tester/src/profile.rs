//! How long, how often, how finely: the parameters that RFC 2544 states, and those it leaves open.

use serde::{Deserialize, Serialize};

use crate::trial::Waits;

/// Parameters of all tests; every one of them is in the result.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Profile {
    /// Its name is in the report.
    pub quick: bool,
    /// Trials while a search narrows its bounds, s.
    pub search_seconds: f64,
    /// Trials that decide, s.
    pub final_seconds: f64,
    /// A longer trial at what a search found, s: shows whether a buffer of the device bridged the
    /// shorter ones. None is run if it is no longer than those.
    #[serde(default)]
    pub look_seconds: f64,
    /// A search for the throughput at one size ends after so many seconds, with the bounds that it
    /// has by then; 0: when it has converged.
    #[serde(default)]
    pub size_seconds: f64,
    /// Bounds closer than this share end a search.
    pub resolution: f64,
    /// Most trials of one rate.
    pub tries: u32,
    /// How many of them must pass.
    pub passes: u32,
    /// Jump to the forwarding rate seen rather than halving.
    pub follow_hints: bool,
    /// Repetitions of a trial that the tester botched, or that was disturbed and failed for no
    /// more than that.
    pub retries: u32,
    /// Trials of a latency test, s, and how many at each load.
    pub latency_seconds: f64,
    /// Repetitions at each load.
    pub latency_repeats: u32,
    /// Trials of the loss curve, s.
    pub loss_seconds: f64,
    /// Step of the loss curve as a share of the maximum rate; at most a tenth.
    pub loss_step: f64,
    /// Extra points between the last rate without loss and the first with.
    pub loss_knee_points: u32,
    /// Longest burst, s at the tester's burst rate.
    pub burst_seconds: f64,
    /// Independent burst searches.
    pub burst_repeats: u32,
    /// Overload before recovery, s, and half load after it.
    pub recovery_seconds: (f64, f64),
    /// Recovery trials.
    pub recovery_repeats: u32,
    /// Forwarding before a reset and after it, s.
    pub reset_seconds: (f64, f64),
    /// Reset trials.
    pub reset_repeats: u32,
    /// Waits around each trial.
    pub waits: Waits,
}

impl Profile {
    /// Trial lengths, repetitions and waits of the RFCs; half a per cent of resolution.
    pub const RFC_2544: Self = Self {
        quick: false,
        search_seconds: 2.0,
        final_seconds: 60.0,
        look_seconds: 0.0,
        size_seconds: 0.0,
        resolution: 0.005,
        tries: 1,
        passes: 1,
        follow_hints: false,
        retries: 2,
        latency_seconds: 120.0,
        latency_repeats: 20,
        loss_seconds: 60.0,
        loss_step: 0.1,
        loss_knee_points: 4,
        burst_seconds: 2.0,
        burst_repeats: 50,
        recovery_seconds: (60.0, 20.0),
        recovery_repeats: 5,
        reset_seconds: (15.0, 45.0),
        reset_repeats: 5,
        waits: Waits::RFC_2544,
    };

    /// For a look in seconds: short trials, short waits, and up to three trials of a rate, of which
    /// two must pass: a device on a shared machine loses a frame now and then at any rate, and
    /// the rate that passes more often than not can be found again, where the one at which
    /// nothing ever failed, or the highest that ever passed, is an accident (`MLRsearch`'s exceed
    /// ratio of one half). Deciding trials are as long as those of the search: where stalls
    /// come at random a longer one fails more often, and the search would begin anew at its
    /// end.
    pub const QUICK: Self = Self {
        quick: true,
        search_seconds: 0.1,
        final_seconds: 0.1,
        // Short enough for a real-time priority.
        look_seconds: 0.8,
        size_seconds: 30.0,
        resolution: 0.01,
        tries: 3,
        passes: 2,
        follow_hints: true,
        retries: 3,
        latency_seconds: 0.5,
        latency_repeats: 3,
        loss_seconds: 0.2,
        loss_step: 0.1,
        loss_knee_points: 3,
        burst_seconds: 0.1,
        burst_repeats: 5,
        recovery_seconds: (1.0, 1.0),
        recovery_repeats: 3,
        reset_seconds: (1.0, 4.0),
        reset_repeats: 3,
        waits: Waits::QUICK,
    };

    /// With deciding, latency and loss trials of so many seconds; trials of a search are no longer
    /// than they.
    #[must_use]
    pub fn with_trials_of(self, seconds: f64) -> Self {
        Self {
            search_seconds: self.search_seconds.min(seconds),
            final_seconds: seconds,
            latency_seconds: seconds,
            loss_seconds: seconds,
            ..self
        }
    }

    /// With so many repetitions of every trial that is repeated for its mean or median.
    #[must_use]
    pub fn with_repeats(self, repeats: u32) -> Self {
        Self {
            latency_repeats: repeats,
            burst_repeats: repeats,
            recovery_repeats: repeats,
            reset_repeats: repeats,
            ..self
        }
    }
}

#[cfg(test)]
#[path = "../tests/unit/profile.rs"]
mod tests;
