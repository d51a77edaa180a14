//! The in-kernel rig: frames made by an eBPF program, checked by another, over veth or network
//! cards.
//!
//! Several times faster than sockets, at a price that the report states: the sink knows magic,
//! stream, sequence, length and delay of a frame, but does not compare the payload; delays are
//! counted in buckets 3 % wide, with exact least, most and mean; and frames of an earlier trial
//! cannot be told from this one's, so a trial begins only when nothing has come for a while.
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
