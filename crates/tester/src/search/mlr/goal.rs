//! The goals of a search.

/// What one search looks for. Durations in seconds, ratios as shares (0.005 is half a per cent).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Length of the trials that count in full.
    pub final_trial_duration: f64,
    /// Trials at a load go on until this much time decides it.
    pub duration_sum: f64,
    /// A trial that loses more than this share is bad.
    pub loss_ratio: f64,
    /// Share of the time that may be bad.
    pub exceed_ratio: f64,
    /// Bounds closer than this share of the upper one end the search.
    pub relative_width: f64,
}

impl Goal {
    /// RFC 2544: one trial of 60 s without loss.
    pub const RFC_2544: Goal = Goal {
        final_trial_duration: 60.0,
        duration_sum: 60.0,
        loss_ratio: 0.0,
        exceed_ratio: 0.0,
        relative_width: 0.005,
    };
    /// Non-drop rate as FD.io measures it: half of 21 trials without loss. Theirs take 1 s. These are
    /// short enough for a real-time priority ([`host::favour::Urgent::LONGEST`]), for a thread that is
    /// kept from its core loses frames that the device would not have lost.
    pub const NDR: Goal = Goal {
        final_trial_duration: 0.875,
        duration_sum: 21.0 * 0.875,
        loss_ratio: 0.0,
        exceed_ratio: 0.5,
        relative_width: 0.005,
    };
    /// Partial drop rate as FD.io measures it: half of 21 trials lose at most 0.5 %.
    pub const PDR: Goal = Goal {
        loss_ratio: 0.005,
        ..Self::NDR
    };
}
