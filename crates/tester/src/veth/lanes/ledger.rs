//! Where frames were lost: the interfaces' own counters (`/proc/net/dev`), read before and after.

use host::bed::End;

use super::Lanes;
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
    /// Refused by the cable to the device.
    to_device: u64,
    /// Refused by the cable to the sink.
    from_device: u64,
}

impl Reading {
    /// Reads the interfaces of `lanes`.
    pub(super) fn now(lanes: &Lanes) -> Result<Self> {
        Ok(Self {
            to_device: transmit_drops(&lanes.generator)?,
            from_device: transmit_drops(&lanes.egress)?,
        })
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
    // Of the thread: the process's own is another namespace's.
    let text = end
        .namespace
        .enter(|| std::fs::read_to_string("/proc/thread-self/net/dev"))?;
    Ok(text
        .ok()
        .and_then(|text| field(&text, &end.interface))
        .unwrap_or(0))
}

/// "drop" of the transmit half of the line of `interface`: the twelfth number.
fn field(text: &str, interface: &str) -> Option<u64> {
    const TRANSMIT_DROPS: usize = 11;
    text.lines().find_map(|line| {
        let (name, numbers) = line.split_once(':')?;
        (name.trim() == interface)
            .then(|| numbers.split_whitespace().nth(TRANSMIT_DROPS)?.parse().ok())
            .flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls
    lo: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
   out: 100 10 0 7 0 0 0 0 600 10 0 42 0 0 0 0
";

    #[test]
    fn the_field_is_the_transmit_half_s() {
        assert_eq!(field(TEXT, "out"), Some(42));
        assert_eq!(field(TEXT, "lo"), Some(11));
        assert_eq!(field(TEXT, "ou"), None);
    }

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
