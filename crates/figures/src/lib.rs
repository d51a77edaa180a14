//! What a figure is made of: order statistics of few and skewed numbers, intervals that hold the
//! truth as often as they say, one generator of random numbers, and interleaved rounds.
//!
//! The four parts build on each other. [`Random`] gives the same numbers for the same seed, on
//! every machine. [`median`] and [`quantile`] do not feel a few wild values. [`Interval`] brackets
//! a median, and [`Estimate`] is the two together. [`Rounds`] draws the order of a measurement anew
//! in every round, keeps its samples, and compares settings within a round, so that a machine that
//! slows down for a while slows both sides of a ratio. Beside these [`judge`] says whether rounds are
//! evidence at all.
//!
//! Everything here is a pure function of its arguments: no file, no clock, no thread. What it
//! cannot do: it knows no distribution, so of fewer than six values no interval holds 95 %.

mod evidence;
mod interval;
mod order;
mod random;
mod rounds;

pub use evidence::{Judged, Weak, judge};
pub use interval::{
    BOOTSTRAP_MINIMUM, Estimate, Interval, bootstrap, coverage, median_interval, unbounded,
};
pub use order::{geometric_mean, median, quantile, range};
pub use random::Random;
pub use rounds::{Rounds, differences, ratios};
