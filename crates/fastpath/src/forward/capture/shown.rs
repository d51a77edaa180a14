//! The reading end: frames as the programs show them.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use bpf::map::MappedArray;
use bpf::ring::Ring;

use super::RING_BYTES;
use super::counts::open;
use crate::forward::Reason;

/// Bytes of `struct shown` of the C source in front of the frame.
pub(super) const HEAD: usize = 56;
/// 64-bit words of `struct shown_count`.
const COUNT_WORDS: usize = 8;

/// A frame, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown<'a> {
    /// When: `CLOCK_MONOTONIC`.
    pub time: Duration,
    /// Bytes of the whole frame, with its tag.
    pub length: u32,
    /// Its beginning.
    pub bytes: &'a [u8],
    /// Frames on the wire that it stands for.
    pub frames: u32,
    /// Why it was left; `None`: it was forwarded.
    pub reason: Option<Reason>,
    /// Place of the port that it came by.
    pub port: usize,
    /// Place of the port that it leaves by, where it is forwarded.
    pub egress: usize,
    /// The tag that it leaves with.
    pub vlan: Option<u16>,
    /// Number of the next hop; 0 where there is none.
    pub next_hop: u16,
    /// Place of the table that it was looked up in.
    pub table: u32,
    /// The core that had it.
    pub cpu: u16,
    /// Bytes on the wire of all frames that it stands for, without FCS.
    pub wire: u32,
}

impl<'a> Shown<'a> {
    /// From a record of the ring.
    pub(super) fn of(record: &'a [u8]) -> Option<Self> {
        let (head, rest) = record.split_at_checked(HEAD)?;
        let word = |at: usize| {
            let bytes = head.get(at..at + 4)?;
            Some(u32::from_ne_bytes(bytes.try_into().ok()?))
        };
        let half = |at: usize| {
            let bytes = head.get(at..at + 2)?;
            Some(u16::from_ne_bytes(bytes.try_into().ok()?))
        };
        let time = u64::from(word(0)?) | u64::from(word(4)?) << 32;
        let vlan = word(24)?;
        Some(Self {
            time: Duration::from_nanos(time),
            length: word(8)?,
            bytes: rest.get(..word(12)? as usize)?,
            frames: word(16)?,
            table: word(20)?,
            vlan: (vlan != 0).then_some(vlan as u16),
            reason: Reason::ALL.get(usize::from(half(28)?)).copied(),
            next_hop: half(30)?,
            port: half(32)?.into(),
            egress: half(34)?.into(),
            cpu: half(36)?,
            wire: word(40)?,
        })
    }
}

/// What was counted of the capture itself, by all cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Frames that were wanted.
    pub matched: u64,
    /// Those of them that found no room in the ring.
    pub lost: u64,
}

/// The frames of one capture, for its only reader.
#[derive(Debug)]
pub struct Frames {
    ring: Ring,
    counts: MappedArray<u64>,
}

impl Frames {
    /// Reads by these descriptors ([`super::Forwarder::captured`]), of a machine with so many cores.
    ///
    /// # Errors
    /// The kernel's; the loader's for another form of counts.
    pub fn new(ring: OwnedFd, counts: OwnedFd, cpus: usize) -> io::Result<Self> {
        Ok(Self {
            ring: Ring::new(ring, RING_BYTES as usize)?,
            counts: open("shown_counts", COUNT_WORDS, counts, cpus)?,
        })
    }

    /// The next frame, if one is there.
    pub fn next_frame(&mut self) -> Option<Shown<'_>> {
        Shown::of(self.ring.next_record()?)
    }

    /// What was counted so far.
    pub fn counted(&self) -> Counted {
        let rows = (0..self.counts.len()).step_by(COUNT_WORDS);
        rows.fold(Counted::default(), |all, row| Counted {
            matched: all.matched + self.counts.read(row),
            lost: all.lost + self.counts.read(row + 1),
        })
    }
}
