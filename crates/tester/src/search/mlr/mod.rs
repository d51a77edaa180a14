//! Multiple loss ratio search, after draft-ietf-bmwg-mlrsearch-15.
//!
//! A trial that loses one frame fails RFC 2544's test, although software loses a frame now and then
//! at any load. This search asks for several trials at a load and lets a stated share of them
//! exceed the loss ratio. The *classification* of a load for a goal is the draft's pseudocode,
//! whose examples contradict it in two places (see the tests of [`mod@classify`]); the *controller* is
//! ours: the draft leaves it free. It bisects in logarithmic load, tightest goal first, and keeps
//! every trial for every goal.

mod classify;
mod controller;
mod goal;

pub use classify::{Class, TrialResult, classify, conditional_throughput};
pub use controller::{Controller, GoalResult, Outcome, Request};
pub use goal::Goal;
