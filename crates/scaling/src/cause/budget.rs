//! What the profiler saw of one run, as the cause needs it: core time that the program did not use,
//! by reason.

use serde::{Deserialize, Serialize};

/// Core time of one recorded run, in seconds. `program`, the parts of `lost` and `unknown` sum to
/// `wall * cores`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Budget {
    /// Wall time.
    pub wall: f64,
    /// Cores recorded: all of the machine.
    pub cores: u32,
    /// The program ran.
    pub program: f64,
    /// Share of the program's own time in which it polled locks of its own.
    pub polling: f64,
    /// Share of the program's own time in which it polled locks of the kernel.
    pub kernel_polling: f64,
    /// It did not run, by reason, longest first.
    pub lost: Vec<(String, f64)>,
    /// Core time that is the recorder's or not explained.
    pub unknown: f64,
    /// Events that the recorder lost: more than 0 makes the rest doubtful.
    pub events_lost: u64,
}

impl Budget {
    /// The reasons with their shares of all core time that the program did not use (the recorder's
    /// own is nobody's loss).
    pub fn shares(&self) -> Vec<(String, f64)> {
        let sum: f64 = self.lost.iter().map(|(_, seconds)| seconds).sum();
        if sum <= 0.0 {
            return Vec::new();
        }
        self.lost
            .iter()
            .map(|(reason, seconds)| (reason.clone(), seconds / sum))
            .collect()
    }
}
