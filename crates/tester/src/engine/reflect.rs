//! The far end of a round trip: every test frame goes back to where it came from.
//!
//! Addresses and UDP ports change places, so no checksum changes, and the device routes the frame
//! back as an answer. The signature stays: the near machine knows each frame again, and its own
//! clock has both ends of the delay.

use std::sync::mpsc::{Receiver as Messages, TryRecvError};

use host::clock::now_ns;
use port::{Burst, Pool};

use super::Engine;
use super::protocol::{Reflected, Request};
use crate::frame::Signature;
use crate::link::Link;
use crate::rig::{Result, RigError};

/// How long frames wait for the port to take them before they are dropped, ns.
const PATIENCE_NS: u64 = 5_000_000;

impl<L: Link> Engine<L> {
    /// Sends back what comes until the sender says that it has finished.
    pub(super) fn reflect(&mut self, requests: &Messages<Request>) -> Result<Reflected> {
        let mut found = Reflected::default();
        let mut burst = Burst::new();
        loop {
            if self.link.receive(0, &mut self.pool, &mut burst, now_ns())? > 0 {
                self.turn_back(&mut burst, &mut found)?;
                continue;
            }
            match requests.try_recv() {
                Ok(Request::Finish(_)) => break,
                // The sender has gone, or talks nonsense.
                Ok(_) | Err(TryRecvError::Disconnected) => return Err(RigError::Interrupted),
                Err(TryRecvError::Empty) => {}
            }
        }
        found.dropped += self.link.missed() - self.missed;
        Ok(found)
    }

    /// Sends back the test frames of a burst and forgets the others.
    fn turn_back(&mut self, burst: &mut Burst, found: &mut Reflected) -> Result<()> {
        let mut back = Burst::new();
        let pool: &mut Pool = &mut self.pool;
        burst.take_front(burst.len(), |frame| {
            if swap(pool.bytes_mut(&frame)) {
                // A burst holds what another held.
                if let Err(frame) = back.push(frame) {
                    pool.release(frame);
                }
            } else {
                pool.release(frame);
            }
        });
        let since = now_ns();
        while !back.is_empty() {
            let now = now_ns();
            found.returned += self.link.transmit(0, pool, &mut back, now)? as u64;
            if now - since > PATIENCE_NS {
                found.dropped += back.len() as u64;
                pool.release_all(&mut back);
            }
        }
        Ok(())
    }
}

/// Makes a test frame an answer to itself; whether it was one.
fn swap(frame: &mut [u8]) -> bool {
    let addresses = match frame.get(12..14) {
        Some([0x08, 0x00]) => (26, 4),
        Some([0x86, 0xDD]) => (22, 16),
        _ => return false,
    };
    let (at, length) = addresses;
    let ports = at + 2 * length;
    if frame.len() < ports + 4 || Signature::read(frame).is_none() {
        return false;
    }
    exchange(&mut frame[..12], 6);
    exchange(&mut frame[at..ports], length);
    exchange(&mut frame[ports..ports + 4], 2);
    true
}

/// Exchanges two halves of `length` bytes each.
fn exchange(both: &mut [u8], length: usize) {
    let (one, other) = both.split_at_mut(length);
    one.swap_with_slice(other);
}

#[cfg(test)]
#[path = "../../tests/unit/engine_reflect.rs"]
mod tests;
