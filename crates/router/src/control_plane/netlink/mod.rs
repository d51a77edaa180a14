//! Talking with the kernel: what to ask, and what the messages mean. All knowledge of rtnetlink's
//! layout is here.

pub mod decode;
pub mod dump;

use std::io;
use std::net::IpAddr;

use host::netlink::{Dumped, Message, Piece, ROUTE, Socket, append};

use self::decode::decode;
use self::dump::Dump;
use super::model::{Event, RouteKind};

/// Multicast groups of rtnetlink (`RTNLGRP_*`) that the mirror listens to.
pub const GROUPS: [u32; 9] = [
    1,  // links
    3,  // neighbours
    5,  // IPv4 addresses
    7,  // IPv4 routes
    8,  // IPv4 rules
    9,  // IPv6 addresses
    11, // IPv6 routes
    19, // IPv6 rules
    32, // nexthop objects
];

/// Dumps everything that the mirror follows, in an order in which what is referred to comes first.
/// `living_only` leaves out members of multipath routes that the kernel says are dead: the mirror
/// wants them, since they come back without a word. Returns how many events there were, and whether
/// every dump was of one piece.
///
/// # Errors
/// When the kernel refuses a dump. Nexthop objects are left out on kernels that do not have them.
pub fn dump_all(
    socket: &mut Socket,
    living_only: bool,
    mut take: impl FnMut(Event),
) -> io::Result<(u64, Dumped)> {
    let mut dump = Dump::new(living_only);
    loop {
        match dump.piece(socket, &mut take)? {
            Piece::Last => return Ok((dump.events(), dump.outcome())),
            Piece::More => {}
            Piece::None => socket.wait_for_answer()?,
        }
    }
}

const NTF_USE: u8 = 1;

/// Tells the kernel that neighbours (link, address) are in use: it resolves each, or confirms it
/// when it was not confirmed lately.
///
/// # Errors
/// At the first message that the kernel does not take.
pub fn use_neighbours(neighbours: &[(u32, IpAddr)]) -> io::Result<()> {
    let mut socket = Socket::open(ROUTE, &[])?;
    for &(link, address) in neighbours {
        let (family, address) = octets(address);
        let mut body = vec![0; 12];
        body[0] = family;
        body[4..8].copy_from_slice(&link.to_ne_bytes());
        body[10] = NTF_USE;
        append(&mut body, libc::NDA_DST, &address);
        socket.request(libc::RTM_NEWNEIGH, libc::NLM_F_CREATE as u16, &body)?;
    }
    Ok(())
}

/// The family of an address, and its bytes.
fn octets(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(address) => (libc::AF_INET as u8, address.octets().to_vec()),
        IpAddr::V6(address) => (libc::AF_INET6 as u8, address.octets().to_vec()),
    }
}

/// What the kernel does with a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Sends it by this link, to this gateway (`None`: to the destination itself).
    Forward(u32, Option<IpAddr>),
    /// Anything else: delivers it here, refuses it, drops it.
    Other,
}

/// Asks the kernel for its route to `destination` from the main table (`ip route get`).
///
/// # Errors
/// When the kernel does not answer.
pub fn ask_route(socket: &mut Socket, destination: IpAddr) -> io::Result<Verdict> {
    let (family, address) = octets(destination);
    let mut body = vec![0; 12];
    (body[0], body[1]) = (family, 8 * address.len() as u8);
    append(&mut body, libc::RTA_DST, &address);
    socket.ask(libc::RTM_GETROUTE, 0, &body, verdict_of)
}

/// A refusal, which decodes as nothing, is another verdict.
fn verdict_of(message: Message<'_>) -> Verdict {
    let mut payload = message.payload.to_vec();
    // Answers are marked as cached; that is what they are, and what the decoder otherwise leaves
    // out.
    if let Some(flags) = payload.get_mut(8..12) {
        flags.fill(0);
    }
    let payload = &payload;
    match decode(Message { payload, ..message }, false) {
        Some(Event::Route(route, _)) if route.way.kind == RouteKind::Unicast => {
            match route.way.hops() {
                [hop] => Verdict::Forward(hop.link, hop.gateway),
                _ => Verdict::Other,
            }
        }
        _ => Verdict::Other,
    }
}
