//! The frames that are handled at once: at most [`Burst::CAPACITY`] handles, in order.
//!
//! A burst owns its frames as a vector owns its elements, with one difference: a burst that is
//! dropped while it holds frames loses their buffers to the pool, because it cannot reach it. Empty
//! it with [`Pool::release_all`](crate::Pool::release_all) or hand its frames on.

use crate::pool::Frame;

/// An ordered set of frames under way.
#[derive(Debug)]
pub struct Burst {
    frames: [Frame; Burst::CAPACITY],
    length: usize,
}

impl Burst {
    /// Frames in a full burst: enough to hide the misses of one look-up behind the others, few
    /// enough that one line of each stays in the first-level cache.
    pub const CAPACITY: usize = 64;

    /// A burst without frames.
    pub const fn new() -> Self {
        Self {
            frames: [const { Frame::NOTHING }; Self::CAPACITY],
            length: 0,
        }
    }

    /// Frames held.
    #[inline]
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Whether it holds none.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Frames that still fit.
    #[inline]
    pub const fn room(&self) -> usize {
        Self::CAPACITY - self.length
    }

    /// The frames, first received first.
    #[inline]
    pub fn frames(&self) -> &[Frame] {
        &self.frames[..self.length.min(Self::CAPACITY)]
    }

    /// The frames, to shorten or to give a header.
    #[inline]
    pub fn frames_mut(&mut self) -> &mut [Frame] {
        &mut self.frames[..self.length.min(Self::CAPACITY)]
    }

    /// Appends a frame.
    ///
    /// # Errors
    /// The frame, when the burst is full.
    #[inline]
    pub fn push(&mut self, frame: Frame) -> Result<(), Frame> {
        match self.frames.get_mut(self.length) {
            Some(slot) => {
                *slot = frame;
                self.length += 1;
                Ok(())
            }
            None => Err(frame),
        }
    }

    /// Appends as many frames as there is room for.
    #[inline]
    pub(crate) fn extend(&mut self, frames: impl Iterator<Item = Frame>) {
        let mut length = self.length;
        for (slot, frame) in self.frames.iter_mut().skip(length).zip(frames) {
            *slot = frame;
            length += 1;
        }
        self.length = length;
    }

    /// Takes the last frame off.
    #[inline]
    pub fn pop(&mut self) -> Option<Frame> {
        let last = self.length.checked_sub(1)?;
        self.length = last;
        self.frames.get_mut(last).map(Frame::take)
    }

    /// Takes every frame, first received first.
    pub fn drain(&mut self) -> impl Iterator<Item = Frame> {
        let length = std::mem::take(&mut self.length).min(Self::CAPACITY);
        self.frames[..length].iter_mut().map(Frame::take)
    }

    /// Empties it without a word: the caller has the frames' buffers.
    #[inline]
    pub(crate) fn forget(&mut self) {
        self.length = 0;
    }

    /// Forgets the frames from that place on in the same way.
    pub(crate) fn forget_from(&mut self, place: usize) {
        self.length = self.length.min(place);
    }

    /// Removes the first `count` frames (or all, when there are fewer) and gives each to `each`.
    pub fn take_front(&mut self, count: usize, mut each: impl FnMut(Frame)) {
        let count = count.min(self.length);
        for frame in &mut self.frames[..count] {
            each(frame.take());
        }
        self.frames[..self.length].rotate_left(count);
        self.length -= count;
    }
}

impl Default for Burst {
    fn default() -> Self {
        Self::new()
    }
}
