//! One trial: what is asked of it, and the record of what happened.
//!
//! A trial's counts close twice, and are checked to: what was sent is what was received once plus
//! what was lost, and what arrived is what was received plus everything that should not have come.
//! A count that does not close makes the trial invalid.

mod counts;
mod order;
mod validity;

pub use counts::Counts;
pub use order::{Direction, Order, Waits};
use serde::{Deserialize, Serialize};
pub use validity::{Validity, judge};

use crate::disturbance::Disturbance;
use crate::latency::Latency;
use crate::places::{self, Lost};

/// A long trial is looked at in stretches as long as the trials that decide in the quick profile, s.
pub const STRETCH_SECONDS: f64 = 0.1;

/// The record of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trial {
    /// Running number.
    pub number: u32,
    /// What it was for: "search", "confirm", "warm-up" and so on.
    pub purpose: String,
    /// Frame size or mean of a mix, bytes with FCS.
    pub frame_bytes: f64,
    /// Intended rate in each direction, frames/s; `None` for a burst as fast as the tester sends.
    pub intended_rate: Option<f64>,
    /// Rate accepted by the sending ports, each direction, frames/s.
    pub offered_rate: f64,
    /// Sending ports.
    pub senders: u8,
    /// Intended length of the sending, s; `None` for a burst.
    pub intended_seconds: Option<f64>,
    /// From the first frame sent to the last, plus one interval, s.
    pub seconds: f64,
    /// All frames.
    pub counts: Counts,
    /// Delays of the received frames, from their actual departure.
    pub latency: Option<Latency>,
    /// Delays from the *intended* departure: what a device sees that waits for nobody. Tester
    /// lateness included.
    pub response: Option<Latency>,
    /// How late the latest burst left, ns.
    pub worst_lateness_ns: u64,
    /// Most frames sent at once.
    pub largest_burst: u32,
    /// Frames the tester handed to the port at a time, at most.
    pub batch: u32,
    /// Intended departure of the last lost frame, ns after the start.
    pub last_lost_ns: Option<u64>,
    /// Where the lost frames were lost, and why; adds up to all that were lost. Empty where nobody
    /// reads the counters on the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_at: Vec<Lost>,
    /// Frames that came in by each core, where the rig spreads over cores: a core that took none is
    /// not among them. They are what the device forwarded there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrivals_by_core: Vec<OnCore>,
    /// In how many of its stretches of a tenth of a second frames were lost; absent where nobody
    /// looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lossy_stretches: Option<u32>,
    /// Where losses were found that are older than what the receiver remembers: they were due
    /// before this, ns after the start, and all since came.
    #[serde(default)]
    pub lost_before_ns: Option<u64>,
    /// How much longer than the least delay the last frame took, ns: what the device's buffer held
    /// when the sending ended.
    #[serde(default)]
    pub drain_ns: Option<u64>,
    /// The device took frames in faster than it gave them out, and had not yet lost one when the
    /// trial, shorter than that of RFC 2544, ended: it failed.
    #[serde(default)]
    pub filled: bool,
    /// Longest time without any arrival between two arrivals, ns.
    pub longest_silence_ns: Option<u64>,
    /// What the hypervisor took of a core of the trial, as a share of the time; its grain is 10 ms.
    pub steal: f64,
    /// Share of the time in which a core of the trial stood still, found by looks at its clock.
    #[serde(default)]
    pub away: f64,
    /// Share of the time in which a thread of the trial was ready to run while others had its
    /// core.
    #[serde(default)]
    pub waited: f64,
    /// Times the tester's thread was taken off its core.
    pub involuntary_switches: u64,
    /// It was run again because it was disturbed or botched, and decides nothing.
    #[serde(default)]
    pub repeated: bool,
    /// Whether it counts.
    pub validity: Validity,
}

/// Frames on one core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OnCore {
    /// The core's number.
    pub core: u32,
    /// How many.
    pub frames: u64,
}

/// When the last lost frame of a trial was due, ns after the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastLoss {
    /// No frame was lost.
    Nothing,
    /// Then.
    At(u64),
    /// At some time before: all frames since came.
    Before(u64),
    /// Frames were lost, nobody knows where.
    Unknown,
}

impl Trial {
    /// When the last lost frame was due, as far as the receiver knows.
    pub fn last_loss(&self) -> LastLoss {
        match (self.counts.lost, self.last_lost_ns, self.lost_before_ns) {
            (0, ..) => LastLoss::Nothing,
            (_, Some(at), _) => LastLoss::At(at),
            (_, None, Some(before)) => LastLoss::Before(before),
            (_, None, None) => LastLoss::Unknown,
        }
    }

    /// The record of a trial in which the sending ports took `seconds`; of what only some rigs
    /// know, nothing.
    pub fn new(
        (number, purpose): (u32, &str),
        order: &Order,
        senders: usize,
        seconds: f64,
        counts: Counts,
        noise: &Disturbance,
    ) -> Self {
        let intended_seconds = order.schedule.duration_ns().map(|ns| ns as f64 / 1e9);
        let frames = order.schedule.frames() as f64;
        let intended_rate = intended_seconds.map(|seconds| frames / seconds);
        let offered = (counts.sent + counts.modifiers) as f64 / senders.max(1) as f64;
        let offered_rate = if seconds > 0.0 {
            offered / seconds
        } else {
            0.0
        };
        let error = intended_rate.map(|rate| offered_rate / rate - 1.0);
        Self {
            number,
            purpose: purpose.to_owned(),
            frame_bytes: order.mean_size(),
            intended_rate,
            offered_rate,
            senders: senders as u8,
            intended_seconds,
            seconds,
            counts,
            latency: None,
            response: None,
            worst_lateness_ns: 0,
            largest_burst: 0,
            batch: 64,
            last_lost_ns: None,
            lost_at: Vec::new(),
            arrivals_by_core: Vec::new(),
            lossy_stretches: None,
            lost_before_ns: None,
            drain_ns: None,
            filled: false,
            longest_silence_ns: None,
            steal: noise.steal,
            away: noise.away,
            waited: noise.waited,
            involuntary_switches: noise.involuntary_switches,
            repeated: false,
            validity: judge(&counts, error, noise),
        }
    }

    /// Passes RFC 2544's throughput test: every frame came, once, whole, and the tester did as
    /// intended.
    pub fn passes(&self) -> bool {
        self.validity.counts()
            && self.counts.lost == 0
            && self.counts.duplicate == 0
            && self.counts.corrupt == 0
            && self.counts.misdirected == 0
    }

    /// What others took of it.
    fn disturbance(&self) -> Disturbance {
        Disturbance {
            steal: self.steal,
            away: self.away.max(self.steal),
            waited: self.waited,
            involuntary_switches: self.involuntary_switches,
        }
    }

    /// Whether no more was lost than came while others had a core that was needed.
    pub(crate) fn is_loss_theirs(&self) -> bool {
        let (lost, sent) = (self.counts.lost, self.counts.sent);
        self.disturbance().explains(lost, sent).is_some()
    }

    /// Whether the device failed whoever else ran: it was conducted as intended, and far more was
    /// lost than came while others had a core that was needed.
    pub(crate) fn fails_anyway(&self) -> bool {
        let (lost, sent) = (self.counts.lost, self.counts.sent);
        self.validity.counts() && self.disturbance().is_beside_the_point(lost, sent)
    }

    /// Whether frames were lost while nobody else had a core that was needed, in more than half of the
    /// trial's stretches: shorter trials at this rate would fail more often than not. Where nobody
    /// knows the stretches, each loss is one too many.
    pub(crate) fn lost_by_itself(&self) -> bool {
        let stretches = (self.seconds / STRETCH_SECONDS).round();
        let mostly = |lossy: u32| 2.0 * f64::from(lossy) > stretches;
        let alone = self.validity == Validity::Valid;
        alone && self.counts.lost > 0 && self.lossy_stretches.is_none_or(mostly)
    }

    /// Whether the device's buffer filled all the while, by more than a share of the trial: then
    /// the last frame is among the latest. A device that was held up for once is not meant.
    pub fn fills(&self, share: f64) -> bool {
        let (Some(drain), Some(latency)) = (self.drain_ns, &self.latency) else {
            return false;
        };
        let most = latency.max_ns - latency.min_ns;
        drain as f64 > share * self.seconds * 1e9 && drain as f64 >= 0.9 * most as f64
    }

    /// Frames per second that came through, all senders together: from the first arrival to the
    /// last, so that what the device's buffer gave out after the sending counts with its time.
    pub fn forwarded_rate(&self) -> f64 {
        if self.seconds > 0.0 {
            let drain = self.drain_ns.unwrap_or(0) as f64 / 1e9;
            self.counts.received as f64 / (self.seconds + drain)
        } else {
            0.0
        }
    }

    /// The same for each sender.
    pub fn forwarded_each(&self) -> f64 {
        self.forwarded_rate() / f64::from(self.senders.max(1))
    }

    /// Whether the device gave out at least so many frames/s for each sender, whole, once and at the
    /// right port, and the tester did as intended.
    pub(crate) fn gives_out(&self, least: f64) -> bool {
        let counts = &self.counts;
        self.validity.counts()
            && self.forwarded_each() >= least
            && counts.duplicate + counts.corrupt + counts.misdirected == 0
    }

    /// Whether it gave out so many, and shorter trials at this rate would lose none more often than
    /// not.
    pub(crate) fn carries(&self, least: f64) -> bool {
        self.gives_out(least) && !self.lost_by_itself()
    }

    /// Whether the tester can vouch for every frame, whatever it was able to offer.
    pub fn is_trusted(&self) -> bool {
        self.counts.closes() && self.counts.tester_dropped == 0
    }

    /// Offered over intended rate, less one; `None` for a burst.
    pub fn rate_error(&self) -> Option<f64> {
        self.intended_rate
            .map(|intended| self.offered_rate / intended - 1.0)
    }

    /// "lost", and where.
    fn lost_words(&self) -> String {
        let places = places::words(&self.lost_at);
        if places.is_empty() {
            "lost".to_owned()
        } else {
            format!("lost ({places})")
        }
    }

    /// What went wrong with the device in words, gravest first; `None` when nothing did.
    pub fn complaint(&self) -> Option<String> {
        let counts = &self.counts;
        let part = |count: u64, what: &str| (count > 0).then(|| format!("{count} {what}"));
        if counts.sent > 0 && counts.came() == 0 {
            return Some("the device forwards nothing".to_owned());
        }
        let parts: Vec<String> = [
            part(counts.misdirected, "came out of the wrong port"),
            part(counts.corrupt, "corrupted"),
            part(counts.duplicate, "came twice"),
            part(counts.lost, &self.lost_words()),
            self.filled.then(|| {
                let drain = self.drain_ns.unwrap_or(0) as f64 / 1e6;
                format!("the last ones {drain:.1} ms late, for the device's buffer filled")
            }),
        ]
        .into_iter()
        .flatten()
        .collect();
        (!parts.is_empty()).then(|| format!("of {} frames sent: {}", counts.sent, parts.join(", ")))
    }
}

/// What kept `trials` down, when most of those that failed were disturbed; `which` is put behind
/// the word *failed*.
pub fn mostly_disturbed<'a>(
    trials: impl IntoIterator<Item = &'a Trial>,
    which: &str,
) -> Option<String> {
    let (mut failed, mut disturbed, mut last) = (0, 0, None);
    for trial in trials.into_iter().filter(|trial| !trial.passes()) {
        failed += 1;
        if let Validity::Noisy(reason) = &trial.validity {
            disturbed += 1;
            last = Some(reason);
        }
    }
    let last = last.filter(|_| 2 * disturbed > failed)?;
    Some(format!(
        "{disturbed} of the {failed} trials that failed{which} were disturbed; in the last, {last}"
    ))
}

#[cfg(test)]
#[path = "../../tests/unit/trial.rs"]
mod tests;
