//! An RFC 2544 tester: sends frames through a device under test (DUT), checks every one that comes
//! back, and searches for the rate, burst or interval at which the device still loses nothing.
//!
//! The crate is cut so that whatever decides can be tested with plain values:
//!
//! - [`search`] decides what to try next and when to stop. It takes no clock and does no I/O; a
//!   closure runs the trial.
//!
//! A trial that the tester itself could not carry out is *invalid*: it bounds the answer, is named
//! in the verdict, and never becomes a measured number.

pub mod addresses;
pub mod bench;
pub mod capture;
pub mod clock;
mod conduct;
pub mod disturbance;
pub mod engine;
pub mod expect;
pub mod frame;
pub mod honest;
pub mod latency;
pub mod link;
pub mod mix;
mod privilege;
pub mod profile;
pub mod quantity;
pub mod render;
pub mod result;
pub mod rig;
pub mod schedule;
pub mod search;
pub mod sequence;
pub mod session;
pub mod sizes;
pub mod traffic;
pub mod trial;
pub mod veth;
