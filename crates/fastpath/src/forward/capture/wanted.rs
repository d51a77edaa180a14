//! Which frames are shown, and for whom.

use bpf::classic::Filter;

use super::samples;
use crate::forward::Reason;
use crate::{Error, Result};

/// Of a tag that lay beside a frame.
const TAG: u16 = 4;

/// The most that is kept of a frame, in bytes: the kernel has no larger place for each core.
pub const LONGEST_SNAP: u16 = 16 << 10;

/// Which frames are wanted, and how much of each.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Those that were left for one of these reasons.
    pub reasons: Vec<Reason>,
    /// Those that were forwarded.
    pub forwarded: bool,
    /// Of all that come, one in so many is looked at, by chance.
    pub every: u32,
    /// Bytes of each, up to [`LONGEST_SNAP`].
    pub snap: u16,
    /// Those that pass it, and few others: who reads filters again.
    pub filter: Option<Filter>,
    /// Those that came by one of these interfaces; by any when empty.
    pub ports: Vec<u32>,
}

impl Wanted {
    /// Can a program show these?
    ///
    /// # Errors
    /// Why not, and what to do.
    pub(super) fn check(&self) -> Result<()> {
        if let Some(reason) = self.reasons.iter().find(|reason| !reason.is_shown()) {
            let remedy = "it is found out when the frame has gone on; capture forwarded frames, \
                          and count these with corelane show drops";
            return Err(Error::value("reason", reason.name(), remedy));
        }
        if !(64..=LONGEST_SNAP).contains(&self.snap) {
            let remedy = format!("give 64 to {LONGEST_SNAP} bytes");
            return Err(Error::value("snap", self.snap, remedy));
        }
        if self.every == 0 {
            return Err(Error::value("sample", 0, "give 1 or more"));
        }
        Ok(())
    }

    /// `WANTED` of the C source.
    pub(super) fn bits(&self) -> u64 {
        u64::from(self.forwarded) << Reason::COUNT | bits(self.reasons.iter().copied())
    }
}

/// A bit for each reason.
pub(super) fn bits(reasons: impl Iterator<Item = Reason>) -> u64 {
    reasons.fold(0, |all, reason| all | 1 << reason as u64)
}

/// What programs are to show.
#[derive(Clone, Debug)]
pub(super) struct Purpose {
    /// For whoever captures.
    pub(super) capture: Option<Wanted>,
    /// For whoever wants samples.
    pub(super) samples: bool,
}

impl Purpose {
    /// Bytes of a frame that a program has room for.
    pub(super) fn room(&self) -> u16 {
        let captured = self.capture.as_ref().map_or(0, |wanted| wanted.snap);
        let sampled = if self.samples { samples::SNAP } else { 0 };
        captured.max(sampled) + TAG
    }

    pub(super) fn filter(&self) -> Option<&Filter> {
        self.capture.as_ref()?.filter.as_ref()
    }

    /// May a frame be wanted that is not looked at, as it turns out? `MAY_BE_TOLD` of the C source.
    pub(super) fn tells_of_any(&self) -> bool {
        let chooses = |wanted: &Wanted| wanted.forwarded || wanted.every > 1;
        self.samples || self.capture.as_ref().is_some_and(|wanted| !chooses(wanted))
    }

    /// Are frames looked at by turn, if at all? Otherwise each may be.
    pub(super) fn takes_turns(&self) -> bool {
        let all = |wanted: &Wanted| wanted.forwarded && wanted.every <= 1;
        !self.capture.as_ref().is_some_and(all)
    }

    /// Does it want frames of a port?
    pub(super) fn wants(&self, ifindex: u32) -> bool {
        let ports = self.capture.as_ref().map(|wanted| &wanted.ports);
        self.samples || ports.is_some_and(|ports| ports.is_empty() || ports.contains(&ifindex))
    }

    /// Does a capture want frames of a port?
    pub(super) fn captures(&self, ifindex: u32) -> bool {
        let ports = self.capture.as_ref().map(|wanted| &wanted.ports);
        ports.is_some_and(|ports| ports.is_empty() || ports.contains(&ifindex))
    }
}
