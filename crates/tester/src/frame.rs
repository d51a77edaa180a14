//! Test frames: an Ethernet, IP, UDP template, the signature at the end of each frame, and the
//! check of what comes back.
//!
//! The last 16 bytes of every frame are its signature: `0xC07E`, stream (trial number in the upper
//! byte, port pair in the lower), sequence number from 1, and the time of departure in nanoseconds
//! of the monotonic clock; all in host byte order, for sender and receiver share a machine. The
//! eBPF generator writes the same. The two bytes before it keep the one's complement sum of those
//! eighteen bytes constant, so that the UDP checksum never changes and a corrupted signature is
//! found out. The rest of the payload counts up, octet by octet (RFC 2544 C.2.6.4), and is compared
//! in full on arrival.

use std::net::{Ipv4Addr, Ipv6Addr};

use fastpath::generate::SIGNATURE_LENGTH;
pub use fastpath::generate::Signature;

use crate::sizes::{Family, FrameSize};

/// Signature and the check before it.
const CHECKED: usize = SIGNATURE_LENGTH + 2;
/// UDP source port of RFC 2544 C.2.6.4.
pub const SOURCE_PORT: u16 = 0xC020;
/// UDP destination port: echo.
pub const DESTINATION_PORT: u16 = 7;
/// Time to live of RFC 2544 C.2.6.4.
pub const TIME_TO_LIVE: u8 = 10;
const ETHERNET: usize = 14;

/// What became of a frame on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Ours and whole.
    Good(Signature),
    /// Carries our mark but not our bytes.
    Corrupt,
    /// Not one of ours.
    Stray,
}

/// Where a stream comes from and goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// The tester's port.
    pub source_mac: [u8; 6],
    /// The device's port.
    pub destination_mac: [u8; 6],
    /// Sender, IPv4.
    pub source_v4: Ipv4Addr,
    /// Sender, IPv6.
    pub source_v6: Ipv6Addr,
}

/// A frame ready to be copied and signed.
#[derive(Debug, Clone)]
pub struct Template {
    family: Family,
    bytes: Vec<u8>,
}

impl Template {
    /// Builds the frame of a size; its destination is set for each copy by [`Template::write_v4`] or
    /// [`Template::write_v6`].
    pub fn new(size: FrameSize, family: Family, ends: &Ends) -> Self {
        let mut bytes = vec![0_u8; size.without_fcs()];
        let network = bytes.len() - ETHERNET;
        let udp = ETHERNET + family.header() as usize;
        match family {
            Family::Ipv4 => write_ipv4(&mut bytes, ends, network),
            Family::Ipv6 => {
                write_ethernet(&mut bytes, ends, [0x86, 0xDD]);
                bytes[14] = 0x60;
                bytes[18..20].copy_from_slice(&((network - 40) as u16).to_be_bytes());
                bytes[20] = 17;
                bytes[21] = TIME_TO_LIVE;
                bytes[22..38].copy_from_slice(&ends.source_v6.octets());
            }
        }
        bytes[udp..udp + 2].copy_from_slice(&SOURCE_PORT.to_be_bytes());
        bytes[udp + 2..udp + 4].copy_from_slice(&DESTINATION_PORT.to_be_bytes());
        let udp_length = (network - family.header() as usize) as u16;
        bytes[udp + 4..udp + 6].copy_from_slice(&udp_length.to_be_bytes());
        for (index, byte) in bytes[udp + 8..].iter_mut().enumerate() {
            *byte = index as u8;
        }
        let mut template = Self { family, bytes };
        template.finish();
        template
    }

    /// Whether a frame is of this template's length and protocol.
    #[inline]
    pub fn fits(&self, frame: &[u8]) -> bool {
        frame.len() == self.bytes.len() && frame[12..14] == self.bytes[12..14]
    }

    /// The protocol of its frames.
    pub fn family(&self) -> Family {
        self.family
    }

    /// Bytes of a frame without FCS.
    pub fn length(&self) -> usize {
        self.bytes.len()
    }

    /// Writes one frame to an IPv4 destination; `frame` must be [`Template::length`] long.
    pub fn write_v4(&self, frame: &mut [u8], destination: u32, signature: Signature) {
        frame.copy_from_slice(&self.bytes);
        frame[30..34].copy_from_slice(&destination.to_be_bytes());
        let sum = !fold(sum(&frame[14..34]));
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        sign(frame, signature);
    }

    /// Writes one frame to an IPv6 destination; `frame` must be [`Template::length`] long.
    pub fn write_v6(&self, frame: &mut [u8], destination: u128, signature: Signature) {
        frame.copy_from_slice(&self.bytes);
        frame[38..54].copy_from_slice(&destination.to_be_bytes());
        sign(frame, signature);
        // Everything but the destination is as in the template, signature and check together
        // included.
        let partial = u16::from_be_bytes([frame[60], frame[61]]);
        let checksum = !fold(u64::from(!partial) + sum(&frame[38..54]));
        let checksum = if checksum == 0 { 0xFFFF } else { checksum };
        frame[60..62].copy_from_slice(&checksum.to_be_bytes());
    }

    /// Gives a frame that was written other UDP ports, `(source, destination)`.
    pub fn write_ports(&self, frame: &mut [u8], ports: (u16, u16)) {
        let udp = ETHERNET + self.family.header() as usize;
        let mut bytes = [0; 4];
        bytes[..2].copy_from_slice(&ports.0.to_be_bytes());
        bytes[2..].copy_from_slice(&ports.1.to_be_bytes());
        if self.family == Family::Ipv6 {
            // RFC 1624 §3: what goes is taken off the sum, what comes is added.
            let gone: [u8; 4] = std::array::from_fn(|index| !frame[udp + index]);
            let before = u16::from_be_bytes([frame[udp + 6], frame[udp + 7]]);
            let checksum = !fold(u64::from(!before) + sum(&gone) + sum(&bytes));
            let checksum = if checksum == 0 { 0xFFFF } else { checksum };
            frame[udp + 6..udp + 8].copy_from_slice(&checksum.to_be_bytes());
        }
        frame[udp..udp + 4].copy_from_slice(&bytes);
    }

    /// Signs the template itself and, for IPv6, stores the UDP checksum of everything but the
    /// destination address.
    fn finish(&mut self) {
        let nobody = Signature {
            stream: 0,
            sequence: 0,
            sent_ns: 0,
        };
        sign(&mut self.bytes, nobody);
        if self.family == Family::Ipv6 {
            let length = self.bytes.len() - 54;
            let pseudo = sum(&self.bytes[22..38]) + length as u64 + 17;
            let checksum = !fold(pseudo + sum(&self.bytes[54..]));
            self.bytes[60..62].copy_from_slice(&checksum.to_be_bytes());
        }
    }

    /// Judges a received frame: ours or not, whole or not. What a router rewrites (MACs, TTL, IP
    /// checksum) may differ.
    pub fn judge(&self, frame: &[u8]) -> Content {
        let Some(signature) = Signature::read(frame) else {
            return Content::Stray;
        };
        let payload = ETHERNET + self.family.header() as usize + 8;
        let end = self.bytes.len() - CHECKED;
        let whole = frame.len() == self.bytes.len()
            && signature_holds(frame)
            && frame[payload..end] == self.bytes[payload..end];
        if whole {
            Content::Good(signature)
        } else {
            Content::Corrupt
        }
    }
}

fn write_ethernet(bytes: &mut [u8], ends: &Ends, ethertype: [u8; 2]) {
    bytes[0..6].copy_from_slice(&ends.destination_mac);
    bytes[6..12].copy_from_slice(&ends.source_mac);
    bytes[12..14].copy_from_slice(&ethertype);
}

/// The headers before UDP of a packet of `length` bytes, without destination and checksum.
fn write_ipv4(bytes: &mut [u8], ends: &Ends, length: usize) {
    write_ethernet(bytes, ends, [0x08, 0x00]);
    bytes[14] = 0x45;
    bytes[16..18].copy_from_slice(&(length as u16).to_be_bytes());
    bytes[22] = TIME_TO_LIVE;
    bytes[23] = 17;
    bytes[26..30].copy_from_slice(&ends.source_v4.octets());
}

/// A frame with a UDP datagram over IPv4, no checksum of its own, between ports `(from, to)`;
/// padded to Ethernet's minimum.
pub(crate) fn udp_v4(
    ends: &Ends,
    destination: Ipv4Addr,
    ports: (u16, u16),
    payload: &[u8],
) -> Vec<u8> {
    const HEADERS: usize = 20 + 8;
    let mut bytes = vec![0_u8; (ETHERNET + HEADERS + payload.len()).max(60)];
    write_ipv4(&mut bytes, ends, HEADERS + payload.len());
    bytes[30..34].copy_from_slice(&destination.octets());
    let checksum = ipv4_checksum(&bytes[14..34]);
    bytes[24..26].copy_from_slice(&checksum);
    bytes[34..36].copy_from_slice(&ports.0.to_be_bytes());
    bytes[36..38].copy_from_slice(&ports.1.to_be_bytes());
    bytes[38..40].copy_from_slice(&((8 + payload.len()) as u16).to_be_bytes());
    bytes[42..42 + payload.len()].copy_from_slice(payload);
    bytes
}

/// The checksum of an IPv4 header, whatever its checksum field says; in network order.
pub(crate) fn ipv4_checksum(header: &[u8]) -> [u8; 2] {
    let present = sum(&header[10..12]);
    (!fold(sum(header) - present)).to_be_bytes()
}

/// UDP source port of an IPv4 frame; `None` for anything else.
pub(crate) fn udp_source_v4(frame: &[u8]) -> Option<u16> {
    let port = frame.get(34..36)?;
    (frame[12..15] == [0x08, 0x00, 0x45] && frame[23] == 17)
        .then(|| u16::from_be_bytes([port[0], port[1]]))
}

/// Signs the end of a frame and sets the check so that the eighteen bytes sum to a constant.
fn sign(frame: &mut [u8], signature: Signature) {
    let mut end = [0; CHECKED];
    let written = signature.write(&mut end);
    debug_assert!(written, "there is room for it");
    let check = check(&end);
    end[..2].copy_from_slice(&check);
    let at = frame.len() - CHECKED;
    frame[at..].copy_from_slice(&end);
}

fn signature_holds(frame: &[u8]) -> bool {
    let at = frame.len() - CHECKED;
    frame[at..at + 2] == check(frame)
}

/// What the two bytes before the signature at the end of a frame must be.
fn check(frame: &[u8]) -> [u8; 2] {
    let signature = frame.last_chunk().unwrap_or(&[0; SIGNATURE_LENGTH]);
    (!fold_native(signature)).to_ne_bytes()
}

/// One's complement sum of the signature in host byte order; equal, bytes swapped, to that in
/// network order.
fn fold_native(bytes: &[u8; SIGNATURE_LENGTH]) -> u16 {
    let word = u128::from_ne_bytes(*bytes);
    let sum = (word as u64 & 0xFFFF_FFFF)
        + (word as u64 >> 32)
        + ((word >> 64) as u64 & 0xFFFF_FFFF)
        + (word >> 96) as u64;
    fold(sum)
}

/// Sum of big-endian 16-bit words; an odd byte at the end counts as the upper half of a word.
fn sum(bytes: &[u8]) -> u64 {
    let pairs = bytes.chunks_exact(2);
    let odd = pairs
        .remainder()
        .first()
        .map_or(0, |&byte| u64::from(byte) << 8);
    odd + pairs
        .map(|pair| u64::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum::<u64>()
}

const fn fold(mut sum: u64) -> u16 {
    sum = (sum & 0xFFFF_FFFF) + (sum >> 32);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum as u16
}

#[cfg(test)]
#[path = "../tests/unit/frame.rs"]
mod tests;
