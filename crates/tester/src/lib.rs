//! An RFC 2544 tester: sends frames through a device under test (DUT), checks every one that comes
//! back, and searches for the rate, burst or interval at which the device still loses nothing.
//!
//! A test asks, a search chooses, a rig sends:
//!
//! | rooms | what is in them |
//! |---|---|
//! | [`mod@bench`] | the tests of the RFCs, each a short procedure over a [`session`] |
//! | [`search`] | which rate next and when to stop: no clock, no I/O, a closure runs the trial |
//! | [`rig`] | one trial on one device; [`trial`] is the order for it and its record |
//! | [`engine`], [`link`] | the rig in user space, over ports or memory |
//! | [`veth`] | the rig in the kernel, its namespaces and cables, and the lanes of all cores |
//! | [`schedule`], [`clock`] | when each frame is to leave, and by which time |
//! | [`frame`], [`sizes`], [`mix`], [`addresses`] | what test frames are and where they go |
//! | [`udp_ports`] | which UDP ports they have, where these are random |
//! | [`traffic`], [`capture`] | what is sent besides them, or in their place |
//! | [`sequence`], [`latency`] | which frames came, and how late |
//! | [`places`] | where lost frames were lost, by the counters on their way |
//! | [`by_cores`] | rounds on one core and on several, and what more cores bring |
//! | [`disturbance`], [`honest`] | whether others had the cores; what a result is worth |
//! | [`profile`], [`deviations`] | how long, how often, how finely; where that is not the RFCs' |
//! | [`result`], [`render`] | what is stored, and the tables and plots made of it alone |
//! | [`expect`] | what scripts expect |
//!
//! What runs a trial's traffic beside an event (`conduct`), what its threads are granted meanwhile
//! (`privilege`) and who looks at the clocks of its cores (`gaps`) is the crate's own.
//!
//! A trial that the tester itself could not carry out is *invalid*: it bounds the answer, is named
//! in the verdict, and never becomes a measured number.

pub mod addresses;
pub mod bench;
pub mod by_cores;
pub mod capture;
pub mod clock;
mod conduct;
pub mod deviations;
pub mod disturbance;
pub mod engine;
pub mod expect;
pub mod frame;
mod gaps;
pub mod honest;
pub mod latency;
pub mod link;
pub mod mix;
pub mod places;
mod privilege;
pub mod profile;
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
pub mod udp_ports;
pub mod veth;
