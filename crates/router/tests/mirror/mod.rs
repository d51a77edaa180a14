//! The mirror fed with events by hand: what the engine must answer afterwards. The recording engine
//! checks on the way that no change points to a next hop that is not there, and none in use is
//! released.

mod buckets;
mod digests;
pub(crate) mod lab;

mod ports;
mod routes;
mod several_ways;
mod silence;
