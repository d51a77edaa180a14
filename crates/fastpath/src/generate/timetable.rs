//! A generator's timetable: which frame is due when, kept by the program in the kernel.

use bpf::map::Plain;

use super::Generator;

/// `struct state` of the C source.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub(super) sent: u64,
    pub(super) position: u32,
    pub(super) size: u32,
    pub(super) port: u32,
    pub(super) reserved: u32,
    pub(super) start: u64,
    pub(super) interval: u64,
    pub(super) base: u64,
    pub(super) until: u64,
    pub(super) now: u64,
    pub(super) allowance: u64,
    pub(super) looked: u64,
    pub(super) looks: u64,
}

// SAFETY: repr(C), 8 + 4 × 4 + 8 × 8 bytes, no hole; integers only.
unsafe impl Plain for State {}

impl Generator {
    /// Numbers its frames from `number` + 1 on; before its first frame. Then frames of the generator
    /// before it, which a queue on the way still holds, cannot be taken for its own.
    #[must_use]
    pub fn numbered_after(self, number: u64) -> Self {
        let state = self.state.read(0);
        let sent = number;
        self.state.write(0, State { sent, ..state });
        self
    }

    /// Sets the timetable of a paced generator: `count` frames, the first at `start_ns` of the
    /// monotonic clock, one every `interval_ns`. Then call [`Generator::send`] until
    /// [`Generator::remaining`] is 0: a call ends after as many *runs* as it was told, and a
    /// run with nothing due waits at most 2 µs. A sender that was held up sends at most 64 frames
    /// at once and repays the rest a tenth above the rate.
    pub fn pace(&mut self, start_ns: u64, interval_ns: f64, count: u64) {
        let state = self.state.read(0);
        let interval = (interval_ns * 65_536.0).round().max(1.0) as u64;
        self.state.write(
            0,
            State {
                start: start_ns,
                interval,
                base: state.sent,
                until: state.sent + count,
                now: start_ns,
                allowance: interval,
                ..state
            },
        );
    }

    /// Frames of the timetable that have not been made.
    pub fn remaining(&self) -> u64 {
        let state = self.state.read(0);
        state.until.saturating_sub(state.sent)
    }

    /// When the next frame of the timetable is due, ns of the monotonic clock.
    pub fn next_due_ns(&self) -> u64 {
        let state = self.state.read(0);
        let place = u128::from(state.sent.wrapping_sub(state.base));
        state.start + ((place * u128::from(state.interval)) >> 16) as u64
    }

    /// When the timetable's clock was last read, ns: about the departure of the last frame.
    pub fn last_look_ns(&self) -> u64 {
        self.state.read(0).now
    }

    /// Leaves `count` places of the timetable empty, at most those that remain: they are not made
    /// up for.
    pub fn skip(&mut self, count: u64) {
        let state = self.state.read(0);
        let count = count.min(state.until.saturating_sub(state.sent));
        let (base, until) = (state.base.wrapping_sub(count), state.until - count);
        self.state.write(
            0,
            State {
                base,
                until,
                ..state
            },
        );
    }
}
