//! How much the machine disturbed a measurement: time stolen by the hypervisor, and involuntary
//! context switches.

use serde::{Deserialize, Serialize};

use crate::cores::CoreId;
use crate::files;
use crate::observe::Times;

/// Share of stolen time above which a trial is called noisy.
pub const NOISY_STEAL: f64 = 0.001;

/// A reading of the counters at one moment.
#[derive(Clone, Debug)]
pub struct Reading {
    times: Times,
    voluntary: u64,
    involuntary: u64,
    /// Processor time, s.
    ran: f64,
}

/// What happened between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Noise {
    /// Share of the cores' time that the hypervisor gave to others, 0 to 1.
    pub steal: f64,
    /// Context switches of this process that it asked for by waiting.
    pub voluntary_switches: u64,
    /// Context switches forced on this process: somebody else wanted the core.
    pub involuntary_switches: u64,
    /// Processor time of this process with all its threads, s.
    #[serde(default)]
    pub ran_seconds: f64,
}

impl Noise {
    /// Whether the figures measured meanwhile deserve a warning.
    pub fn is_noisy(&self) -> bool {
        self.steal > NOISY_STEAL
    }
}

impl Reading {
    /// Reads the counters now: steal of `cores`, switches of this process with all its threads.
    pub fn now(cores: &[CoreId]) -> Self {
        let usage = resource_usage();
        Self {
            times: Times::now(cores),
            voluntary: usage.ru_nvcsw.unsigned_abs(),
            involuntary: usage.ru_nivcsw.unsigned_abs(),
            ran: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        }
    }

    /// What happened from this reading to a later one.
    pub fn until(&self, later: &Self) -> Noise {
        let passed = self.times.until(&later.times);
        let total = passed.total();
        Noise {
            steal: if total > 0.0 {
                passed.steal / total
            } else {
                0.0
            },
            voluntary_switches: later.voluntary.saturating_sub(self.voluntary),
            involuntary_switches: later.involuntary.saturating_sub(self.involuntary),
            ran_seconds: (later.ran - self.ran).max(0.0),
        }
    }
}

/// How long a thread of this process, or of the kernel, has been ready to run without a core in its
/// whole life, ns (`/proc/PID/schedstat`); 0 where the kernel does not tell.
pub fn waited_ns(thread: u32) -> u64 {
    scheduled(thread, 1)
}

/// How long it has run in its whole life, in the same way.
pub fn ran_ns(thread: u32) -> u64 {
    scheduled(thread, 0)
}

fn scheduled(thread: u32, word: usize) -> u64 {
    let text = files::text(format!("/proc/{thread}/schedstat"));
    let mut words = text.split_whitespace();
    let word = words.nth(word).and_then(|word| word.parse().ok());
    word.unwrap_or(0)
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

fn resource_usage() -> libc::rusage {
    // SAFETY: rusage is plain integers, for which all zeros is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel fills the structure it is given; on failure it stays zero.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    usage
}

#[cfg(test)]
#[path = "../tests/unit/noise.rs"]
mod tests;
