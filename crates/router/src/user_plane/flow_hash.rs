//! One number for each flow, to spread flows over the members of a group without reordering any.
//!
//! Addresses, protocol and, where the packet shows them, both ports; a fragment shows none, and
//! then no fragment of that datagram may use them, so fragments are spread by addresses alone (RFC
//! 2992 §1 wants the same path for a flow). It is `flow_hash` of `fastpath/bpf/forward.bpf.c`, to
//! the bit: a flow takes the same member in every engine, and where the program decides which
//! frames the workers get, both mean the same member.

use port::pool::LINE;
use wire::ethernet::{self, HEADER_LENGTH as LINK};
use wire::ipv6;

const TCP: u8 = 6;
const UDP: u8 = 17;
const SCTP: u8 = 132;
/// Bytes of an IPv4 header without options: with options, a packet is the kernel's.
const IPV4_HEADER: usize = 20;

/// The hash of an untagged frame of `length` bytes that begins with `line`.
pub(super) fn of(line: &[u8; LINE], length: u16) -> u32 {
    let length = usize::from(length).min(LINE);
    let word = |at: usize| {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&line[LINK + at..LINK + at + 4]);
        u64::from(u32::from_le_bytes(bytes))
    };
    let long = |at: usize| word(at) | word(at + 4) << 32;
    let ports = |protocol: u8, at: usize| {
        let shown = matches!(protocol, TCP | UDP | SCTP) && LINK + at + 4 <= length;
        if shown { word(at) } else { 0 }
    };
    if u16::from_be_bytes([line[12], line[13]]) == ethernet::TYPE_IPV4 {
        let protocol = line[LINK + 9];
        // More fragments, or an offset (RFC 791 §3.1).
        let fragment = u16::from_be_bytes([line[LINK + 6], line[LINK + 7]]) & 0x3fff != 0;
        let ports = if fragment {
            0
        } else {
            ports(protocol, IPV4_HEADER)
        };
        mix(
            word(12) ^ u64::from(protocol) << 56,
            word(16).wrapping_add(ports << 16),
        )
    } else {
        let protocol = line[LINK + 6];
        let fold = |at: usize| long(at) ^ long(at + 8).wrapping_mul(31);
        mix(
            fold(8) ^ u64::from(protocol) << 56,
            fold(24).wrapping_add(ports(protocol, ipv6::HEADER_LENGTH) << 16),
        )
    }
}

/// The finaliser of `MurmurHash3` over both halves: every input bit reaches every output bit.
fn mix(a: u64, b: u64) -> u32 {
    let mut word = a ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word ^= word >> 33;
    word = word.wrapping_mul(0xff51_afd7_ed55_8ccd);
    word ^= word >> 33;
    word = word.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (word >> 32) as u32
}
