//! What lies between the tester's ends, as the user-space engine sees it: frames go in at one port
//! and come out at another.
//!
//! - [`wire`]: a piece of memory with nothing in between: the self-test of the engine.
//! - [`calibrated`]: a device in memory, with a set rate, buffer, delay, loss, duplication,
//!   reordering and corruption: the yardstick for every test of this crate.
//! - [`ports`]: ports of crate `port` (`AF_PACKET`, `AF_XDP`), with a device of somebody else's
//!   between them.

pub mod calibrated;
pub mod ports;
pub mod wire;

use port::{Burst, Pool, PortError};

/// How many frames changed hands, or why the port cannot be used any more.
pub type Moved = Result<usize, PortError>;

/// Ports to send into and receive from. One thread owns it.
pub trait Link {
    /// How many ports.
    fn ports(&self) -> u8;

    /// Takes frames off the front of `burst` as long as the port accepts them; the others stay.
    /// `now_ns` is the time of the call.
    ///
    /// # Errors
    /// The port cannot be used any more.
    fn transmit(&mut self, port: u8, pool: &mut Pool, burst: &mut Burst, now_ns: u64) -> Moved;

    /// Appends frames that have arrived to `burst`; never waits.
    ///
    /// # Errors
    /// The port cannot be used any more.
    fn receive(&mut self, port: u8, pool: &mut Pool, burst: &mut Burst, now_ns: u64) -> Moved;

    /// Frames that the tester's side of a port lost, since it was opened.
    fn missed(&mut self) -> u64 {
        0
    }

    /// What it is, for the report.
    fn describe(&self) -> String;
}
