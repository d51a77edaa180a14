//! The in-kernel rig: frames made by an eBPF program, checked by another, over veth or network
//! cards.
//!
//! Several times faster than sockets, at a price that the report states: the sink knows magic,
//! stream, sequence, length and delay of a frame, but does not compare the payload; delays are
//! counted in buckets 0.8 % wide, with exact least, most and mean. Frames of an earlier trial have
//! smaller numbers; in a trial of more than 2^21 frames, beyond what the sink remembers, only those
//! that carry a time can be told apart, and one that meets others is invalid.
//!
//! The generator's core also runs whatever the kernel does in the same breath: for a veth that is
//! the receiving end's whole path, unless that end has a thread of its own on another core
//! ([`host::napi`]). With one core, or without threads, a device that cannot keep
//! up slows the generator down instead of losing frames; such a trial is undersent, and the result
//! "limited by the tester".

mod end;
mod generators;
pub mod lanes;
mod record;
mod rig;
mod sending;
mod testbed;
mod timetable;

pub use end::End;
pub use rig::XdpRig;
pub use testbed::Testbed;
