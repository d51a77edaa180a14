//! Whether a difference is more than noise.
//!
//! [`student`] asks it of one setting against another, paired within the rounds; [`holm`] makes the
//! answers to many questions as sure together as one alone; [`signed_rank`] says how large a
//! difference is, with an exact interval. All of it is pure arithmetic, tested
//! on synthetic noise with known answers.
//!
//! Fewer than [`LEAST`] rounds answer nothing: of three, chance alone puts all runs of one setting
//! above all of another in one case of twenty.

pub mod holm;
pub mod signed_rank;
pub mod student;

/// Rounds below which no difference is called one.
pub const LEAST: usize = 5;

/// The share of wrong alarms that is accepted, over all questions asked together.
pub const LEVEL: f64 = 0.05;
