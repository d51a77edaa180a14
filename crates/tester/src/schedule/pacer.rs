//! How many frames may go now: the sender's place in its timetable, and what it owes.

use super::{Schedule, Walk};

/// Most frames sent at once after a delay.
pub const BURST: u32 = 64;
/// How far above the rate a sender repays what it owes.
pub const REPAY: f64 = 1.1;
/// A sender that is later than this skips frames, ns.
pub const OWED_NS: u64 = 10_000_000;

/// Places of a timetable that stayed empty: before which sent frame, and how many in all until
/// then.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skips(Vec<(u64, u64)>);

impl Skips {
    /// Notes that `places` stay empty after `sent` frames.
    fn push(&mut self, sent: u64, places: u64) {
        let before = self.0.last().map_or(0, |&(_, sum)| sum);
        self.0.push((sent, before + places));
    }

    /// How often places were skipped.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Place in the timetable (from 1) of the `index`th frame (from 0) that went.
    pub fn place(&self, index: u64) -> u64 {
        let after = self.0.partition_point(|&(sent, _)| sent <= index);
        let skipped = after.checked_sub(1).map_or(0, |last| self.0[last].1);
        index + skipped + 1
    }
}

/// A walk that says how many frames may go now.
#[derive(Debug, Clone)]
pub struct Pacer {
    walk: Walk,
    /// Frames that may go at once; grows a little faster than the rate, up to `burst`.
    credit: f64,
    burst: f64,
    last_ns: u64,
    sent: u64,
    skips: Skips,
    worst_lateness_ns: u64,
}

impl Pacer {
    /// A pacer that lets at most `burst` frames go at once.
    pub fn new(schedule: &Schedule, burst: u32) -> Self {
        Self {
            walk: schedule.walk(),
            credit: f64::from(burst),
            burst: f64::from(burst),
            last_ns: 0,
            sent: 0,
            skips: Skips::default(),
            worst_lateness_ns: 0,
        }
    }

    /// Frames that may go at `now_ns` after the start.
    #[inline]
    pub fn allowed(&mut self, now_ns: u64) -> u64 {
        let Some(next) = self.walk.next_ns() else {
            return 0;
        };
        if next > now_ns {
            return 0;
        }
        let due = self.walk.due(now_ns);
        let Some(rate) = self.walk.rate() else {
            return due;
        };
        let elapsed = (now_ns - self.last_ns.min(now_ns)) as f64;
        self.credit = (self.credit + elapsed * rate * REPAY / 1e9).min(self.burst);
        self.last_ns = now_ns;
        due.min(self.credit as u64)
    }

    /// How late the next frame is at `now_ns`, ns.
    #[inline]
    pub fn lateness_ns(&self, now_ns: u64) -> u64 {
        self.walk
            .next_ns()
            .map_or(0, |next| now_ns.saturating_sub(next))
    }

    /// Notes that `frames` of those allowed went at `now_ns`, and skips what is owed beyond the
    /// limit.
    #[inline]
    pub fn went(&mut self, frames: u64, now_ns: u64) {
        if self.walk.rate().is_some() {
            self.worst_lateness_ns = self.worst_lateness_ns.max(self.lateness_ns(now_ns));
            self.credit = (self.credit - frames as f64).max(0.0);
        }
        self.sent += frames;
        self.walk.advance(frames);
        if let Some(rate) = self.walk.rate()
            && self.lateness_ns(now_ns) > OWED_NS
        {
            let owed = (rate * OWED_NS as f64 / 1e9) as u64;
            let late = self.walk.due(now_ns).saturating_sub(owed);
            self.skips.push(self.sent, late);
            self.walk.advance(late);
        }
    }

    /// Notes that `places` of the timetable stay empty after `sent` frames, for a sender that keeps
    /// the timetable by other means.
    pub fn skip(&mut self, sent: u64, places: u64) {
        self.skips.push(sent, places);
    }

    /// Frames left in the present stretch.
    #[inline]
    pub fn left(&self) -> u64 {
        self.walk.left()
    }

    /// Whether the present stretch has a rate to keep.
    #[inline]
    pub fn paced(&self) -> bool {
        self.walk.rate().is_some()
    }

    /// Whether the timetable is at its end.
    #[inline]
    pub fn finished(&self) -> bool {
        self.walk.next_ns().is_none()
    }

    /// Place in the timetable (from 1) of the `index`th frame (from 0) that went.
    pub fn place(&self, index: u64) -> u64 {
        self.skips.place(index)
    }

    /// What was skipped so far.
    pub fn skips(&self) -> &Skips {
        &self.skips
    }

    /// How late the latest frame went, ns.
    pub fn worst_lateness_ns(&self) -> u64 {
        self.worst_lateness_ns
    }
}

#[cfg(test)]
#[path = "../../tests/unit/pacer.rs"]
mod tests;
