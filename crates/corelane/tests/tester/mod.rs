//! `corelane test` as its users run it: devices, generators, hooks, files, exit codes, and what is
//! left behind.
//!
//! What is asserted holds on a busy machine too: what was measured and how it is stored, never how
//! fast it was.

mod calibrated;
mod cores;
mod devices;
mod machines;
mod signals;
mod support;
mod traffic;
