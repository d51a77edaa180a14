//! Frames: one made from a description, and what can be read in one.

use std::net::IpAddr;

use wire::ethernet::{self, MacAddress};
use wire::{checksum, ipv4, ipv6, udp};

use super::{PacketSeen, Question};

const ICMP: u8 = 1;
const TCP: u8 = 6;
const ICMPV6: u8 = 58;
const LINK: usize = ethernet::HEADER_LENGTH;
const TYPE_IPV6: [u8; 2] = [0x86, 0xdd];
/// Bytes of the shortest frame of Ethernet, without FCS.
const SHORTEST: usize = 60;

/// What is decided about a packet that is to be made.
pub(super) struct Plan {
    pub(super) to: IpAddr,
    pub(super) from: IpAddr,
    pub(super) station: [u8; 6],
    pub(super) sender: [u8; 6],
    pub(super) vlan: Option<u16>,
}

/// Makes the frame.
///
/// # Errors
/// What cannot be made.
pub(super) fn make(question: &Question, plan: &Plan) -> Result<Vec<u8>, String> {
    let (header, is_v6) = match plan.to {
        IpAddr::V4(_) => (ipv4::HEADER_LENGTH, false),
        IpAddr::V6(_) => (ipv6::HEADER_LENGTH, true),
    };
    let protocol = match question.protocol {
        None => udp::PROTOCOL,
        Some(ICMP) if is_v6 => ICMPV6,
        Some(protocol) => protocol,
    };
    let upper = match protocol {
        TCP => 20,
        udp::PROTOCOL | ICMP | ICMPV6 => 8,
        _ => 0,
    };
    let least = header + upper;
    let length = question
        .length
        .map_or(least.max(SHORTEST - LINK), usize::from);
    if length < least {
        return Err(format!(
            "length {length}: this packet has {least} bytes of headers; give at least so many"
        ));
    }
    let mut payload = vec![0; length - header];
    fill(question, plan, protocol, &mut payload);
    let hops = question.ttl.unwrap_or(64);
    let mut frame = vec![0; LINK];
    let kind = if is_v6 {
        ethernet::TYPE_IPV6
    } else {
        ethernet::TYPE_IPV4
    };
    // There is room for a header.
    let _ = ethernet::write(
        &mut frame,
        MacAddress(plan.station),
        MacAddress(plan.sender),
        kind,
    );
    match (plan.from, plan.to) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            frame.extend_from_slice(&ipv4::write(&ipv4::Fields {
                source: source.into(),
                destination: destination.into(),
                protocol,
                time_to_live: hops,
                total_length: length as u16,
            }));
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            frame.extend_from_slice(&ipv6::write(&ipv6::Fields {
                source: source.into(),
                destination: destination.into(),
                next_header: protocol,
                hop_limit: hops,
                payload_length: (length - header) as u16,
            }));
        }
        (from, to) => {
            return Err(format!(
                "from {from} to {to}: one is IPv4 and the other IPv6; give two of one family"
            ));
        }
    }
    frame.extend_from_slice(&payload);
    frame.resize(frame.len().max(SHORTEST), 0);
    if let Some(vlan) = plan.vlan {
        let [high, low] = vlan.to_be_bytes();
        frame.splice(12..12, [0x81, 0, high, low]);
    }
    Ok(frame)
}

/// Writes the transport header, with its sum.
fn fill(question: &Question, plan: &Plan, protocol: u8, payload: &mut [u8]) {
    let length = payload.len() as u32;
    let pseudo = match (plan.from, plan.to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            checksum::pseudo_header(&from.octets(), &to.octets(), protocol, length)
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            checksum::pseudo_header(&from.octets(), &to.octets(), protocol, length)
        }
        _ => 0,
    };
    let from = question.source_port.unwrap_or(49_152).to_be_bytes();
    let to = question.destination_port.unwrap_or(9).to_be_bytes();
    let (at, pseudo) = match protocol {
        TCP => {
            // The first of a connection: SYN.
            (payload[12], payload[13], payload[14]) = (0x50, 2, 0xff);
            (16, pseudo)
        }
        udp::PROTOCOL => {
            payload[4..6].copy_from_slice(&(length as u16).to_be_bytes());
            (6, pseudo)
        }
        // A question of ping.
        ICMP => {
            payload[0] = 8;
            (2, 0)
        }
        ICMPV6 => {
            payload[0] = 128;
            (2, pseudo)
        }
        _ => return,
    };
    if matches!(protocol, TCP | udp::PROTOCOL) {
        payload[..2].copy_from_slice(&from);
        payload[2..4].copy_from_slice(&to);
    }
    let sum = !checksum::fold(pseudo + checksum::sum(payload));
    let sum = if sum == 0 { 0xffff } else { sum };
    payload[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// What is read in a frame, however broken.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub(super) destination_mac: [u8; 6],
    pub(super) source_mac: [u8; 6],
    /// Identifier.
    pub(super) vlan: Option<u16>,
    pub(super) ip: Option<Packet>,
    /// The frame without its tag.
    pub(super) untagged: Vec<u8>,
}

/// What is read in a packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packet {
    pub(super) from: IpAddr,
    pub(super) to: IpAddr,
    pub(super) protocol: u8,
    pub(super) ports: Option<(u16, u16)>,
    pub(super) length: u32,
    pub(super) ttl: u8,
    pub(super) tos: u8,
}

impl From<Packet> for PacketSeen {
    fn from(packet: Packet) -> Self {
        Self {
            from: packet.from.to_string(),
            to: packet.to.to_string(),
            protocol: packet.protocol,
            source_port: packet.ports.map(|(from, _)| from),
            destination_port: packet.ports.map(|(_, to)| to),
            length: packet.length,
            ttl: packet.ttl,
        }
    }
}

/// A packet's flow, and the tag of its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flow {
    pub(crate) from: IpAddr,
    pub(crate) to: IpAddr,
    pub(crate) protocol: u8,
    pub(crate) ports: Option<(u16, u16)>,
    /// Tag control information.
    pub(crate) tag: Option<u16>,
}

/// Reads the flow in a frame; none where there is no packet of IP.
pub(crate) fn flow_of(frame: &[u8]) -> Option<Flow> {
    let seen = see(frame);
    let packet = seen.ip?;
    let tag = frame.get(14..16).filter(|_| seen.vlan.is_some());
    Some(Flow {
        from: packet.from,
        to: packet.to,
        protocol: packet.protocol,
        ports: packet.ports,
        tag: tag.map(|tag| u16::from_be_bytes([tag[0], tag[1]])),
    })
}

/// Reads a frame: the identifier of its VLAN, its destination, its packet.
pub fn read(frame: &[u8]) -> (Option<u16>, Option<(IpAddr, PacketSeen)>) {
    let seen = see(frame);
    let packet = seen.ip.map(|packet| (packet.to, packet.into()));
    (seen.vlan, packet)
}

/// Reads a frame.
pub(super) fn see(frame: &[u8]) -> Seen {
    let mac = |at: usize| frame.get(at..).and_then(<[u8]>::first_chunk).copied();
    let mut untagged = frame.to_vec();
    let tag = frame.get(12..16).filter(|tag| tag[..2] == [0x81, 0]);
    let vlan = tag.map(|tag| u16::from_be_bytes([tag[2], tag[3]]) & 0xfff);
    if vlan.is_some() {
        untagged.drain(12..16);
    }
    Seen {
        destination_mac: mac(0).unwrap_or_default(),
        source_mac: mac(6).unwrap_or_default(),
        vlan,
        ip: packet(&untagged),
        untagged,
    }
}

fn packet(frame: &[u8]) -> Option<Packet> {
    let (kind, ip) = (frame.get(12..14)?, frame.get(LINK..)?);
    let half = |at: usize| Some(u16::from_be_bytes(*ip.get(at..)?.first_chunk()?));
    let (packet, behind) = if kind == [8, 0] {
        let address = |at: usize| Some(IpAddr::from(*ip.get(at..)?.first_chunk::<4>()?));
        let packet = Packet {
            from: address(12)?,
            to: address(16)?,
            protocol: ip[9],
            ports: None,
            length: half(2)?.into(),
            ttl: ip[8],
            tos: ip[1],
        };
        let is_later = half(6)? & 0x1fff != 0;
        (packet, (!is_later).then(|| usize::from(ip[0] & 15) * 4))
    } else if kind == TYPE_IPV6 {
        let address = |at: usize| Some(IpAddr::from(*ip.get(at..)?.first_chunk::<16>()?));
        let packet = Packet {
            from: address(8)?,
            to: address(24)?,
            protocol: ip[6],
            ports: None,
            length: 40 + u32::from(half(4)?),
            ttl: ip[7],
            tos: (half(0)? >> 4) as u8,
        };
        (packet, Some(40))
    } else {
        return None;
    };
    let has_ports = matches!(packet.protocol, TCP | udp::PROTOCOL);
    let behind = behind.filter(|_| has_ports);
    let ports = behind.and_then(|at| Some((half(at)?, half(at + 2)?)));
    Some(Packet { ports, ..packet })
}
