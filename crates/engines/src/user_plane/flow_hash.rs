//! One number for each flow, to spread flows over the members of a group without reordering any.
//!
//! Which fields make a flow is a setting of the kernel's ([`Flows`]). It is `flow_hash` of
//! `fastpath/bpf/flow.h`, to the bit: a flow takes the same member in every engine, and where the
//! program decides which frames the workers get, both mean the same member.

use fastpath::forward::{FlowFields, Flows};
use wire::ethernet::{self, HEADER_LENGTH as LINK};

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const DCCP: u8 = 33;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const ESP: u8 = 50;
const AH: u8 = 51;
const ICMPV6: u8 = 58;
const DESTINATION: u8 = 60;
const SCTP: u8 = 132;
const UDPLITE: u8 = 136;
/// Extension headers of IPv6 that are gone past.
const EXTENSIONS: usize = 4;

/// What is known of a packet's flow.
struct Flow<'a> {
    source: u64,
    destination: u64,
    label: u32,
    protocol: u8,
    v6: bool,
    /// It has no ports that all fragments have.
    fragment: bool,
    later: bool,
    /// From the transport header on.
    transport: &'a [u8],
}

/// The hash of an untagged frame with a whole IP header. `None`: only the kernel can say.
pub fn of(frame: &[u8], flows: Flows) -> Option<u32> {
    let (link, packet) = frame.split_at_checked(LINK)?;
    let v4 = link[12..] == ethernet::TYPE_IPV4.to_be_bytes();
    let fields = if v4 { flows.v4 } else { flows.v6 };
    if fields.has(FlowFields::KERNEL) {
        return None;
    }
    let mut flow = if v4 { flow4(packet)? } else { flow6(packet)? };
    if fields.has(FlowFields::QUOTED) {
        flow.take_quoted();
    } else if !flow.skip_extensions() {
        return None;
    }
    let of = |field, value| if fields.has(field) { value } else { 0 };
    let ports = if fields.has(FlowFields::SOURCE_PORT) || fields.has(FlowFields::DESTINATION_PORT) {
        flow.ports()
    } else {
        0
    };
    let source = of(FlowFields::SOURCE, flow.source);
    let destination = of(FlowFields::DESTINATION, flow.destination);
    let from = of(FlowFields::SOURCE_PORT, ports & 0xffff);
    let to = of(FlowFields::DESTINATION_PORT, ports >> 16);
    let rest = of(FlowFields::PROTOCOL, u64::from(flow.protocol))
        | of(FlowFields::LABEL, u64::from(flow.label)) << 8;
    // Both directions are one flow.
    let (first, second) = (source.min(destination), source.max(destination));
    let ports = from.min(to) << 16 | from.max(to);
    let rest = u64::from(mix(rest, 1)) << 32;
    Some(mix(first.wrapping_add(ports << 32), second ^ rest))
}

fn flow4(packet: &[u8]) -> Option<Flow<'_>> {
    let length = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
    let offset = u16::from_be_bytes([*packet.get(6)?, *packet.get(7)?]);
    Some(Flow {
        source: word(packet, 12)?.into(),
        destination: word(packet, 16)?.into(),
        label: 0,
        protocol: *packet.get(9)?,
        v6: false,
        // More fragments, or an offset (RFC 791 §3.1).
        fragment: offset & 0x3fff != 0,
        later: offset & 0x1fff != 0,
        // Without options: with them, a packet is the kernel's.
        transport: packet.get(20..length.min(packet.len()))?,
    })
}

fn flow6(packet: &[u8]) -> Option<Flow<'_>> {
    let length = 40 + usize::from(u16::from_be_bytes([*packet.get(4)?, *packet.get(5)?]));
    Some(Flow {
        source: fold(packet, 8)?,
        destination: fold(packet, 24)?,
        label: label(packet)?,
        protocol: *packet.get(6)?,
        v6: true,
        fragment: false,
        later: false,
        transport: packet.get(40..length.min(packet.len()))?,
    })
}

impl Flow<'_> {
    /// An ICMP error goes with the flow that it is about.
    fn take_quoted(&mut self) {
        let Some(&kind) = self.transport.first() else {
            return;
        };
        if self.v6 && self.protocol == ICMPV6 && (1..=4).contains(&kind) {
            if let Some(quoted) = self.transport.get(8..48)
                && let (Some(source), Some(destination), Some(label)) =
                    (fold(quoted, 8), fold(quoted, 24), label(quoted))
            {
                (self.source, self.destination) = (source, destination);
                (self.label, self.protocol) = (label, quoted[6]);
            }
        } else if !self.v6
            && self.protocol == ICMP
            && !self.later
            && matches!(kind, 3..=5 | 11 | 12)
            && let Some(quoted) = self.transport.get(8..28)
            && let (Some(source), Some(destination)) = (word(quoted, 12), word(quoted, 16))
        {
            (self.source, self.destination) = (source.into(), destination.into());
        }
    }

    /// Goes past the extension headers of IPv6. False when there are too many.
    fn skip_extensions(&mut self) -> bool {
        let is_extension = |protocol| matches!(protocol, ROUTING | FRAGMENT | DESTINATION);
        for _ in 0..EXTENSIONS {
            if !self.v6 || !is_extension(self.protocol) {
                return true;
            }
            let &[next, length, ..] = self.transport else {
                return true;
            };
            let fragment = self.protocol == FRAGMENT;
            self.protocol = next;
            if fragment {
                self.fragment = true;
                return true;
            }
            let length = 8 * (usize::from(length) + 1);
            self.transport = self.transport.get(length..).unwrap_or_default();
        }
        !is_extension(self.protocol)
    }

    /// Both ports as they lie in memory, or what the kernel takes for them.
    fn ports(&self) -> u64 {
        let at = match self.protocol {
            _ if self.fragment => return 0,
            TCP | UDP | DCCP | ESP | SCTP | UDPLITE => 0,
            AH => 4,
            _ => return 0,
        };
        word(self.transport, at).map_or(0, u64::from)
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..)?
        .first_chunk()
        .map(|word| u32::from_le_bytes(*word))
}

fn label(packet: &[u8]) -> Option<u32> {
    Some(word(packet, 0)? & 0x000f_ffff_u32.to_be())
}

/// Both halves of an address in one word.
fn fold(packet: &[u8], at: usize) -> Option<u64> {
    let half = |at: usize| {
        let bytes = packet.get(at..)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    };
    Some(half(at)? ^ half(at + 8)?.wrapping_mul(31))
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
