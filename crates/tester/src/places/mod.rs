//! Where the lost frames of a trial were lost: by the counters of the interfaces on their way, and
//! by what the device says itself.
//!
//! A rig made [`Placing`] reads them around every trial. A share is never larger than what is left
//! of the loss, and what no counter explains stays with the device, without a reason; so the shares
//! always add up to what was lost.

mod interfaces;
mod rig;

use std::cell::Cell;

use serde::{Deserialize, Serialize};

pub(crate) use interfaces::Counters;
pub use rig::{Placing, Reasons, Told, Way};

use crate::trial::Counts;

/// A stretch of a frame's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// The sender's interface did not take it.
    Sender,
    /// Between the sender's interface and the device: the device's queue was full.
    IntoDevice,
    /// The device had it and did not send it.
    Device,
    /// Between the device and the receiver: the receiver's queue was full.
    OutOfDevice,
    /// It came and counts as lost: corrupt, late, or out of the wrong port.
    Receiver,
    /// Behind the sender's interface, where no counter can be seen.
    Unseen,
}

impl Place {
    /// Where that is, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Sender => "at the sender's interface",
            Self::IntoDevice => "into the device",
            Self::Device => "in the device",
            Self::OutOfDevice => "out of the device",
            Self::Receiver => "at the receiver",
            Self::Unseen => "not seen where",
        }
    }
}

/// Frames lost in one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lost {
    /// Where.
    pub place: Place,
    /// Why, as the device calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How many.
    pub frames: u64,
}

/// In words: how many frames were lost where.
pub fn words(lost: &[Lost]) -> String {
    let part = |one: &Lost| {
        let reason = one.reason.iter().map(|reason| format!(" ({reason})"));
        let reason: String = reason.collect();
        format!("{} {}{reason}", one.frames, one.place.words())
    };
    lost.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// What the counters on the way rose by in a trial.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    /// Handed to the sending interfaces, and neither sent nor refused.
    untaken: u64,
    /// Refused on the way to the device, or dropped by its interface.
    into_device: u64,
    /// Refused on the way from the device.
    out_of_device: u64,
    /// By what was told of a device that nobody sees.
    told: Vec<(String, u64)>,
}

/// Frames that the sending interfaces neither sent nor refused. One that counts fewer than came
/// back does not count those of programs and sockets: it says nothing.
fn untaken(counts: &Counts, ends: &Counters) -> u64 {
    let counted = ends.transmitted + ends.transmit_drops;
    if counted < counts.came() {
        return 0;
    }
    (counts.sent + counts.modifiers).saturating_sub(counted)
}

/// Divides what a trial lost. The device's own `reasons` are asked for only where something is left,
/// for that takes milliseconds; `None` where nobody sees the device.
fn divide(
    counts: &Counts,
    seen: Seen,
    reasons: impl FnOnce() -> Option<Vec<(String, u64)>>,
) -> Vec<Lost> {
    let rest = Cell::new(counts.lost);
    let mut shares = Vec::new();
    let mut take = |place, reason, frames: u64| {
        let frames = frames.min(rest.get());
        rest.set(rest.get() - frames);
        if frames > 0 {
            shares.push(Lost {
                place,
                reason,
                frames,
            });
        }
    };
    let spoilt = counts.corrupt + counts.misdirected + counts.late;
    take(Place::Sender, None, seen.untaken);
    take(Place::IntoDevice, None, seen.into_device);
    take(Place::OutOfDevice, None, seen.out_of_device);
    take(Place::Receiver, None, spoilt);
    for (counter, frames) in seen.told {
        take(Place::Device, Some(counter), frames);
    }
    if rest.get() == 0 {
        return shares;
    }
    let remainder = match reasons() {
        Some(reasons) => {
            for (reason, frames) in reasons {
                take(Place::Device, Some(reason), frames);
            }
            Place::Device
        }
        None => Place::Unseen,
    };
    take(remainder, None, u64::MAX);
    shares
}

#[cfg(test)]
#[path = "../../tests/unit/places.rs"]
mod tests;
