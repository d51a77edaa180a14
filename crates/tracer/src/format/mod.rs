//! The file format `corelane-trace`, version 2.
//!
//! A file is 16 bytes `corelane-trace\0` + version, then blocks. A block is a 24-byte head (kind,
//! form, core, payload length, number of entries, CRC-32 of all the rest of the block, time of the
//! first entry; little-endian) and its payload, as it is (form 0, the only one of version 1) or
//! deflated (form 1: four bytes that tell its length inflated, then the deflate stream of RFC
//! 1951):
//!
//! - `H`: JSON [`crate::trace::Header`]: what was asked, on what machine
//! - `C`: the events of one core, see below
//! - `T`: names, births and deaths of threads
//! - `E`: JSON [`crate::trace::Trailer`]: losses, names of locks, code places. The last block: a
//!   file without it was cut off
//!
//! Events of one core are in time order, over all its blocks. Each is one head byte, the
//! nanoseconds since the event before it (variable length, 7 bits a byte), then what the kind
//! needs. Two things keep a context switch near four bytes, before deflate halves them: the thread
//! that leaves is not written, since it is the one that came last; and a thread seen lately on this
//! core is named by its place in a list of the 15 most recent ones, inside the head byte:
//!
//! ```text
//! 1 sss tttt   the core switches: state left (3 bits), thread by list place (15: number follows)
//! 01 nn tttt a wake-up: nn = 0 on this core's queue, 1 the target core follows, 2 flags and target
//! follow
//! 00 kkkkkk    everything else, by number
//! ```
//! Every block starts with empty lists, so a damaged block costs itself and nothing after it.

pub mod last;
pub mod read;
pub mod write;

mod block;
mod events;
mod recent;

pub(crate) use recent::Recent;

/// The first 15 bytes of every file.
pub const MAGIC: &[u8; 15] = b"corelane-trace\0";
/// The version this program writes; it reads the older ones too.
pub const VERSION: u8 = 2;

/// Head bytes of the events that are neither switches nor plain wake-ups.
pub(crate) mod code {
    pub(crate) const SWITCH: u8 = 0x80;
    pub(crate) const WAKING: u8 = 0x40;
    pub(crate) const CURRENT: u8 = 0x01;
    pub(crate) const MIGRATE: u8 = 0x02;
    pub(crate) const FUTEX_ENTER: u8 = 0x03;
    pub(crate) const FUTEX_EXIT: u8 = 0x04;
    pub(crate) const LOCK_BEGIN: u8 = 0x05;
    pub(crate) const LOCK_END: u8 = 0x06;
    pub(crate) const POLL: u8 = 0x07;
    pub(crate) const PACKETS: u8 = 0x08;
    pub(crate) const STACK: u8 = 0x09;
    pub(crate) const PROGRESS: u8 = 0x0a;
    pub(crate) const LOST: u8 = 0x0b;
    pub(crate) const SAMPLE: u8 = 0x0c;
    pub(crate) const STOLEN: u8 = 0x0d;
    pub(crate) const LINE: u8 = 0x10;
    pub(crate) const SOFT: u8 = 0x12;
    pub(crate) const TIMER: u8 = 0x14;
    pub(crate) const RESCHEDULE: u8 = 0x16;
    pub(crate) const CALL: u8 = 0x18;
    /// Added to the five before it where the interrupt ends.
    pub(crate) const END: u8 = 0x01;
    pub(crate) const LAST: u8 = CALL | END;
}

/// What a block of thread news tells.
mod task {
    pub(super) const NAMED: u8 = 0;
    pub(super) const FORKED: u8 = 2;
    pub(super) const EXITED: u8 = 3;
}
