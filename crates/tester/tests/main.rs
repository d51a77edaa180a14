//! The tester against devices whose truth is known, and over cables of this machine.

mod buffers;
mod calibrated;
mod disturbed;
mod engine;
mod lanes;
mod prove;
mod reset;
mod search;
mod selftest;
mod support;
mod traffic;
mod verdicts;
mod veth;
