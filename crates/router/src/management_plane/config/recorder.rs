//! `[recorder]`: when and where recordings are written by themselves.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use fastpath::forward::Reason;
use serde::Deserialize;

use super::values;
use crate::management_plane::capture::reason;

/// What `recorder.above` may be.
pub(super) const ABOVE_ALLOWED: &str = "allowed is REASON=FRAMES, REASON=FRAMES ..., frames a \
                                        second from 0 to 4294967295, or \"\" for none";

/// The table of the file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Recorder {
    /// `directory`: where recordings are written (default nowhere).
    pub directory: String,
    /// `seconds`: how far back a recording goes (default 120).
    pub seconds: u32,
    /// `above`: one is written when a reason has more frames a second than this (default none).
    #[serde(deserialize_with = "values::from_text")]
    pub above: Above,
    /// `stall-seconds`: one is written when frames come and none is forwarded for so long (default
    /// 5); 0: never.
    pub stall_seconds: u32,
    /// `different`: one is written when a comparison with the kernel finds a difference (default
    /// true).
    pub different: bool,
    /// `sampling`: one frame in so many is kept for recordings (default 0: none).
    pub sampling: u32,
    /// `keep`: so many recordings are kept, the newest (default 10).
    pub keep: u32,
}

impl Default for Recorder {
    fn default() -> Self {
        Self {
            directory: String::new(),
            seconds: 120,
            above: Above(Vec::new()),
            stall_seconds: 5,
            different: true,
            sampling: 0,
            keep: 10,
        }
    }
}

impl Recorder {
    /// Are recordings written?
    pub fn is_on(&self) -> bool {
        !self.directory.is_empty()
    }

    /// One frame in so many is kept for recordings.
    pub fn every(&self) -> Option<u32> {
        (self.is_on() && self.sampling > 0).then_some(self.sampling)
    }

    /// Are the values allowed?
    pub(super) fn check(&self) -> Result<(), String> {
        let directory = &self.directory;
        if !directory.is_empty() && !directory.starts_with('/') {
            return Err(format!(
                "recorder.directory = {directory:?}: allowed are a path from / on, or \"\" for none"
            ));
        }
        let sizes = [
            ("recorder.seconds", self.seconds, 1, 900),
            ("recorder.stall-seconds", self.stall_seconds, 0, 900),
            ("recorder.sampling", self.sampling, 0, 1 << 24),
            ("recorder.keep", self.keep, 1, 1000),
        ];
        for (key, size, least, most) in sizes {
            if !(least..=most).contains(&size) {
                return Err(format!("{key} = {size}: allowed are {least} to {most}"));
            }
        }
        Ok(())
    }
}

/// Frames a second, by reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Above(pub Vec<(Reason, u32)>);

/// As the file has it.
impl Display for Above {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let limits = self.0.iter();
        let limits = limits.map(|(reason, frames)| format!("{}={frames}", reason.name()));
        out.write_str(&limits.collect::<Vec<_>>().join(", "))
    }
}

impl FromStr for Above {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split(',').map(str::trim);
        let limit = |part: &str| {
            let (name, frames) = part.split_once('=').ok_or(ABOVE_ALLOWED)?;
            let known = || {
                let all: Vec<&str> = Reason::ALL.iter().map(|reason| reason.name()).collect();
                format!("reason {name}: known are {}", all.join(", "))
            };
            let reason = reason(name.trim()).ok_or_else(known)?;
            let frames = frames.trim().parse().map_err(|_| ABOVE_ALLOWED)?;
            Ok((reason, frames))
        };
        let limits = parts.filter(|part| !part.is_empty()).map(limit);
        limits.collect::<Result<_, String>>().map(Self)
    }
}
