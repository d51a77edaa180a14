//! One number for each flow, to spread flows over the members of a group without reordering any.
//!
//! Addresses, protocol and, where the packet shows them, both ports; a fragment that does not begin its
//! datagram shows none, and then no fragment of that datagram may use them, so fragments are spread by
//! addresses alone (RFC 2992 §1 wants the same path for a flow; RFC 6438 for IPv6 flow labels).

use port::pool::LINE;
use wire::ethernet::{self, HEADER_LENGTH as LINK};
use wire::{ipv4, ipv6};

const TCP: u8 = 6;
const UDP: u8 = 17;

/// The hash of an untagged frame of `length` bytes that begins with `line`.
pub(super) fn of(line: &[u8; LINE], length: u16) -> u32 {
    let length = usize::from(length).min(LINE);
    let shown = &line[LINK..];
    let ports = |at: usize| {
        let bytes = line.get(at..at + 4).filter(|_| at + 4 <= length);
        bytes.map_or(0, |bytes| {
            u64::from(u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        })
    };
    let hash = if u16::from_be_bytes([line[12], line[13]]) == ethernet::TYPE_IPV4 {
        let Some((header, _)) = ipv4::Header::split(shown) else {
            return 0;
        };
        let addresses = u64::from(header.source()) << 32 | u64::from(header.destination());
        let whole = !header.is_fragment() && matches!(header.protocol(), TCP | UDP);
        let ports = if whole {
            ports(LINK + header.header_length())
        } else {
            0
        };
        mix(mix(addresses, u64::from(header.protocol())), ports)
    } else {
        let Some((header, _)) = ipv6::Header::split(shown) else {
            return 0;
        };
        let fold = |address: u128| (address >> 64) as u64 ^ (address as u64).rotate_left(29);
        let addresses = mix(fold(header.source()), fold(header.destination()));
        let whole = matches!(header.next_header(), TCP | UDP);
        let ports = if whole {
            ports(LINK + ipv6::HEADER_LENGTH)
        } else {
            0
        };
        mix(
            mix(
                addresses,
                u64::from(header.flow_label()) << 8 | u64::from(header.next_header()),
            ),
            ports,
        )
    };
    (hash >> 32) as u32
}

/// A 64-bit finaliser: every input bit reaches every output bit (Steele, Lea, Flood 2014, `SplitMix64`).
fn mix(state: u64, value: u64) -> u64 {
    let mut word = state ^ value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
