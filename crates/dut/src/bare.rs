//! No device: generator, cable and sink alone. What a device between interfaces forwards bears their
//! cost too, and here it is by itself. A device has a second cable besides.

use std::ops::Range;
use std::time::Duration;

use host::counting::Counting;
use tester::result::Entry;
use tester::trial::Validity;
use tester::veth::lanes::{Lanes, Load, Pace};

use crate::case::{Case, Sample};
use crate::device::{Abilities, Device, Setting};
use crate::error::Error;
use crate::offer::Wanted;

/// Generators of all cores and a sink at the other end of their cable.
pub struct Bare {
    lanes: Lanes,
    load: Load,
}

impl Bare {
    /// Makes the namespaces and the cable of a setting.
    ///
    /// # Errors
    /// When a namespace cannot be made or a program is refused.
    pub fn open(setting: &Setting) -> Result<Self, Error> {
        let mut lanes = setting.lanes("bare")?;
        lanes.end_at_entrance()?;
        Ok(Self {
            lanes,
            load: Load::default(),
        })
    }

    /// Frames a second that arrive when the generators of a range of the setting's cores send as
    /// fast as they can, for about `trial`.
    ///
    /// # Errors
    /// When it cannot be measured, or its sums do not close.
    pub fn measure(
        &mut self,
        cores: Range<usize>,
        frame_bytes: u32,
        trial: Duration,
    ) -> Result<(f64, Counting), Error> {
        let wanted = (frame_bytes, cores);
        let carried = self.load.carry(&self.lanes, wanted, Pace::Call, trial)?;
        if let Validity::Invalid(why) = carried.validity {
            return Err(why.into());
        }
        Ok((carried.frames_per_second, carried.counted))
    }

    /// The highest rate without loss of the generators of a range of the setting's cores: no device
    /// beside them can have more.
    ///
    /// # Errors
    /// A frame size that the cable does not carry.
    pub fn search(
        &mut self,
        cores: Range<usize>,
        frame_bytes: u32,
        wanted: &Wanted,
    ) -> Result<Entry, Error> {
        let searched = (frame_bytes, cores);
        wanted.on_lanes(&self.lanes, &mut self.load, searched, Pace::Call)
    }
}

/// Forwards nothing, and can be measured like what does.
impl Device for Bare {
    fn abilities(&self) -> Abilities {
        Abilities::between_interfaces(Vec::new(), usize::MAX)
    }

    fn method(&self) -> String {
        "Generator, cable and sink, without a device.".to_owned()
    }

    fn measure(&mut self, case: &Case, trial: Duration) -> Result<Sample, Error> {
        let (frames_per_second, counted) =
            Bare::measure(self, case.cores(), case.frame_bytes, trial)?;
        Ok(Sample {
            frames_per_second,
            changes_per_second: 0.0,
            counted,
        })
    }
}
