//! What a trial is asked to do.

use serde::{Deserialize, Serialize};

use crate::schedule::Schedule;
use crate::sizes::{Family, FrameSize};
use crate::traffic::Traffic;

/// Which port sends to which. Even ports are the device's inputs, odd ones its outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From every input to all outputs by turns, all inputs in the same order (RFC 2544 §16); with
    /// two ports from port 0 to port 1.
    OneWay,
    /// The same in both directions at the same rate (RFC 2544 §14, §16).
    BothWays,
    /// Every port to all others by turns, beginning with its successor (RFC 2889 §5.1).
    Mesh,
    /// From every input to the output beside it: what a cable can carry of [`Direction::OneWay`].
    CablesOneWay,
    /// Between every input and the output beside it: what a cable can carry of the others.
    CablesBothWays,
}

impl Direction {
    /// The streams between `ports` ports, in the order in which each port takes them; those of a
    /// port stand together.
    pub fn streams(self, ports: u8) -> Vec<(u8, u8)> {
        let across = |from: u8| {
            (0..ports)
                .skip(usize::from(1 - from % 2))
                .step_by(2)
                .map(move |to| (from, to))
        };
        match self {
            Self::OneWay => (0..ports).step_by(2).flat_map(across).collect(),
            Self::BothWays => (0..ports).flat_map(across).collect(),
            Self::Mesh => (0..ports)
                .flat_map(|from| (1..ports).map(move |step| (from, (from + step) % ports)))
                .collect(),
            Self::CablesOneWay => (0..ports).step_by(2).map(|from| (from, from ^ 1)).collect(),
            Self::CablesBothWays => (0..ports).map(|from| (from, from ^ 1)).collect(),
        }
    }

    /// The same load on every sending port, where cables take the device's place.
    #[must_use]
    pub const fn over_cables(self) -> Self {
        match self {
            Self::OneWay | Self::CablesOneWay => Self::CablesOneWay,
            Self::BothWays | Self::Mesh | Self::CablesBothWays => Self::CablesBothWays,
        }
    }
}

/// How long to wait around the traffic (RFC 2544 §23), ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Waits {
    /// After learning frames, before the traffic (§23 b).
    pub learning_ns: u64,
    /// For residual frames after the last was sent (§23 d): a frame later than that is lost.
    pub residual_ns: u64,
    /// The wait for residual frames ends early when all have come, or when none has come for this
    /// long.
    pub quiet_ns: u64,
    /// For the device to settle afterwards (§23 e).
    pub settle_ns: u64,
}

impl Waits {
    /// The RFC's: 2 s, 2 s, 5 s.
    pub const RFC_2544: Self = Self {
        learning_ns: 2_000_000_000,
        residual_ns: 2_000_000_000,
        quiet_ns: 2_000_000_000,
        settle_ns: 5_000_000_000,
    };
    /// For a device on the same machine, whose buffers empty in milliseconds.
    pub const QUICK: Self = Self {
        learning_ns: 2_000_000,
        residual_ns: 500_000_000,
        quiet_ns: 15_000_000,
        settle_ns: 2_000_000,
    };
}

/// What a trial is asked to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// Frame size, or sizes by turns (a mix of sizes).
    pub sizes: Vec<FrameSize>,
    /// Which protocol.
    pub family: Family,
    /// Timetable of each sending port.
    pub schedule: Schedule,
    /// Which port sends to which.
    pub direction: Direction,
    /// Destination addresses behind each port, 1 to 2^20.
    pub destinations: u32,
    /// What else is sent.
    pub traffic: Traffic,
    /// Every frame carries its departure time. Otherwise some may do, where reading the clock for
    /// each would cost rate.
    pub time_every_frame: bool,
    /// Waits around the traffic.
    pub waits: Waits,
}

impl Order {
    /// The size, or the mean of a mix, in bytes with FCS.
    pub fn mean_size(&self) -> f64 {
        if let Some(capture) = &self.traffic.replay {
            return capture.mean_size();
        }
        let sum: u64 = self.sizes.iter().map(|size| u64::from(size.bytes())).sum();
        sum as f64 / self.sizes.len().max(1) as f64
    }

    /// Whether test frames of a protocol are sent.
    pub fn sends(&self, family: Family) -> bool {
        match (&self.traffic.replay, self.traffic.blend) {
            (Some(_), _) => false,
            (None, Some(_)) => true,
            (None, None) => family == self.family,
        }
    }

    /// The same order with another timetable.
    #[must_use]
    pub fn with(&self, schedule: Schedule) -> Self {
        Self {
            schedule,
            ..self.clone()
        }
    }
}
