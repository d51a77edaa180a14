//! Frames of several buffers: what is longer than a buffer, as jumbo frames behind `AF_XDP` are.
//!
//! The handle is the same: [`Frame::length`] is that of the whole frame, and [`Pool::bytes`] are
//! those of its first piece, where the headers are. Which buffers follow, and what part of each,
//! is noted in an array beside the memory, by buffer. Only frames of several buffers use it.
//!
//! No mark says which frames these are: start and length of such a frame together pass the end of
//! a buffer. That holds because a piece that has room behind the one before it is moved there
//! ([`Pool::join`]). The pool counts them, so that a burst without costs one comparison.

use super::{Frame, Pool};

/// What is noted of a buffer that holds a piece of such a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// The buffer with the next piece; means nothing for the last.
    next: u32,
    /// Where the piece starts; of the first the handle says it.
    start: u16,
    /// Where the piece ends.
    end: u16,
}

impl Link {
    /// Of a buffer that holds no such piece.
    pub(super) const NONE: Self = Self {
        next: u32::MAX,
        start: 0,
        end: 0,
    };
}

impl Pool {
    /// Whether any frame of several buffers is under way.
    #[inline]
    pub const fn has_scattered(&self) -> bool {
        self.scattered > 0
    }

    /// Whether this frame has several buffers.
    #[inline]
    pub const fn is_scattered(&self, frame: &Frame) -> bool {
        frame.start as u32 + frame.length as u32 > self.layout.stride
    }

    /// Puts a frame of one buffer behind another frame, of one buffer or several. What fits into
    /// the last buffer is moved there.
    ///
    /// # Errors
    /// The piece, when both together have more than 65535 bytes, or it has several buffers.
    pub fn join(&mut self, frame: &mut Frame, piece: Frame) -> Result<(), Frame> {
        let Some(length) = frame.length.checked_add(piece.length) else {
            return Err(piece);
        };
        if self.is_scattered(&piece) {
            return Err(piece);
        }
        let was_whole = !self.is_scattered(frame);
        let last = self.last(frame);
        let end = u32::from(last.start) + u32::from(last.length);
        if end + u32::from(piece.length) <= self.layout.stride {
            self.append(&last, &piece);
            self.free.push(piece.buffer);
            if !was_whole {
                self.links[last.buffer as usize].end += piece.length;
            }
        } else {
            if was_whole {
                self.scattered += 1;
            }
            self.links[last.buffer as usize] = Link {
                next: piece.buffer,
                start: last.start,
                end: last.start + last.length,
            };
            self.links[piece.buffer as usize] = Link {
                next: Link::NONE.next,
                start: piece.start,
                end: piece.start + piece.length,
            };
        }
        frame.length = length;
        Ok(())
    }

    /// Takes the first buffer off a frame of several: a frame by itself. What is left is the others.
    pub fn split_first(&mut self, frame: &mut Frame) -> Frame {
        if !self.is_scattered(frame) {
            return frame.take();
        }
        let (first, rest) = self.apart(frame);
        *frame = rest;
        if !self.is_scattered(frame) {
            self.scattered -= 1;
        }
        first
    }

    /// Cuts a frame off behind `length` bytes; a longer `length` changes nothing.
    #[inline]
    pub fn truncate(&mut self, frame: &mut Frame, length: u16) {
        if length >= frame.length {
            return;
        }
        if self.is_scattered(frame) {
            self.cut(frame, length);
        } else {
            frame.length = length;
        }
    }

    /// Buffers of a frame.
    pub fn buffers(&self, frame: &Frame) -> u32 {
        self.pieces(frame).map(|_| 1).sum()
    }

    /// All bytes of a frame, piece by piece.
    pub fn parts<'a>(&'a self, frame: &'a Frame) -> impl Iterator<Item = &'a [u8]> {
        self.pieces(frame)
            .map(|piece| self.slice(&piece, piece.length))
    }

    /// Gives back all buffers of a frame that has several.
    #[cold]
    pub(super) fn release_pieces(&mut self, mut frame: Frame) {
        while self.is_scattered(&frame) {
            let first = self.split_first(&mut frame);
            self.free.push(first.buffer);
        }
        self.free.push(frame.buffer);
    }

    /// Bytes of the first piece of a frame that has several.
    #[cold]
    pub(super) fn first_length(&self, frame: &Frame) -> u16 {
        let end = self.links[frame.buffer as usize].end;
        end.saturating_sub(frame.start)
    }

    #[cold]
    fn cut(&mut self, frame: &mut Frame, length: u16) {
        let mut rest = frame.take();
        let mut whole = self.split_first(&mut rest);
        whole.length = whole.length.min(length);
        while rest.length > 0 {
            let mut piece = self.split_first(&mut rest);
            piece.length = piece.length.min(length - whole.length);
            // Without a byte it is moved whole: its buffer is free.
            if let Err(piece) = self.join(&mut whole, piece) {
                self.release(piece);
            }
        }
        *frame = whole;
    }

    /// The first piece and the others of a frame that has several.
    fn apart(&self, frame: &Frame) -> (Frame, Frame) {
        let next = self.links[frame.buffer as usize].next;
        let length = self.first_length(frame).min(frame.length);
        assert!(length > 0, "a frame of another pool");
        let first = Frame { length, ..*frame };
        let rest = Frame {
            buffer: next,
            start: self.links[next as usize].start,
            length: frame.length - length,
        };
        (first, rest)
    }

    fn pieces<'a>(&'a self, frame: &Frame) -> impl Iterator<Item = Frame> + use<'a> {
        let mut rest = Some(Frame { ..*frame });
        std::iter::from_fn(move || {
            let frame = rest.take()?;
            if !self.is_scattered(&frame) {
                return Some(frame);
            }
            let (first, others) = self.apart(&frame);
            rest = Some(others);
            Some(first)
        })
    }

    fn last(&self, frame: &Frame) -> Frame {
        self.pieces(frame).last().unwrap_or(Frame::NOTHING)
    }

    /// Writes the bytes of `piece` behind those of `frame`, whose buffer has room for them.
    fn append(&self, frame: &Frame, piece: &Frame) {
        let length = usize::from(piece.length);
        let from = self.offset(piece, length);
        let to = self.offset(frame, usize::from(frame.length) + length);
        // SAFETY: `offset` has checked that both ranges lie in the mapping; they may overlap.
        unsafe {
            let memory = self.memory.as_mut_ptr();
            let to = memory.add(to + usize::from(frame.length));
            std::ptr::copy(memory.add(from), to, length);
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/pieces.rs"]
mod tests;
