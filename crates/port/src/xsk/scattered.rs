//! Frames of several buffers on the rings: "Multi-Buffer Support" in the kernel's
//! `Documentation/networking/af_xdp.rst`.

use super::{XskPort, descriptor};
use crate::{Burst, Frame, Pool};

/// A frame whose end has not been received.
#[derive(Debug, Default)]
pub(super) struct Unfinished {
    state: State,
    lost: u64,
}

#[derive(Debug, Default)]
enum State {
    /// The next descriptor begins a frame.
    #[default]
    Nothing,
    /// What there is of it.
    Begun(Frame),
    /// Too long for a handle: the rest of it is thrown away.
    Lost,
}

impl Unfinished {
    #[inline]
    pub(super) const fn is_some(&self) -> bool {
        !matches!(self.state, State::Nothing)
    }

    /// Frames that were too long, since the port was opened.
    pub(super) const fn lost(&self) -> u64 {
        self.lost
    }

    /// Takes the next piece; the frame, when this is its `last`.
    fn add(&mut self, pool: &mut Pool, piece: Frame, last: bool) -> Option<Frame> {
        let state = match std::mem::take(&mut self.state) {
            State::Nothing => State::Begun(piece),
            State::Begun(mut frame) => match pool.join(&mut frame, piece) {
                Ok(()) => State::Begun(frame),
                Err(piece) => {
                    pool.release(piece);
                    pool.release(frame);
                    self.lost += 1;
                    State::Lost
                }
            },
            State::Lost => {
                pool.release(piece);
                State::Lost
            }
        };
        match state {
            State::Begun(frame) if last => Some(frame),
            State::Lost if last => None,
            state => {
                self.state = state;
                None
            }
        }
    }
}

impl XskPort {
    /// Receives frames of one buffer and of several, until the burst is full or none waits.
    #[cold]
    pub(super) fn assemble(&mut self, pool: &mut Pool, burst: &mut Burst) {
        let rx = &mut self.rings.rx;
        while burst.room() > 0 && rx.waiting(1) > 0 {
            let found = rx.take();
            let Some(piece) = pool.reclaim(found.addr, found.len as u16) else {
                continue;
            };
            let last = found.options & libc::XDP_PKT_CONTD == 0;
            if let Some(frame) = self.unfinished.add(pool, piece, last)
                && let Err(frame) = burst.push(frame)
            {
                pool.release(frame);
            }
        }
        rx.release();
    }

    /// Puts frames on TX, in order, each with all its buffers; says how many found room.
    #[cold]
    pub(super) fn put_scattered(&mut self, pool: &mut Pool, burst: &mut Burst) -> usize {
        let buffers = |frame: &Frame| pool.buffers(frame);
        let wanted = burst.frames().iter().map(buffers).sum();
        let tx = &mut self.rings.tx;
        let mut room = tx.room(wanted);
        let mut fits = |frame: &&Frame| {
            let wanted = buffers(frame);
            // A kernel that was not asked for them refuses several.
            let fits = wanted <= room && (wanted == 1 || self.scattered);
            room = room.saturating_sub(wanted);
            fits
        };
        let count = burst.frames().iter().take_while(&mut fits).count();
        burst.take_front(count, |mut frame| {
            while pool.is_scattered(&frame) {
                let piece = pool.split_first(&mut frame);
                tx.put(descriptor(pool.lend(piece), libc::XDP_PKT_CONTD));
            }
            tx.put(descriptor(pool.lend(frame), 0));
        });
        count
    }
}

#[cfg(test)]
#[path = "../../tests/unit/scattered.rs"]
mod tests;
