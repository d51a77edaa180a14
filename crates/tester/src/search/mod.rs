//! Searches: which amount to try next, and when to stop.
//!
//! One narrow function lies between a search and the world: a closure that runs one trial at one
//! amount and says what came of it. The amount may be a rate (frames per second), a burst length
//! (frames) or an interval (nanoseconds): whatever implements [`Amount`]. Nothing here takes a
//! clock or does I/O, so that every rule can be tested against simulated devices.
//!
//! - [`Bisection`]: RFC 2544 §26.1, with the stop criterion and confirmation that the RFC leaves
//!   open.
//! - [`Bisection::repeats`]: binary search with loss verification (ETSI GS NFV-TST 009, RFC 9004
//!   §5.4).
//! - [`mlr`]: the multiple loss ratio search of draft-ietf-bmwg-mlrsearch-15.

mod amount;
mod bisection;
pub mod mlr;

pub use amount::Amount;
pub use bisection::{Bisection, Ended, Found, HINTS, Limit, Phase, Probe, Step, TrialOutcome};
