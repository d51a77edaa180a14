//! The burst searches for processors with AVX-512 and its population count: eight addresses in one
//! register, several registers side by side.
//!
//! Every step is the one of [`crate::layout`], with its loads as gathers. Lanes that have arrived
//! at a leaf are masked off and keep their entry. All registers do one gather before any does the
//! next: a gather alone waits for its slowest lane.
//!
//! The arrays may change meanwhile. A gather loads each element by itself, aligned, once: what the
//! processor does for a scalar load of an atomic it does for a lane. The element of a node is
//! loaded after the entry that led there, since its address is computed from that entry.

mod v4;
mod v6;

/// Addresses in a register.
const LANES: usize = 8;
