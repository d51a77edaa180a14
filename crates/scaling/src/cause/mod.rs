//! What stopped the speed-up.
//!
//! [`split`] divides the lost efficiency exactly, from wall time and CPU time alone, so it works
//! where no hardware counter does. [`counters`] divides its second factor further where counters
//! exist. [`pressure`] takes the machine apart one shared resource at a time: aggressors with one
//! channel each, in doses. [`intervention`] changes the machine or the placement instead.
//! [`budget`] is what the profiler saw of one run, and [`blame`] joins them all: each part of the
//! split divided by what was seen, and what remains unexplained.

pub mod blame;
pub mod budget;
pub mod counters;
pub mod intervention;
pub mod pressure;
pub mod split;
