//! What the kernel says of a packet that comes in: its own input look-up (`RTM_GETROUTE` with the
//! interface, source and ports).

use std::io;
use std::net::IpAddr;

use host::netlink::{Message, ROUTE, Socket, append, attributes, number, refused};

use super::packet::Packet;
use crate::control_plane::netlink::decode::routes::RTA_VIA;

const RTA_IP_PROTO: u16 = 27;
const RTA_SPORT: u16 = 28;
const RTA_DPORT: u16 = 29;
/// `struct rtmsg`.
const HEADER: usize = 12;

/// The kernel's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Says {
    /// It sends it by this link, to this gateway (`None`: to the destination itself).
    Forwards(u32, Option<IpAddr>),
    /// Another type of route: `local`, `broadcast`, `unreachable`, …
    Type(&'static str),
    /// It refuses, by this number of errno.
    Refuses(i32),
}

/// Asks about a packet that comes in by this interface.
///
/// # Errors
/// When the kernel does not answer.
pub(super) fn ask(packet: &Packet, ifindex: u32) -> io::Result<Says> {
    let mut socket = Socket::open(ROUTE, &[])?;
    let mut body = vec![0; HEADER];
    let (family, bits) = match packet.to {
        IpAddr::V4(_) => (libc::AF_INET, 32),
        IpAddr::V6(_) => (libc::AF_INET6, 128),
    };
    (body[0], body[1], body[2]) = (family as u8, bits, bits);
    if packet.to.is_ipv4() {
        // Of the type of service, what routes may ask for.
        body[3] = packet.tos & 0x1c;
    }
    append(&mut body, libc::RTA_DST, &octets(packet.to));
    append(&mut body, libc::RTA_SRC, &octets(packet.from));
    append(&mut body, libc::RTA_IIF, &ifindex.to_ne_bytes());
    if let Some((from, to)) = packet.ports {
        append(&mut body, RTA_IP_PROTO, &[packet.protocol]);
        append(&mut body, RTA_SPORT, &from.to_be_bytes());
        append(&mut body, RTA_DPORT, &to.to_be_bytes());
    }
    socket.ask(libc::RTM_GETROUTE, 0, &body, |message| read(&message))
}

fn read(message: &Message<'_>) -> Says {
    if message.kind != libc::RTM_NEWROUTE {
        let error = refused(message.payload).and_then(|error| error.raw_os_error());
        return Says::Refuses(error.unwrap_or_default());
    }
    let kind = message.payload.get(7).copied().unwrap_or_default();
    let (mut link, mut gateway) = (0, None);
    for (kind, payload) in attributes(message.payload.get(HEADER..).unwrap_or_default()) {
        match kind {
            libc::RTA_OIF => link = number(payload),
            libc::RTA_GATEWAY => gateway = address(payload),
            RTA_VIA => gateway = payload.get(2..).and_then(address),
            _ => {}
        }
    }
    match kind {
        libc::RTN_UNICAST => Says::Forwards(link, gateway),
        libc::RTN_LOCAL => Says::Type("local"),
        libc::RTN_BROADCAST => Says::Type("broadcast"),
        libc::RTN_ANYCAST => Says::Type("anycast"),
        libc::RTN_MULTICAST => Says::Type("multicast"),
        libc::RTN_BLACKHOLE => Says::Type("blackhole"),
        libc::RTN_UNREACHABLE => Says::Type("unreachable"),
        libc::RTN_PROHIBIT => Says::Type("prohibit"),
        _ => Says::Type("another type"),
    }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

fn address(payload: &[u8]) -> Option<IpAddr> {
    match payload.len() {
        4 => payload.first_chunk::<4>().map(|bytes| IpAddr::from(*bytes)),
        16 => payload
            .first_chunk::<16>()
            .map(|bytes| IpAddr::from(*bytes)),
        _ => None,
    }
}
