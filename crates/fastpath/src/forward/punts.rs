//! How many frames of each class the kernel gets from a port in a second: what it must answer, ask
//! about or deliver frame by frame costs it more than forwarding, and it shares cores with routing
//! protocols (RFC 6192).
//!
//! A class is named by the reason for what is above its limit. One token bucket for each port and
//! class holds a second's worth; all CPUs share it, so the limit is exact. `bpf/police.h` says what
//! belongs to a class. Nothing that is forwarded has one, whether the program or the kernel does
//! it.

use std::fmt;
use std::str::FromStr;

use bpf::map::MappedArray;

use super::{Forwarder, Reason, counters};

/// Nanoseconds.
const SECOND: u64 = 1_000_000_000;
/// 64-bit words of `struct policer` of the C source.
const WORDS: usize = 4;
const FIRST: usize = Reason::PolicedRouting as usize;
/// `CLASSES` of the C source.
const CLASSES: usize = Reason::PolicedTooBig as usize - FIRST + 1;
/// What begins the names of the reasons.
const PREFIX: &str = "policed-";
/// The largest limit: beyond, none is of use.
const LARGEST: u32 = 10_000_000;
/// What a text may be.
pub const ALLOWED: &str = "allowed are \"none\" and CLASS=FRAMES, CLASS=FRAMES ..., frames in a \
                           second from 0 (no limit) to 10000000. Classes are routing, neighbour, \
                           local, group, expired, no-route, unresolved, options, too-big";

/// Frames in a second, by class in the order of their reasons; 0: no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PuntLimits([u32; CLASSES]);

impl PuntLimits {
    /// No limits: how a forwarder begins.
    pub const NONE: Self = Self([0; CLASSES]);

    /// Each class with its limit.
    pub fn classes(&self) -> impl Iterator<Item = (&'static str, u32)> {
        let names = Reason::ALL[FIRST..].iter().map(|reason| reason.name());
        let names = names.map(|name| name.strip_prefix(PREFIX).unwrap_or(name));
        names.zip(self.0)
    }
}

impl Default for PuntLimits {
    /// What the kernel answers in a second anyhow (`icmp_msgs_per_sec`), and as many unresolved
    /// neighbours as its table has room for (`gc_thresh3`) while it asks three times for each. What
    /// is delivered here may be fast and wanted.
    fn default() -> Self {
        Self([0, 10_000, 0, 10_000, 1000, 1000, 200, 1000, 1000])
    }
}

impl FromStr for PuntLimits {
    type Err = &'static str;

    /// Classes that are not named keep their default.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "none" {
            return Ok(Self::NONE);
        }
        let mut limits = Self::default();
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let (class, frames) = part.split_once('=').ok_or(ALLOWED)?;
            let place = limits.classes().position(|(name, _)| name == class.trim());
            let frames = frames.trim().parse().ok();
            let frames = frames.filter(|&frames| frames <= LARGEST).ok_or(ALLOWED)?;
            limits.0[place.ok_or(ALLOWED)?] = frames;
        }
        Ok(limits)
    }
}

impl fmt::Display for PuntLimits {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self
            .classes()
            .map(|(class, n)| format!("{class}={n}"))
            .collect();
        out.write_str(&parts.join(", "))
    }
}

impl Forwarder {
    /// From now on the kernel gets so many punts of each class from each port.
    pub fn set_punt_limits(&mut self, limits: &PuntLimits) {
        for port in 0..counters::PORTS {
            for (class, frames) in limits.0.into_iter().enumerate() {
                let interval = SECOND.checked_div(u64::from(frames)).unwrap_or(0);
                let depth = interval * u64::from(frames).saturating_sub(1);
                let at = (port * CLASSES + class) * WORDS;
                self.policers.write(at + 1, interval);
                self.policers.write(at + 2, depth);
            }
        }
    }
}

/// Is there a limit on a port's punts for unresolved neighbours?
pub(super) fn limits_unresolved(policers: &MappedArray<u64>, port: usize) -> bool {
    let class = Reason::PolicedUnresolved as usize - Reason::PolicedRouting as usize;
    policers.read((port * CLASSES + class) * WORDS + 1) != 0
}
