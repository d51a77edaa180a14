//! IPv6 forward: one hop less (RFC 8200 §3).

use port::pool::LINE;
use wire::ethernet::HEADER_LENGTH as LINK;
use wire::ipv6;

/// Takes a hop off the packet behind an untagged Ethernet header.
#[inline]
pub(super) fn step(line: &mut [u8; LINE]) {
    if let Some(header) = line[LINK..].first_chunk_mut() {
        ipv6::decrement_hop_limit(header);
    }
}
