//! IPv4 forward: one hop less and the checksum in line (RFC 1812 §5.3.1, RFC 1624).

use port::pool::LINE;
use wire::ethernet::HEADER_LENGTH as LINK;
use wire::ipv4;

/// Takes a hop off the packet behind an untagged Ethernet header.
#[inline]
pub(super) fn step(line: &mut [u8; LINE]) {
    if let Some(header) = line[LINK..].first_chunk_mut() {
        ipv4::decrement_time_to_live(header);
    }
}
