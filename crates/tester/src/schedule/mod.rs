//! When each frame is to leave: an absolute timetable, fixed before the trial starts.
//!
//! A frame's departure depends on its number alone, never on what came back or on how late the one
//! before was: a sender that waits for its receiver measures itself (coordinated omission). A
//! sender that was held up owes frames. A burst to catch up would itself make the device lose some,
//! so a [`Pacer`] lets at most [`BURST`] frames go at once and repays the rest at no more than a
//! tenth above the rate; what is owed beyond [`OWED_NS`] of the timetable is skipped and counted as
//! unsent. A trial that leaves more than [`TOLERANCE`] of its frames unsent, or ends so late that
//! its rate is off by more than [`RATE_TOLERANCE`], is invalid.

mod pacer;

pub use pacer::{BURST, OWED_NS, Pacer, REPAY, Skips};
use serde::{Deserialize, Serialize};

/// Share of a trial's frames that may stay unsent.
pub const TOLERANCE: f64 = 0.001;
/// Share by which a trial's rate may miss what was intended.
pub const RATE_TOLERANCE: f64 = 0.000_1;

/// A stretch of equally spaced frames.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Segment {
    /// Frames in it.
    pub frames: u64,
    /// Frames per second in it; infinite for as fast as the tester can.
    #[serde(with = "figures::unbounded")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub rate: f64,
    /// Quiet time after its last frame's slot, ns.
    pub rest_ns: u64,
}

/// The timetable of a trial: segments one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Schedule(Vec<Segment>);

impl Schedule {
    /// Frames at one rate for a time in seconds; at least one frame.
    pub fn constant(rate: f64, seconds: f64) -> Self {
        Self::steps(&[(rate, seconds)])
    }

    /// A burst as fast as the tester sends (RFC 9004).
    pub fn burst(frames: u64) -> Self {
        Self(vec![Segment {
            frames,
            rate: f64::INFINITY,
            rest_ns: 0,
        }])
    }

    /// Bursts of `length` frames at `rate` every `interval_ns`, for a time in seconds (RFC 2544
    /// §21).
    pub fn bursts(length: u64, rate: f64, interval_ns: u64, seconds: f64) -> Self {
        let count = (seconds * 1e9 / interval_ns as f64).round().max(1.0) as usize;
        let taken = (length as f64 * 1e9 / rate) as u64; // nothing at an infinite rate
        let burst = Segment {
            frames: length,
            rate,
            rest_ns: interval_ns.saturating_sub(taken),
        };
        Self(vec![burst; count])
    }

    /// One rate after another, each for a time in seconds (RFC 2544 §26.5).
    pub fn steps(steps: &[(f64, f64)]) -> Self {
        let segment = |&(rate, seconds): &(f64, f64)| Segment {
            frames: (rate * seconds).round().max(1.0) as u64,
            rate,
            rest_ns: 0,
        };
        Self(steps.iter().map(segment).collect())
    }

    /// Frames in all.
    pub fn frames(&self) -> u64 {
        self.0.iter().map(|segment| segment.frames).sum()
    }

    /// The segments in order.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// How long the whole takes, ns; `None` when a segment runs as fast as it can.
    pub fn duration_ns(&self) -> Option<u64> {
        self.0
            .iter()
            .map(|segment| {
                segment
                    .rate
                    .is_finite()
                    .then(|| (segment.frames as f64 * 1e9 / segment.rate) as u64 + segment.rest_ns)
            })
            .sum()
    }

    /// When frame `sequence` (from 1) is to leave, ns after the start; frames beyond the last take
    /// the last's time.
    pub fn departure_ns(&self, sequence: u64) -> u64 {
        let mut begun = 0;
        let mut before = 0;
        for segment in &self.0 {
            if sequence <= before + segment.frames {
                return begun + offset(segment.rate, sequence.saturating_sub(before + 1));
            }
            before += segment.frames;
            begun += offset(segment.rate, segment.frames) + segment.rest_ns;
        }
        begun
    }

    /// A cursor for the sender.
    pub fn walk(&self) -> Walk {
        Walk {
            segments: self.0.clone(),
            segment: 0,
            within: 0,
            begun_ns: 0,
        }
    }
}

/// Time of the `index`th frame (from 0) of a segment. In floating point: exact to a nanosecond for
/// 100 days.
#[inline]
fn offset(rate: f64, index: u64) -> u64 {
    if rate.is_finite() {
        (index as f64 * (1e9 / rate)) as u64
    } else {
        0
    }
}

/// Where a sender stands in its timetable.
#[derive(Debug, Clone)]
pub struct Walk {
    segments: Vec<Segment>,
    segment: usize,
    within: u64,
    begun_ns: u64,
}

impl Walk {
    /// When the next frame is to leave, ns after the start; `None` after the last.
    #[inline]
    pub fn next_ns(&self) -> Option<u64> {
        let segment = self.segments.get(self.segment)?;
        Some(self.begun_ns + offset(segment.rate, self.within))
    }

    /// Frames left in the present segment.
    #[inline]
    pub fn left(&self) -> u64 {
        self.segments
            .get(self.segment)
            .map_or(0, |segment| segment.frames - self.within)
    }

    /// Frames per second of the present segment; `None` when it runs as fast as it can.
    #[inline]
    pub fn rate(&self) -> Option<f64> {
        self.segments
            .get(self.segment)
            .map(|segment| segment.rate)
            .filter(|rate| rate.is_finite())
    }

    /// How many frames are due at `now_ns`, in the present segment.
    #[inline]
    pub fn due(&self, now_ns: u64) -> u64 {
        let Some(segment) = self.segments.get(self.segment) else {
            return 0;
        };
        if now_ns < self.begun_ns {
            return 0;
        }
        let left = segment.frames - self.within;
        if !segment.rate.is_finite() {
            return left;
        }
        let scheduled = ((now_ns - self.begun_ns) as f64 * segment.rate / 1e9) as u64 + 1;
        scheduled.saturating_sub(self.within).min(left)
    }

    /// Moves past `frames` frames of the present segment (at most those that [`Walk::due`] named).
    #[inline]
    pub fn advance(&mut self, frames: u64) {
        self.within += frames;
        if let Some(segment) = self.segments.get(self.segment)
            && self.within >= segment.frames
        {
            self.begun_ns += offset(segment.rate, segment.frames) + segment.rest_ns;
            self.segment += 1;
            self.within = 0;
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/schedule.rs"]
mod tests;
