//! A stretch of equally spaced frames, kept by the program in the kernel: one call for many frames,
//! so that no call's cost falls between two of them.

use fastpath::generate::Generator;
use host::clock::now_ns;

use crate::clock::wait_until;
use crate::rig::{Result, RigError};
use crate::schedule::OWED_NS;

/// A run of the paced program with nothing to send waits so long, ns.
const SPIN_NS: u64 = 2_000;

/// What is to leave when.
pub(super) struct Timetable {
    /// When the first frame leaves, ns of the monotonic clock.
    pub(super) start_ns: u64,
    /// From one frame to the next, ns.
    pub(super) interval_ns: f64,
    /// How many.
    pub(super) frames: u64,
    /// Frames handed over together.
    pub(super) batch: u32,
    /// How long one call keeps the timetable, ns.
    pub(super) slice_ns: u64,
}

impl Timetable {
    /// When the last frame's slot ends.
    pub(super) fn end_ns(&self) -> u64 {
        let length_ns = (self.frames as f64 * self.interval_ns) as u64;
        self.start_ns.saturating_add(length_ns)
    }

    /// Sends all frames of it but those that are skipped for being owed too long. After every call
    /// `look` is told the time and how many were skipped just now. How late the latest look
    /// found the next frame, ns.
    ///
    /// # Errors
    /// When a call fails, or the user interrupts.
    pub(super) fn keep(
        &self,
        generator: &mut Generator,
        mut look: impl FnMut(&Generator, u64, u64),
    ) -> Result<u64> {
        generator.set_batch(self.batch)?;
        generator.pace(self.start_ns, self.interval_ns, self.frames);
        let end_ns = self.end_ns();
        let mut worst = 0;
        while generator.remaining() > 0 {
            if host::interrupted() {
                return Err(RigError::Interrupted);
            }
            let left_ns = end_ns.saturating_sub(now_ns()).min(self.slice_ns);
            let frames =
                ((left_ns as f64 / self.interval_ns) as u64 + 1).min(generator.remaining());
            let runs = frames + left_ns / SPIN_NS + u64::from(self.batch);
            hand_over(generator, runs.min(u64::from(u32::MAX)) as u32)?;
            let now = now_ns();
            let mut skipped = 0;
            if generator.remaining() > 0 {
                let late = now.saturating_sub(generator.next_due_ns());
                worst = worst.max(late);
                if late > OWED_NS {
                    let places = ((late - OWED_NS) as f64 / self.interval_ns) as u64;
                    skipped = places.min(generator.remaining());
                }
            }
            if skipped > 0 {
                generator.skip(skipped);
            }
            look(generator, now, skipped);
        }
        Ok(worst)
    }
}

/// One call of a generator. The kernel numbers the frame memory of every call with 16 bits, and
/// takes numbers back a second late when frames were still under way: after tens of thousands of
/// short calls there may be none, until then. The trial is late by that, and so invalid.
pub(super) fn hand_over(generator: &mut Generator, count: u32) -> Result<u32> {
    const TRIES: u32 = 60;
    const NAP_NS: u64 = 50_000_000;
    for _ in 1..TRIES {
        match generator.send(count) {
            Err(fastpath::Error::Bpf(bpf::Error::Run { error, .. }))
                if error.raw_os_error() == Some(libc::ENOSPC) && !host::interrupted() =>
            {
                wait_until(now_ns() + NAP_NS, host::interrupted);
            }
            other => return Ok(other?),
        }
    }
    Ok(generator.send(count)?)
}
