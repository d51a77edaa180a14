//! Checksums that a sender left to its network card.
//!
//! Linux hands frames to virtual interfaces and packet sockets with only the pseudo-header's sum in
//! the checksum field of TCP and UDP (`CHECKSUM_PARTIAL`). On a wire the receiver would drop them:
//! whoever takes such a frame elsewhere completes the sum first.

use crate::{checksum, ethernet, ipv4, ipv6, udp, vlan};

const TCP: u8 = 6;

/// Where the checksum field is in a transport header, for the protocols that leave it to the card.
const fn field(protocol: u8) -> Option<usize> {
    match protocol {
        TCP => Some(16),
        udp::PROTOCOL => Some(6),
        _ => None,
    }
}

/// Writes the whole checksum into the TCP or UDP header of a frame. `false`, and nothing written,
/// when the frame holds no whole packet of that kind: another protocol, a fragment, truncated, or
/// IPv6 with extension headers.
#[must_use]
pub fn complete(frame: &mut [u8]) -> bool {
    let Some((header, _)) = ethernet::Header::split(frame) else {
        return false;
    };
    let (ethertype, network) = match vlan::split(frame) {
        Some((_, inner, _)) => (inner, ethernet::HEADER_LENGTH + vlan::TAG_LENGTH),
        None => (header.ethertype(), ethernet::HEADER_LENGTH),
    };
    let found = match ethertype {
        ethernet::TYPE_IPV4 => transport_v4(&frame[network..]),
        ethernet::TYPE_IPV6 => transport_v6(&frame[network..]),
        _ => None,
    };
    found.is_some_and(|found| found.complete(&mut frame[network..]).is_some())
}

/// Where in a packet the transport's bytes are, and the sum of their pseudo-header.
struct Transport {
    start: usize,
    end: usize,
    protocol: u8,
    pseudo: u64,
}

impl Transport {
    fn complete(self, packet: &mut [u8]) -> Option<()> {
        let segment = packet.get_mut(self.start..self.end)?;
        let at = field(self.protocol).filter(|at| segment.len() >= at + 2)?;
        segment[at..at + 2].fill(0);
        let sum = !checksum::fold(self.pseudo + checksum::sum(segment));
        let udp_has_no_zero = sum == 0 && self.protocol == udp::PROTOCOL;
        let stored: u16 = if udp_has_no_zero { 0xffff } else { sum };
        segment[at..at + 2].copy_from_slice(&stored.to_be_bytes());
        Some(())
    }
}

fn transport_v4(packet: &[u8]) -> Option<Transport> {
    let (header, _) = ipv4::Header::split(packet)?;
    let (start, end) = (header.header_length(), usize::from(header.total_length()));
    if header.is_fragment() || start < ipv4::HEADER_LENGTH || end < start {
        return None;
    }
    let protocol = header.protocol();
    let addresses = [header.source(), header.destination()].map(u32::to_be_bytes);
    let length = (end - start) as u32;
    Some(Transport {
        start,
        end,
        protocol,
        pseudo: checksum::pseudo_header(&addresses[0], &addresses[1], protocol, length),
    })
}

fn transport_v6(packet: &[u8]) -> Option<Transport> {
    let (header, _) = ipv6::Header::split(packet)?;
    let (start, length) = (ipv6::HEADER_LENGTH, header.payload_length());
    let protocol = header.next_header();
    let addresses = [header.source(), header.destination()].map(u128::to_be_bytes);
    Some(Transport {
        start,
        end: start + usize::from(length),
        protocol,
        pseudo: checksum::pseudo_header(&addresses[0], &addresses[1], protocol, length.into()),
    })
}
