//! Frames of a capture, sent again and known again when they come back.
//!
//! Nothing of a captured frame is given away for a signature but 16 bits that no router changes and
//! hardly a host looks at: the identification of IPv4 (of unfragmented packets it says nothing, RFC
//! 6864 §4) and the lower bits of IPv6's flow label hold the sequence number modulo 65 536. The
//! time of departure stays with the sender. What comes back is compared in full with the frame of
//! that number, but for what a router rewrites: hardware addresses, time to live, IPv4 checksum.
//!
//! What it cannot do: tell frames apart that are 65 536 frames late, and replay what is not plain:
//! fragments, broadcast and multicast, packets that would die of old age, frames cut by the
//! capture. They are left out, and counted.

use std::cell::Cell;
use std::io::Read;
use std::rc::Rc;

use port::PortError;
use port::pcap::Reader;

use crate::frame::{Content, Signature, ipv4_checksum};
use crate::sizes::{FCS, Family};

/// Frames that can be told apart at a time.
const MARKS: u32 = 1 << 16;
const ETHERNET: usize = 14;
/// Shortest frame without FCS.
const SHORTEST: usize = 60;

/// One frame that can be replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Captured {
    bytes: Vec<u8>,
    family: Family,
    /// Where the packet ends; what follows is padding.
    end: usize,
}

/// The frames of a capture that can be replayed, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    name: String,
    frames: Vec<Captured>,
    left_out: u64,
}

impl Capture {
    /// Reads a capture file. Frames longer than `largest` bytes with FCS are left out too.
    ///
    /// # Errors
    /// The file cannot be read, or holds nothing that can be replayed.
    pub fn read(input: impl Read, name: &str, largest: u16) -> Result<Self, PortError> {
        let mut reader = Reader::new(input, name)?;
        let mut frames = Vec::new();
        let mut left_out = 0;
        while let Some(record) = reader.next_record()? {
            let whole = record.bytes.len() == record.wire_length as usize
                && record.bytes.len() <= usize::from(largest - FCS);
            match Captured::new(record.bytes).filter(|_| whole) {
                Some(frame) => frames.push(frame),
                None => left_out += 1,
            }
        }
        if frames.is_empty() {
            return Err(PortError::Malformed {
                name: name.to_owned(),
                what: format!(
                    "none of its {left_out} frames can be replayed: wanted are whole unicast IP \
                     packets of at most {largest} bytes with FCS"
                ),
            });
        }
        Ok(Self {
            name: name.to_owned(),
            frames,
            left_out,
        })
    }

    /// The capture in words for the report.
    pub fn describe(&self) -> String {
        format!(
            "{} frames of {}, over and over; {} left out",
            self.frames.len(),
            self.name,
            self.left_out
        )
    }

    /// Mean length, bytes with FCS.
    pub fn mean_size(&self) -> f64 {
        let sum: usize = self.frames.iter().map(|frame| frame.bytes.len()).sum();
        sum as f64 / self.frames.len() as f64 + f64::from(FCS)
    }

    /// Bytes without FCS of the `slot`th frame sent (from 0).
    #[inline]
    pub(crate) fn length(&self, slot: u64) -> usize {
        self.at(slot).bytes.len()
    }

    /// Writes the frame with a sequence number from 1, between given hardware addresses.
    #[inline]
    pub(crate) fn write(&self, bytes: &mut [u8], sequence: u32, macs: [[u8; 6]; 2]) {
        let frame = self.at(u64::from(sequence - 1));
        bytes.copy_from_slice(&frame.bytes);
        let [destination, source] = macs;
        bytes[0..6].copy_from_slice(&destination);
        bytes[6..12].copy_from_slice(&source);
        let mark = (sequence as u16).to_be_bytes();
        let at = mark_at(frame.family);
        bytes[at..at + 2].copy_from_slice(&mark);
        if frame.family == Family::Ipv4 {
            let sum = ipv4_checksum(&bytes[ETHERNET..ETHERNET + header_length(bytes)]);
            bytes[24..26].copy_from_slice(&sum);
        }
    }

    /// Judges a frame that came: it is the newest with its mark, or none of ours.
    pub(crate) fn judge(&self, bytes: &[u8], departures: &Departures, stream: u16) -> Content {
        let Some(family) = family(bytes) else {
            return Content::Stray;
        };
        let at = mark_at(family);
        let Some(mark) = bytes.get(at..at + 2) else {
            return Content::Stray;
        };
        let newest = departures.newest.get();
        let mark = u32::from(u16::from_be_bytes([mark[0], mark[1]]));
        let age = newest.wrapping_sub(mark) % MARKS;
        if age >= newest {
            return Content::Stray;
        }
        let sequence = newest - age;
        let frame = self.at(u64::from(sequence - 1));
        if frame.is_in(bytes) {
            return Content::Good(Signature {
                stream,
                sequence,
                sent_ns: departures.times[(sequence % MARKS) as usize].get(),
            });
        }
        if frame.has_ends_of(bytes) {
            Content::Corrupt
        } else {
            Content::Stray
        }
    }

    #[inline]
    fn at(&self, slot: u64) -> &Captured {
        &self.frames[(slot % self.frames.len() as u64) as usize]
    }
}

impl Captured {
    /// The frame, if it can be replayed.
    fn new(bytes: &[u8]) -> Option<Self> {
        let family = family(bytes)?;
        let unicast = bytes[0] & 1 == 0;
        let (end, hops, fragment) = match family {
            Family::Ipv4 => {
                let header = bytes.get(ETHERNET..ETHERNET + 20)?;
                let long = header_length(bytes);
                let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
                let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3FFF != 0;
                if header[0] >> 4 != 4 || long < 20 || long > total {
                    return None;
                }
                (ETHERNET + total, header[8], fragment || header[16] >= 224)
            }
            Family::Ipv6 => {
                /// Next header: a fragment (RFC 8200 §4.5).
                const FRAGMENT: u8 = 44;
                let header = bytes.get(ETHERNET..ETHERNET + 40)?;
                let payload = usize::from(u16::from_be_bytes([header[4], header[5]]));
                if header[0] >> 4 != 6 {
                    return None;
                }
                let special = header[6] == FRAGMENT || header[24] == 0xFF;
                (ETHERNET + 40 + payload, header[7], special)
            }
        };
        if !unicast || fragment || hops < 2 || bytes.len() < end {
            return None;
        }
        let mut bytes = bytes.to_vec();
        bytes.resize(bytes.len().max(SHORTEST), 0);
        Some(Self { bytes, family, end })
    }

    /// Whether other bytes are this frame, but for what a router rewrites and for the mark.
    fn is_in(&self, other: &[u8]) -> bool {
        let same = |from: usize, to: usize| other[from..to] == self.bytes[from..to];
        other.len() >= self.end
            && family(other) == Some(self.family)
            && match self.family {
                Family::Ipv4 => {
                    same(14, 18)
                        && same(20, 22)
                        && other[23] == self.bytes[23]
                        && same(26, self.end)
                }
                Family::Ipv6 => same(14, 16) && same(18, 21) && same(22, self.end),
            }
    }

    /// Whether other bytes go between the same addresses.
    fn has_ends_of(&self, other: &[u8]) -> bool {
        let ends = match self.family {
            Family::Ipv4 => 26..34,
            Family::Ipv6 => 22..54,
        };
        family(other) == Some(self.family) && other.get(ends.clone()) == self.bytes.get(ends)
    }
}

/// When the newest frames of a replay left: the sender writes, the receiver beside it reads.
#[derive(Debug, Clone)]
pub(crate) struct Departures {
    newest: Rc<Cell<u32>>,
    times: Rc<[Cell<u64>]>,
}

impl Departures {
    pub(crate) fn new() -> Self {
        Self {
            newest: Rc::new(Cell::new(0)),
            times: (0..MARKS).map(|_| Cell::new(0)).collect(),
        }
    }

    /// Notes that frame `sequence` leaves at `now_ns`.
    #[inline]
    pub(crate) fn note(&self, sequence: u32, now_ns: u64) {
        self.newest.set(sequence);
        self.times[(sequence % MARKS) as usize].set(now_ns);
    }
}

fn family(bytes: &[u8]) -> Option<Family> {
    match bytes.get(12..14)? {
        [0x08, 0x00] => Some(Family::Ipv4),
        [0x86, 0xDD] => Some(Family::Ipv6),
        _ => None,
    }
}

/// Where the mark is: IPv4 identification, lower half of the IPv6 flow label.
const fn mark_at(family: Family) -> usize {
    match family {
        Family::Ipv4 => 18,
        Family::Ipv6 => 16,
    }
}

fn header_length(bytes: &[u8]) -> usize {
    usize::from(bytes[ETHERNET] & 0x0F) * 4
}

#[cfg(test)]
#[path = "../tests/unit/capture.rs"]
mod tests;
