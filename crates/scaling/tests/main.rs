//! Comparisons on synthetic noise, the laws on known and published data, what is made of recorded
//! runs, the keeper on bad commands, and live measurements.

mod ab;
mod keeper;
mod laws;
mod live;
mod order;
mod plan;
mod published;
mod result;
mod split;
