//! Numbers of headers, and their checksums.

use wire::checksum;

use crate::case::MARKER;

/// Bytes of an Ethernet header.
pub(crate) const ETHERNET: usize = 14;
// IP protocols.
pub(crate) const ICMP: u8 = 1;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
pub(crate) const ICMPV6: u8 = 58;

/// Headers of IPv6 that others follow (IANA's protocol numbers).
pub(crate) const HOP_BY_HOP: u8 = 0;
pub(crate) const ROUTING: u8 = 43;
pub(crate) const FRAGMENT: u8 = 44;
pub(crate) const DESTINATION: u8 = 60;

/// Puts the checksum of what lies above IP at its place; that of ICMP is without pseudo-header.
pub(crate) fn put_sum(upper: &mut [u8], at: usize, protocol: u8, pseudo_header: u64) {
    upper[at..at + 2].fill(0);
    let pseudo_header = if protocol == ICMP { 0 } else { pseudo_header };
    let sum = match !checksum::fold(pseudo_header + checksum::sum(upper)) {
        0 if protocol == UDP => 0xffff,
        sum => sum,
    };
    upper[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Writes the checksum of an IPv4 header anew.
pub(crate) fn resum(header: &mut [u8]) {
    header[10..12].fill(0);
    let sum = checksum::of(header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// The protocol above IP and where it begins; no fragments of IPv6.
pub(crate) fn upper(frame: &[u8]) -> Option<(u8, usize)> {
    let words = usize::from(frame.get(ETHERNET)? & 15);
    let (mut next, mut at) = match frame.get(12..14)? {
        [8, 0] => return Some((*frame.get(23)?, ETHERNET + words * 4)),
        [0x86, 0xdd] => (*frame.get(20)?, ETHERNET + 40),
        _ => return None,
    };
    while matches!(next, HOP_BY_HOP | ROUTING | DESTINATION) {
        let header = frame.get(at..at + 2)?;
        (next, at) = (header[0], at + usize::from(header[1]) * 8 + 8);
    }
    Some((next, at))
}

/// The Ethernet header with its tags, and the packet.
pub(crate) fn parts(frame: &[u8]) -> Option<(&[u8], &[u8])> {
    let tags = frame.get(12..)?.chunks(4);
    let tags = tags.take_while(|chunk| is_tag(chunk)).count();
    frame.split_at_checked(ETHERNET + 4 * tags)
}

/// The tags of a frame, and the frame without.
pub(crate) fn untagged(frame: &[u8]) -> Option<(&[u8], Vec<u8>)> {
    let (head, packet) = parts(frame)?;
    let (tags, kind) = head[12..].split_at(head.len() - ETHERNET);
    Some((tags, [&head[..12], kind, packet].concat()))
}

/// Whether a VLAN tag begins here.
fn is_tag(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x81, 0]) || bytes.starts_with(&[0x88, 0xa8])
}

/// Writes a packet's lengths and checksums anew, as far as it is one of IP.
pub(crate) fn settle(packet: &mut [u8]) {
    let length = packet.len();
    let (protocol, header, addresses) = match packet.first().map(|first| first >> 4) {
        Some(4) if length >= 20 => {
            packet[2..4].copy_from_slice(&(length as u16).to_be_bytes());
            let header = usize::from(packet[0] & 15) * 4;
            if !(20..=length).contains(&header) {
                return;
            }
            resum(&mut packet[..header]);
            if packet[6] & 0x3f | packet[7] != 0 {
                return;
            }
            (packet[9], header, 12..20)
        }
        Some(6) if length >= 40 => {
            packet[4..6].copy_from_slice(&((length - 40) as u16).to_be_bytes());
            (packet[6], 40, 8..40)
        }
        _ => return,
    };
    let (header, upper) = packet.split_at_mut(header);
    let (source, destination) = header[addresses.clone()].split_at(addresses.len() / 2);
    finish(upper, protocol, source, destination);
}

/// Writes length and checksum of what lies above IP anew, except a checksum that is not used.
fn finish(upper: &mut [u8], protocol: u8, source: &[u8], destination: &[u8]) {
    let length = upper.len();
    let (at, least) = match protocol {
        UDP => (6, 8),
        TCP => (16, 20),
        ICMP | ICMPV6 => (2, 4),
        _ => return,
    };
    if length < least + 2 * MARKER {
        return;
    }
    if protocol == UDP {
        upper[4..6].copy_from_slice(&(length as u16).to_be_bytes());
        if upper[6..8] == [0, 0] {
            return;
        }
    }
    let pseudo = checksum::pseudo_header(source, destination, protocol, length as u32);
    put_sum(upper, at, protocol, pseudo);
}
