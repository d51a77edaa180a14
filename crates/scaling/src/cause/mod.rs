//! What stopped the speed-up.
//!
//! [`split`] divides the lost efficiency exactly, from wall time and CPU time alone, so it works where no hardware
//! counter does. [`counters`] divides its second factor further where counters exist. [`pressure`] takes the machine
//! apart one shared resource at a time: aggressors with one channel each, in doses.

pub mod counters;
pub mod pressure;
pub mod split;
