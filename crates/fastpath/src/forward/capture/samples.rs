//! The reading end of samples: one frame in so many, and frames that are discarded.

use std::io;
use std::os::fd::OwnedFd;

use bpf::map::MappedArray;
use bpf::ring::Ring;

use super::counts::open;
use super::shown::Shown;

/// Bytes of each frame that are shown at most.
pub(super) const SNAP: u16 = 128;
/// Bytes of samples that wait for the reader: some 5,000.
pub(super) const RING_BYTES: u32 = 1 << 20;
/// 64-bit words of `struct sample_count` of the C source, and those that are used here.
const WORDS: usize = 8;
const LOST: usize = 1;
const LEFT: usize = 2;
const EVERY: usize = 3;
const MOST: usize = 6;
const WITHHELD: usize = 7;
/// Of `what` in `struct shown`, and where that and what follows lie.
const WHAT: usize = 38;
const SAMPLED: u8 = 2;
const DISCARDED: u8 = 4;
const RATE: usize = 44;

/// A frame, and why it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample<'a> {
    /// The frame, and what became of it.
    pub shown: Shown<'a>,
    /// It was drawn so often, each time as one frame in [`Sample::every`]; 0: only because it is
    /// discarded.
    pub times: u32,
    /// Of the frames that come, one in so many is drawn.
    pub every: u32,
    /// It is discarded, and fewer were in this second than may be told.
    pub is_discard: bool,
}

impl<'a> Sample<'a> {
    fn of(record: &'a [u8]) -> Option<Self> {
        let shown = Shown::of(record)?;
        let word = |at: usize| {
            let bytes = record.get(at..)?.first_chunk()?;
            Some(u32::from_ne_bytes(*bytes))
        };
        let what = u16::from_ne_bytes(*record.get(WHAT..)?.first_chunk()?) as u8;
        let times = word(RATE + 4)?;
        Some(Self {
            shown,
            times: if what & SAMPLED != 0 { times } else { 0 },
            every: word(RATE)?,
            is_discard: what & DISCARDED != 0,
        })
    }
}

/// What was counted of samples, by all cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampled {
    /// Samples that found no room in the ring.
    pub lost: u64,
    /// Discarded frames that were not told, because that many were in their second.
    pub withheld: u64,
}

/// The samples, for their only reader.
#[derive(Debug)]
pub struct Samples {
    ring: Ring,
    counts: MappedArray<u64>,
    every: u32,
}

impl Samples {
    /// Reads by these descriptors ([`super::Forwarder::sampled`]), of a machine with so many cores.
    ///
    /// # Errors
    /// The kernel's; the loader's for another form of counts.
    pub fn new(ring: OwnedFd, counts: OwnedFd, cpus: usize) -> io::Result<Self> {
        Ok(Self {
            ring: Ring::new(ring, RING_BYTES as usize)?,
            counts: open("sample_counts", WORDS, counts, cpus)?,
            every: 0,
        })
    }

    /// From now on, one frame in `every` is drawn, from 1, and so many discarded frames are told in
    /// a second at most by each core. `random` says where each core begins.
    pub fn set_rate(&mut self, every: u32, discards: u32, mut random: impl FnMut() -> u64) {
        for row in (0..self.counts.len()).step_by(WORDS) {
            self.counts.write(row + MOST, discards.into());
            if every != self.every {
                let begins = 1 + random() % u64::from(every.max(1));
                self.counts.write(row + LEFT, begins);
                self.counts.write(row + EVERY, every.into());
            }
        }
        self.every = every;
    }

    /// One frame in so many is drawn now; 0: none yet.
    pub fn every(&self) -> u32 {
        self.every
    }

    /// The next sample, if one is there.
    pub fn next_sample(&mut self) -> Option<Sample<'_>> {
        Sample::of(self.ring.next_record()?)
    }

    /// What was counted so far.
    pub fn counted(&self) -> Sampled {
        let rows = (0..self.counts.len()).step_by(WORDS);
        rows.fold(Sampled::default(), |all, row| Sampled {
            lost: all.lost + self.counts.read(row + LOST),
            withheld: all.withheld + self.counts.read(row + WITHHELD),
        })
    }
}
