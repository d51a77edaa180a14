//! Another way out of an interface than its socket, for whole bursts.
//!
//! Where the kernel copies, a socket costs it a buffer and a walk through its stack for each frame.
//! Who knows a way that costs less for many frames at once gives it to the interface
//! ([`XskInterface::with_detour`](super::XskInterface::with_detour)).
//!
//! The order of frames stays: a burst takes the other way only while nothing waits for the kernel on
//! the socket's ring, and then all of it that the way takes, in one piece or several.

use std::fmt::Debug;

use super::XskPort;
use crate::{Burst, Pool, Port, PortError};

/// The shortest burst that is worth the way, in frames.
const AT_LEAST: usize = 24;
/// Bursts that go by the socket after one that the way did not take.
const PAUSE: u32 = 256;

/// The way.
pub trait Detour: Send + Debug {
    /// Sends frames, as many from the first on as it can.
    fn send(&mut self, frames: &mut dyn Iterator<Item = &[u8]>) -> Sent;
}

/// What became of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// How many of them were given to the device, from the first on.
    pub given: usize,
    /// A bit for each of those that it did not take.
    pub refused: u64,
}

/// A way, and whether it is taken.
#[derive(Debug)]
pub(super) struct Taken {
    detour: Box<dyn Detour>,
    /// Bursts that the way is not taken for.
    pause: u32,
    /// What the device did not take of a burst.
    refused: Burst,
}

impl Taken {
    pub(super) fn new(detour: impl Detour + 'static) -> Self {
        Self {
            detour: Box::new(detour),
            pause: 0,
            refused: Burst::new(),
        }
    }

    /// Is it to be taken for this burst?
    #[inline]
    pub(super) fn suits(&mut self, pool: &Pool, burst: &Burst) -> bool {
        if burst.len() < AT_LEAST || pool.has_scattered() {
            return false;
        }
        if self.pause > 0 {
            self.pause -= 1;
            return false;
        }
        true
    }

    /// As [`Port::transmit`]: what the way does not take goes by the socket, unless the device was
    /// asked.
    pub(super) fn transmit(
        &mut self,
        pool: &mut Pool,
        burst: &mut Burst,
        socket: &mut XskPort,
    ) -> Result<usize, PortError> {
        let mut count = 0;
        while !burst.is_empty() {
            let mut frames = burst.frames().iter().map(|frame| pool.bytes(frame));
            let sent = self.detour.send(&mut frames);
            if sent.given == 0 {
                self.pause = PAUSE;
                break;
            }
            let mut at = 0;
            burst.take_front(sent.given, |frame| {
                if sent.refused >> at & 1 == 0 {
                    count += 1;
                    pool.release(frame);
                } else if let Err(frame) = self.refused.push(frame) {
                    // As long as a burst: there is room.
                    pool.release(frame);
                }
                at += 1;
            });
        }
        let outcome = if burst.is_empty() {
            Ok(0)
        } else {
            socket.transmit(pool, burst)
        };
        for frame in self.refused.drain() {
            if let Err(frame) = burst.push(frame) {
                pool.release(frame);
            }
        }
        outcome.map(|more| count + more)
    }
}
