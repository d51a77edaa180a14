//! Where frames were lost: the interfaces' own counters (`/proc/net/dev`), read before and after.

use std::iter;

use host::bed::End;

use super::Lanes;
use crate::places::Counters;
use crate::rig::Result;

/// Frames lost, by the place where they were last seen. The three sum up to all that were lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Between generator and device: the queue of the device's end was full.
    pub to_device: u64,
    /// In the device: it took them, and they never left by its egress.
    pub in_device: u64,
    /// Between device and sink: the device sent them, and the queue of the sink's end was full.
    pub from_device: u64,
}

/// What the interfaces have counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    /// Refused by the cables to the device.
    to_device: u64,
    /// Refused by the cables from the device.
    from_device: u64,
}

impl Reading {
    /// Reads the interfaces of `lanes`.
    pub(super) fn now(lanes: &Lanes) -> Result<Self> {
        let mut reading = Self::default();
        for way in iter::once(lanes.there()).chain(lanes.back()) {
            reading.to_device += transmit_drops(way.from)?;
            reading.from_device += transmit_drops(way.leaves)?;
        }
        Ok(reading)
    }

    /// Where `lost` frames went between this reading and a later one.
    pub(super) fn losses(&self, later: &Self, lost: u64) -> Losses {
        let to_device = (later.to_device - self.to_device).min(lost);
        let from_device = (later.from_device - self.from_device).min(lost - to_device);
        Losses {
            to_device,
            in_device: lost - to_device - from_device,
            from_device,
        }
    }
}

/// Frames that an interface had to send and could not.
fn transmit_drops(end: &End) -> Result<u64> {
    let counters = Counters::read(Some(&end.namespace), &end.interface)?;
    Ok(counters.map_or(0, |counters| counters.transmit_drops))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_sum_up_to_what_was_lost() {
        let before = Reading {
            to_device: 5,
            from_device: 1,
        };
        let after = Reading {
            to_device: 8,
            from_device: 3,
        };
        let losses = before.losses(&after, 10);
        assert_eq!(
            losses,
            Losses {
                to_device: 3,
                in_device: 5,
                from_device: 2
            }
        );
        assert_eq!(before.losses(&after, 0), Losses::default());
    }
}
