//! Whether somebody else had the cores during a trial.
//!
//! A device's buffer bridges an interruption of its thread by buffer / rate: 256 frames, the ring
//! of a veth, are 0.3 ms at 800 000 frames/s. So it matters less how busy the machine is than
//! whether the threads that take part had to *wait*, ready to run, for their core. The kernel
//! counts that for every thread.

use host::CoreId;
use host::noise::{NOISY_STEAL, Reading, waited_ns};

/// Waiting beyond this share of a trial marks it as noisy, as steal does beyond [`NOISY_STEAL`].
/// Kernel threads that do their few microseconds of housekeeping keep the others waiting a tenth of
/// this.
const NOISY_WAITING: f64 = 0.005;

/// What others took, as shares of a trial's time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Disturbance {
    /// By the hypervisor.
    pub steal: f64,
    /// By whoever else ran while the threads of the trial were ready to: the longest-waiting
    /// thread counts.
    pub waited: f64,
    /// Times this process was taken off its core.
    pub involuntary_switches: u64,
}

impl Disturbance {
    /// The worse of each of two.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        Self {
            steal: self.steal.max(other.steal),
            waited: self.waited.max(other.waited),
            involuntary_switches: self.involuntary_switches.max(other.involuntary_switches),
        }
    }

    /// Why the trial's figures are doubtful; `None` when they are not.
    pub fn noise(&self) -> Option<String> {
        if self.steal > NOISY_STEAL {
            return Some(format!(
                "the hypervisor took {:.2} % of the time",
                self.steal * 100.0
            ));
        }
        (self.waited > NOISY_WAITING).then(|| {
            format!(
                "others ran for {:.1} % of the time on a core that was needed",
                self.waited * 100.0
            )
        })
    }
}

/// Watches cores and threads from its making on.
#[derive(Debug)]
pub(crate) struct Watch {
    cores: Vec<CoreId>,
    threads: Vec<(u32, u64)>,
    before: Reading,
    begun_ns: u64,
}

impl Watch {
    /// Watches the calling thread, the kernel's `threads` that take part, and `cores`.
    pub(crate) fn new(cores: &[CoreId], threads: &[u32]) -> Self {
        let own = host::process::this_thread();
        Self {
            cores: cores.to_vec(),
            threads: threads
                .iter()
                .chain([&own])
                .map(|&thread| (thread, waited_ns(thread)))
                .collect(),
            before: Reading::now(cores),
            begun_ns: host::clock::now_ns(),
        }
    }

    /// What has happened since.
    pub(crate) fn end(self) -> Disturbance {
        let noise = self.before.until(&Reading::now(&self.cores));
        let passed = host::clock::now_ns().saturating_sub(self.begun_ns).max(1);
        let longest = self
            .threads
            .iter()
            .map(|&(thread, before)| waited_ns(thread).saturating_sub(before))
            .max()
            .unwrap_or(0);
        Disturbance {
            steal: noise.steal,
            waited: longest as f64 / passed as f64,
            involuntary_switches: noise.involuntary_switches,
        }
    }
}

#[cfg(test)]
#[path = "../tests/unit/disturbance.rs"]
mod tests;
