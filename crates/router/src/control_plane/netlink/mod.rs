//! Talking with the kernel: sockets, attributes, and what the messages mean. All knowledge of
//! rtnetlink's layout is here.

pub mod attributes;
pub mod decode;
pub mod dump;
pub mod socket;

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use self::attributes::append;
use self::decode::{Message, decode};
use self::dump::Dump;
use self::socket::{Dumped, Piece, Socket};
use super::model::Event;

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

const NDA_DST: u16 = 1;
const NTF_USE: u8 = 1;

/// Tells the kernel that a neighbour is in use: it resolves it, or confirms it when it was not
/// confirmed lately.
///
/// # Errors
/// When the kernel refuses the message.
pub fn use_neighbour(socket: &mut Socket, link: u32, address: IpAddr) -> io::Result<()> {
    let mut body = vec![0; 12];
    body[0] = if address.is_ipv6() {
        libc::AF_INET6
    } else {
        libc::AF_INET
    } as u8;
    body[4..8].copy_from_slice(&link.to_ne_bytes());
    body[10] = NTF_USE;
    match address {
        IpAddr::V4(address) => append(&mut body, NDA_DST, &address.octets()),
        IpAddr::V6(address) => append(&mut body, NDA_DST, &address.octets()),
    }
    socket.request(libc::RTM_NEWNEIGH, libc::NLM_F_CREATE as u16, &body)
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
/// When the kernel does not answer within a second.
pub fn ask_route(socket: &mut Socket, destination: IpAddr) -> io::Result<Verdict> {
    let mut body = vec![0; 12];
    match destination {
        IpAddr::V4(address) => {
            (body[0], body[1]) = (libc::AF_INET as u8, 32);
            append(&mut body, libc::RTA_DST, &address.octets());
        }
        IpAddr::V6(address) => {
            (body[0], body[1]) = (libc::AF_INET6 as u8, 128);
            append(&mut body, libc::RTA_DST, &address.octets());
        }
    }
    socket.request(libc::RTM_GETROUTE, 0, &body)?;
    let mut verdict = None;
    for _ in 0..10 {
        socket.receive_answer(false, |message| {
            verdict = Some(match i32::from(message.kind) {
                libc::NLMSG_ERROR => Verdict::Other,
                _ => verdict_of(message),
            });
        })?;
        if let Some(verdict) = verdict {
            return Ok(verdict);
        }
        socket.wait(Duration::from_millis(100));
    }
    Err(io::Error::new(
        io::ErrorKind::TimedOut,
        "the kernel does not answer a route request",
    ))
}

fn verdict_of(message: Message<'_>) -> Verdict {
    use super::model::RouteKind;
    let mut payload = message.payload.to_vec();
    // Answers are marked as cached; that is what they are, and what the decoder otherwise leaves
    // out.
    if let Some(flags) = payload.get_mut(8..12) {
        flags.fill(0);
    }
    match decode(Message {
        payload: &payload,
        ..message
    }) {
        Some(Event::Route(route, _)) if route.way.kind == RouteKind::Unicast => {
            match route.way.hops.as_slice() {
                [hop] => Verdict::Forward(hop.link, hop.gateway),
                _ => Verdict::Other,
            }
        }
        _ => Verdict::Other,
    }
}
