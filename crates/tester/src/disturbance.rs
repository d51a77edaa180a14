//! Whether somebody else had the cores during a trial.
//!
//! A device's buffer bridges an interruption of its thread by buffer / rate: 256 frames, the ring
//! of a veth, are 0.3 ms at 800 000 frames/s. So it matters less how busy the machine is than
//! whether the threads that take part had to *wait*, ready to run, for their core. The kernel
//! counts that for every thread.
//!
//! What the kernel does for packets is the device at work. It is not waited for at the end of an
//! interrupt, so it does not count in the thread that takes over from there (`ksoftirqd`) either. Nor
//! do the workers of a device that has threads of its own on the tester's core.
//!
//! What the hypervisor takes, the kernel counts in ticks of 10 ms: a tick in a short trial says
//! that something was taken around it, not how much. So the clock of each core that the trial needs
//! is looked at too ([`gaps`]).

use host::CoreId;
use host::lookers::Lookers;
use host::noise::{NOISY_STEAL, Noise, Reading, ran_ns, waited_ns};
use host::tasks;

use crate::gaps::{self, Looker};

/// Waiting beyond this share of a trial marks it as noisy, as steal does beyond [`NOISY_STEAL`].
/// Kernel threads that do their few microseconds of housekeeping keep the others waiting a tenth of
/// this. The same for a core that was away.
const NOISY_WAITING: f64 = 0.005;

/// A loss of no more than so many times what came while others ran is theirs: the device has to catch
/// up afterwards, too.
const CATCHING_UP: f64 = 2.0;

/// What others took, as shares of a trial's time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Disturbance {
    /// By the hypervisor, of the core from which it took most.
    pub steal: f64,
    /// By whatever kept a core from looking at its clock; of the worst core.
    pub away: f64,
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
            away: self.away.max(other.away),
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
        if self.away > NOISY_WAITING {
            return Some(format!(
                "a core of the trial stood still for {:.1} % of the time",
                self.away * 100.0
            ));
        }
        (self.waited > NOISY_WAITING).then(|| {
            format!(
                "others ran for {:.1} % of the time on a core that was needed",
                self.waited * 100.0
            )
        })
    }

    /// Whether a loss of frames is so much larger than what came while others had a core that was
    /// needed, that a trial without them would have lost frames too. Then nothing is learnt by
    /// running the trial again.
    pub fn is_beside_the_point(&self, lost: u64, sent: u64) -> bool {
        /// So many times what they explain.
        const BEYOND: f64 = 4.0;
        /// And at least this share of all: a device that is only just overloaded may be told from
        /// one that was disturbed by an undisturbed trial alone.
        const LEAST: f64 = 0.05;
        let taken = self.waited + self.away.max(self.steal);
        let explained = CATCHING_UP * taken * sent as f64;
        lost as f64 > (BEYOND * explained).max(LEAST * sent as f64)
    }

    /// Why a loss of frames says nothing of the device: no more were lost than came while others
    /// had a core that was needed. A machine's own agent that runs in the kernel for some
    /// milliseconds each second is below what makes a trial noisy, and costs thousands of frames. So
    /// is a core that stood still once, and each time that was seen is longer than a ring lasts.
    pub fn explains(&self, lost: u64, sent: u64) -> Option<String> {
        /// Below this share of the time nobody who ran is blamed: the kernel's housekeeping.
        const LEAST: f64 = 0.001;
        let taken = self.waited + self.away;
        let is_seen = taken >= LEAST || self.away > 0.0;
        let theirs = is_seen && lost as f64 <= CATCHING_UP * taken * sent as f64;
        (lost > 0 && theirs).then(|| {
            format!(
                "{lost} frames were lost, no more than may come while others have a core that is \
                 needed, {:.2} % of the time",
                taken * 100.0
            )
        })
    }
}

/// Watches cores and threads from its making on.
#[derive(Debug)]
pub(crate) struct Watch {
    cores: Vec<(CoreId, Reading)>,
    lookers: Option<Lookers<Looker>>,
    threads: Vec<(u32, u64)>,
    device: Device,
    begun_ns: u64,
}

impl Watch {
    /// Watches the calling thread, the kernel's `threads` that take part, and `cores`.
    pub(crate) fn new(cores: &[CoreId], threads: &[u32]) -> Self {
        let own = host::process::this_thread();
        Self {
            cores: cores
                .iter()
                .map(|&core| (core, Reading::now(&[core])))
                .collect(),
            lookers: None,
            threads: threads
                .iter()
                .chain([&own])
                .map(|&thread| (thread, waited_ns(thread)))
                .collect(),
            device: Device::on(cores),
            begun_ns: host::clock::now_ns(),
        }
    }

    /// Has the clocks of the cores looked at, too.
    pub(crate) fn with_lookers(self) -> Self {
        let cores: Vec<CoreId> = self.cores.iter().map(|&(core, _)| core).collect();
        Self {
            lookers: Some(Lookers::on(&cores)),
            ..self
        }
    }

    /// Takes what `threads` run on the watched core, which must be one, for the device's work.
    pub(crate) fn with_workers(mut self, threads: &[u32]) -> Self {
        if let [core] = &mut self.device.0[..] {
            core.extend(threads.iter().map(|&thread| (thread, ran_ns(thread))));
        }
        self
    }

    /// What has happened since.
    pub(crate) fn end(self) -> Disturbance {
        let noise = self
            .cores
            .iter()
            .map(|(core, before)| before.until(&Reading::now(&[*core])));
        let noise: Vec<Noise> = noise.collect();
        let passed = host::clock::now_ns().saturating_sub(self.begun_ns).max(1);
        let longest = self
            .threads
            .iter()
            .map(|&(thread, before)| waited_ns(thread).saturating_sub(before))
            .max()
            .unwrap_or(0);
        let device_ns = self.device.ran_ns();
        let looked = self.lookers.map(gaps::end).unwrap_or_default();
        // Our own lookers are nobody else, nor is the device.
        let ours = looked.ran.as_nanos() as u64 + device_ns;
        Disturbance {
            steal: noise.iter().map(|noise| noise.steal).fold(0.0, f64::max),
            away: looked.away_ns as f64 / passed as f64,
            waited: longest.saturating_sub(ours) as f64 / passed as f64,
            // Of the whole process, whichever core was read first.
            involuntary_switches: noise.first().map_or(0, |noise| noise.involuntary_switches),
        }
    }
}

/// Of each core the threads that are the device, the kernel's for softirqs first, and how long each had
/// run before.
#[derive(Debug)]
struct Device(Vec<Vec<(u32, u64)>>);

impl Device {
    fn on(cores: &[CoreId]) -> Self {
        let softirqs = |core: &CoreId| tasks::softirqs(*core).into_iter();
        let one = |core| softirqs(core).map(|thread| (thread, ran_ns(thread)));
        Self(cores.iter().map(|core| one(core).collect()).collect())
    }

    /// How long they have run since: those of the core where it was least, for nobody knows on which a
    /// thread waited.
    fn ran_ns(&self) -> u64 {
        let ran = |&(thread, before): &(u32, u64)| ran_ns(thread).saturating_sub(before);
        let all = self.0.iter().map(|core| core.iter().map(ran).sum());
        all.min().unwrap_or(0)
    }
}

#[cfg(test)]
#[path = "../tests/unit/disturbance.rs"]
mod tests;
