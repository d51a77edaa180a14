//! For how long the routes count as right when nobody says so any more.
//!
//! The program goes on forwarding whatever becomes of the process that follows the kernel's routes:
//! that is what makes a busy or slow control plane harmless, and what makes a stopped one
//! dangerous. So whoever follows may vouch for the routes some times a second
//! ([`Forwarder::vouch`]), each time for a bound; when it falls silent for longer, all frames are
//! the kernel's, under the reason `stale`, until it speaks again. The check costs a frame one load
//! of the kernel's tick count and a comparison with a word of the line that is at hand anyway.

use std::collections::HashMap;
use std::time::Duration;

use bpf::map::Map;
use bpf::program::Program;

use super::port::{FOR_EVER, PORT_WORDS};
use super::{Forwarder, counters, shared};
use crate::Result;
use crate::packed::{Packed, packed};

const OBJECT: Packed = packed!("vouch");
/// The shortest frame that a program can be run on by hand (`ETH_HLEN`), in bytes.
const SHORTEST: usize = 14;

/// The program that reads the kernel's clock for us.
#[derive(Debug)]
pub(super) struct Vouch {
    program: Program,
    tick: Duration,
}

impl Vouch {
    /// Loads it for these maps.
    pub(super) fn load(maps: &HashMap<&'static str, Map>) -> Result<Self> {
        let loader = shared(OBJECT.loader()?, maps);
        Ok(Self {
            program: loader.load()?.program("vouch")?,
            tick: tick(),
        })
    }
}

impl Forwarder {
    /// The routes are the kernel's as of now, and count as that for `bound`, rounded up to the
    /// kernel's ticks; without a bound, which is how a forwarder begins, for ever.
    ///
    /// # Errors
    /// [`bpf::Error::Run`]; what was vouched for before holds.
    pub fn vouch(&self, bound: Option<Duration>) -> Result<()> {
        let Some(bound) = bound else {
            for number in 0..counters::PORTS {
                self.port_words.write(PORT_WORDS * number + 2, FOR_EVER);
            }
            return Ok(());
        };
        let ticks = bound.as_nanos().div_ceil(self.vouch.tick.as_nanos()) as u64;
        let mut frame = [0; SHORTEST];
        frame[..8].copy_from_slice(&ticks.to_ne_bytes());
        self.vouch.program.run(&frame, 0, 1)?;
        Ok(())
    }
}

/// How often the kernel's tick count grows. Its coarse clocks grow with it, and say how fine they
/// are.
fn tick() -> Duration {
    // SAFETY: zero is a value of this plain record.
    let mut resolution: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a record that lives during the call. It cannot fail for this clock;
    // the record would stay zero.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut resolution) };
    // No kernel ticks faster than a thousand times a second.
    Duration::from_nanos(resolution.tv_nsec as u64).max(Duration::from_millis(1))
}
