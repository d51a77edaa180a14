//! What generated frames look like, and the template that the program makes them from.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bpf::map::Plain;

use super::signature::SIGNATURE_LENGTH;
use crate::{Error, Result};

/// Longest frame in bytes, without FCS.
pub const LENGTH_MAX: u16 = 3_400;
/// Most destinations of one generator.
pub const DESTINATIONS_MAX: usize = 1 << 20;

const HEADER_MAX: usize = 72;
const ETHERNET: usize = 14;
const TAG: usize = 4;
const UDP: usize = 8;
const PROTOCOL_UDP: u8 = 17;

/// Destination addresses, taken by turns in this order (shuffle them for random order).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destinations {
    /// IPv4 frames.
    V4(Vec<Ipv4Addr>),
    /// IPv6 frames.
    V6(Vec<Ipv6Addr>),
}

impl Destinations {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Self::V4(list) => list.len(),
            Self::V6(list) => list.len(),
        }
    }

    /// None at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Destinations {
    /// As the program reads them, in network order: one word for each address, or four.
    pub(super) fn words(&self) -> Vec<u32> {
        let of = |bytes: &[u8]| u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        match self {
            Self::V4(list) => list.iter().map(|address| of(&address.octets())).collect(),
            Self::V6(list) => list
                .iter()
                .flat_map(|address| [0, 4, 8, 12].map(|at| of(&address.octets()[at..])))
                .collect(),
        }
    }
}

/// What the frames look like.
#[derive(Clone, Debug)]
pub struct Frames {
    /// Source MAC address.
    pub source_mac: [u8; 6],
    /// MAC address of the device under test's port.
    pub destination_mac: [u8; 6],
    /// VLAN identifier (with priority bits) of an 802.1Q tag.
    pub vlan: Option<u16>,
    /// Source address; its family must be that of `destinations`.
    pub source: IpAddr,
    /// Destination addresses, one to [`DESTINATIONS_MAX`].
    pub destinations: Destinations,
    /// First UDP source port.
    pub source_port: u16,
    /// How many source ports are used by turns (1: only the first).
    pub source_ports: u16,
    /// UDP destination port.
    pub destination_port: u16,
    /// TTL or hop limit.
    pub ttl: u8,
    /// Frame lengths without FCS, by turns: 60 is the "64-byte frame" of RFC 2544.
    pub lengths: Vec<u16>,
    /// Number of this stream in the signatures.
    pub stream: u16,
    /// Every so many frames carry a departure time; a power of two, 0 for none. Reading the clock
    /// costs some 25 ns a frame.
    pub stamp_every: u32,
}

impl Frames {
    /// Bytes before the payload.
    fn headers(&self) -> usize {
        self.ip_at() + self.ip_length() + UDP
    }

    fn ip_at(&self) -> usize {
        ETHERNET + if self.vlan.is_some() { TAG } else { 0 }
    }

    fn ip_length(&self) -> usize {
        match self.destinations {
            Destinations::V4(_) => 20,
            Destinations::V6(_) => 40,
        }
    }

    /// Shortest frame in bytes without FCS that holds these headers and a signature.
    pub fn shortest(&self) -> u16 {
        (self.headers() + SIGNATURE_LENGTH).max(60) as u16
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.destinations.is_empty() || self.destinations.len() > DESTINATIONS_MAX {
            return Err(Error::value(
                "number of destinations",
                self.destinations.len(),
                format!("give 1 to {DESTINATIONS_MAX}"),
            ));
        }
        if self.source.is_ipv4() != matches!(self.destinations, Destinations::V4(_)) {
            return Err(Error::value(
                "source address",
                self.source,
                "its family must be that of the destinations",
            ));
        }
        if self.lengths.is_empty() || self.lengths.len() > 4096 {
            return Err(Error::value(
                "number of frame lengths",
                self.lengths.len(),
                "give 1 to 4096",
            ));
        }
        for &length in &self.lengths {
            if length < self.shortest() || length > LENGTH_MAX {
                return Err(Error::value(
                    "frame length without FCS",
                    length,
                    format!("these headers allow {} to {LENGTH_MAX}", self.shortest()),
                ));
            }
        }
        if self.source_ports == 0 {
            return Err(Error::value(
                "number of source ports",
                "0",
                "give at least 1",
            ));
        }
        if self.stamp_every != 0 && !self.stamp_every.is_power_of_two() {
            return Err(Error::value(
                "stamp_every",
                self.stamp_every,
                "give a power of two, or 0",
            ));
        }
        Ok(())
    }

    /// Refuses what cannot leave by turns with these frames: the program has one of everything but
    /// addresses.
    pub(super) fn check_turns(&self, other: &Self) -> Result<()> {
        let common = |frames: &Self| {
            (
                frames.vlan,
                frames.source.is_ipv4(),
                frames.destinations.len(),
                (frames.source_port, frames.source_ports),
                frames.lengths.clone(),
                (frames.stream, frames.stamp_every),
            )
        };
        if common(self) == common(other) {
            return Ok(());
        }
        Err(Error::value(
            "frames that leave by turns",
            "different kinds",
            "let them differ by addresses, destination port and TTL alone, with as many \
             destinations each",
        ))
    }

    /// The header without lengths, checksums and destination, and the sums that the program goes on
    /// from.
    pub(super) fn template(&self) -> Template {
        let mut header = Vec::with_capacity(HEADER_MAX);
        header.extend_from_slice(&self.destination_mac);
        header.extend_from_slice(&self.source_mac);
        if let Some(tag) = self.vlan {
            header.extend_from_slice(&[0x81, 0x00]);
            header.extend_from_slice(&tag.to_be_bytes());
        }
        let mut ip_sum = 0;
        // RFC 768, RFC 8200 §8.1: the pseudo-header; the destination and the length are added per
        // frame.
        let mut udp_sum = u32::from(u16::from(PROTOCOL_UDP).to_be());
        match self.source {
            IpAddr::V4(source) => {
                header.extend_from_slice(&[0x08, 0x00]);
                let at = header.len();
                header.extend_from_slice(&[
                    0x45,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    self.ttl,
                    PROTOCOL_UDP,
                    0,
                    0,
                ]);
                header.extend_from_slice(&source.octets());
                ip_sum = sum(&header[at..]);
                udp_sum += sum(&source.octets());
                header.extend_from_slice(&[0; 4]);
            }
            IpAddr::V6(source) => {
                header.extend_from_slice(&[0x86, 0xdd]);
                header.extend_from_slice(&[0x60, 0, 0, 0, 0, 0, PROTOCOL_UDP, self.ttl]);
                header.extend_from_slice(&source.octets());
                udp_sum += sum(&source.octets());
                header.extend_from_slice(&[0; 16]);
            }
        }
        header.extend_from_slice(&self.source_port.to_be_bytes());
        header.extend_from_slice(&self.destination_port.to_be_bytes());
        header.extend_from_slice(&[0; 4]);
        udp_sum += sum(&self.destination_port.to_be_bytes());
        let mut template = Template {
            header: [0; HEADER_MAX],
            ip_sum,
            udp_sum,
            source_port: self.source_port,
            reserved: [0; 3],
        };
        template.header[..header.len()].copy_from_slice(&header);
        template
    }
}

/// Sum of 16-bit words as they lie in memory, not folded.
fn sum(bytes: &[u8]) -> u32 {
    bytes
        .chunks_exact(2)
        .map(|pair| u32::from(u16::from_ne_bytes([pair[0], pair[1]])))
        .sum()
}

/// `struct template` of the C source.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Template {
    header: [u8; HEADER_MAX],
    ip_sum: u32,
    udp_sum: u32,
    source_port: u16,
    reserved: [u16; 3],
}

// SAFETY: repr(C), 72 + 8 + 8 bytes with natural alignment 4 and no hole; integers only.
unsafe impl Plain for Template {}
