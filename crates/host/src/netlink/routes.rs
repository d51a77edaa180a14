//! Many routes at once. `ip -batch` waits for the kernel's answer to each, and a full table then takes
//! half a minute; without that it takes as long as the kernel does.

use std::io;
use std::net::IpAddr;

use super::{ROUTE, Received, Socket, append, refused};

/// So many requests are sent between two looks for refusals: few enough that these fit the buffer.
const BETWEEN: usize = 4096;

/// A route by one gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Network address and length of the prefix.
    pub prefix: (IpAddr, u8),
    /// The address of the next hop, of the same family.
    pub gateway: IpAddr,
}

/// Puts `routes` into the main table of the calling thread's network namespace, beside those that are
/// there (`ip route append`). Returns what the kernel refused.
///
/// # Errors
/// When there is no socket, or it breaks.
pub fn add(routes: impl IntoIterator<Item = Route>) -> io::Result<Vec<io::Error>> {
    let mut socket = Socket::open(ROUTE, &[])?;
    let mut refusals = Vec::new();
    for (number, route) in (1..).zip(routes) {
        let flags = libc::NLM_F_CREATE | libc::NLM_F_APPEND;
        socket.request(libc::RTM_NEWROUTE, flags as u16, &message(route))?;
        if number % BETWEEN == 0 {
            collect(&mut socket, &mut refusals)?;
        }
    }
    // A request has been carried out when sending it returns.
    collect(&mut socket, &mut refusals)?;
    Ok(refusals)
}

/// `struct rtmsg` (`linux/rtnetlink.h`), prefix and gateway.
fn message(route: Route) -> Vec<u8> {
    let (network, length) = route.prefix;
    let (family, network) = octets(network);
    // Family, prefix lengths, type of service; table, protocol, scope, type; flags.
    let mut body = [
        [family, length, 0, 0],
        [
            libc::RT_TABLE_MAIN,
            libc::RTPROT_BOOT,
            libc::RT_SCOPE_UNIVERSE,
            libc::RTN_UNICAST,
        ],
        [0; 4],
    ]
    .concat();
    append(&mut body, libc::RTA_DST, &network);
    append(&mut body, libc::RTA_GATEWAY, &octets(route.gateway).1);
    body
}

fn octets(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(address) => (libc::AF_INET as u8, address.octets().to_vec()),
        IpAddr::V6(address) => (libc::AF_INET6 as u8, address.octets().to_vec()),
    }
}

fn collect(socket: &mut Socket, refusals: &mut Vec<io::Error>) -> io::Result<()> {
    loop {
        let received = socket.receive(|message| refusals.extend(refused(message.payload)))?;
        match received {
            Received::Messages(_) => {}
            Received::Nothing => return Ok(()),
            Received::Overrun => return Err(io::Error::other("more refusals than a socket holds")),
        }
    }
}
