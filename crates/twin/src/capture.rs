//! Frames from captures: as real programs made them, addressed anew.
//!
//! Headers, options and lengths stay as they were captured, and so do tunnels with what they carry.
//! The outer addresses are a case's, sixteen bytes of markers are put behind the payload, and
//! lengths and checksums follow. What lies behind a packet is cut off.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::PathBuf;

use port::PortError;
use port::pcap::Reader;

use crate::case::marker;
use crate::headers::{ETHERNET, settle};

/// What every search sends too: ping with and without options and fragments, traceroute, DNS, TCP,
/// a tunnel, discovery.
const PROGRAMS: &[u8] = include_bytes!("../captures/programs.pcap");

/// A packet of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured(Vec<u8>);

/// The packets of IP in these files, and those that come with the harness.
///
/// # Errors
/// When a file cannot be read or is no capture of Ethernet.
pub fn captured(files: &[PathBuf]) -> Result<Vec<Captured>, PortError> {
    let mut all = packets(PROGRAMS, "programs.pcap")?;
    for file in files {
        let name = file.display().to_string();
        let input = File::open(file).map_err(|source| PortError::File {
            name: name.clone(),
            action: "open",
            source,
        })?;
        all.extend(packets(BufReader::new(input), &name)?);
    }
    Ok(all)
}

fn packets(input: impl Read, name: &str) -> Result<Vec<Captured>, PortError> {
    let mut reader = Reader::new(input, name)?;
    let mut packets = Vec::new();
    while let Some(record) = reader.next_record()? {
        packets.extend(Captured::of(record.bytes));
    }
    Ok(packets)
}

impl Captured {
    /// The packet in a frame, if it is one of IP and whole.
    fn of(frame: &[u8]) -> Option<Self> {
        let (kind, packet) = (frame.get(12..14)?, frame.get(ETHERNET..)?);
        let half = |at: usize| {
            Some(usize::from(u16::from_be_bytes(
                *packet.get(at..)?.first_chunk()?,
            )))
        };
        let length = match (kind, packet.first()? >> 4) {
            ([8, 0], 4) => half(2)?,
            ([0x86, 0xdd], 6) => half(4)? + 40,
            _ => return None,
        };
        let enough = if packet[0] >> 4 == 4 { 20 } else { 40 };
        (length >= enough)
            .then(|| packet.get(..length))?
            .map(|packet| Self(packet.to_vec()))
    }

    pub(crate) fn is_v6(&self) -> bool {
        self.0[0] >> 4 == 6
    }

    /// The packet from and to these addresses, with this number in its payload; `None` when it is
    /// longer than `longest` bytes then.
    pub(crate) fn packet(
        &self,
        source: &[u8],
        destination: &[u8],
        number: u16,
        longest: usize,
    ) -> Option<Vec<u8>> {
        let mut packet = self.0.clone();
        packet.extend(marker(number).repeat(2));
        if packet.len() > longest {
            return None;
        }
        let addresses = if self.is_v6() { 8..40 } else { 12..20 };
        packet[addresses].copy_from_slice(&[source, destination].concat());
        settle(&mut packet);
        Some(packet)
    }
}

#[cfg(test)]
#[path = "../tests/unit/capture.rs"]
mod tests;
