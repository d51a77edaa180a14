//! A device's highest rate without loss between interfaces: RFC 2544's search, by the tester, on
//! the lanes of the closed loop.

use std::ops::Range;
use std::time::Instant;

use tester::bench::{Subject, throughput};
use tester::profile::Profile;
use tester::result::Entry;
use tester::session::Session;
use tester::veth::lanes::{Lanes, LanesRig, Load, Pace};

use crate::error::Error;

/// What a search is asked for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// No rate above it, frames/s of all workers together in each direction.
    pub ceiling: f64,
    /// What the entry is called and compared with.
    pub subject: Subject,
    /// How it searches.
    pub profile: Profile,
    /// No trial begins after it.
    pub until: Option<Instant>,
}

impl Wanted {
    /// Searches with frames of so many bytes on some cores of the lanes of a device that is `pace`
    /// to a closed loop.
    ///
    /// # Errors
    /// A frame size that the cables do not carry.
    pub fn on_lanes(
        &self,
        lanes: &Lanes,
        load: &mut Load,
        (frame_bytes, cores): (u32, Range<usize>),
        pace: Pace,
    ) -> Result<Entry, Error> {
        let mut rig = LanesRig::new(lanes, load, cores, pace, self.ceiling).until(self.until);
        let order = LanesRig::order(frame_bytes, lanes.family(), lanes.direction())?;
        let mut silent = |_: &str| ();
        let session = Session::new(&mut rig, self.profile, order, &mut silent);
        Ok(throughput::run(session, &self.subject, &[]))
    }
}
