//! What the agent asks of its own kernel: interfaces up, addresses, neighbours, routes.
//!
//! Requests go one at a time, each answered before the next: what failed is known by name. Layouts
//! are those of `linux/if_link.h`, `linux/if_addr.h`, `linux/neighbour.h` and `linux/rtnetlink.h`;
//! numbers are in the machine's byte order, addresses as on the wire.

use std::io;

use host::netlink::{Message, ROUTE, Socket, append, refused};

use crate::protocol::{Interface, Route};

const AF_INET: u8 = libc::AF_INET as u8;
/// Adds what is not there and replaces what is.
const PUT: u16 = (libc::NLM_F_CREATE | libc::NLM_F_REPLACE) as u16;

/// A connection to the kernel of the network namespace in which it was opened.
pub struct Kernel {
    socket: Socket,
}

impl Kernel {
    /// Opens the connection.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn open() -> io::Result<Self> {
        Ok(Self {
            socket: Socket::open(ROUTE, &[])?,
        })
    }

    /// Gives the interface with this index its hardware address, MTU, address and neighbour, and
    /// sets it up.
    ///
    /// # Errors
    /// What the kernel says to the first request that it refuses.
    pub fn set_up(&mut self, index: u32, interface: &Interface) -> io::Result<()> {
        let index = index.to_ne_bytes();
        let up = libc::IFF_UP.to_ne_bytes();
        // `struct ifinfomsg`: family, pad, type; index; flags; which of them change.
        let mut link = [[0; 4], index, up, up].concat();
        append(&mut link, libc::IFLA_ADDRESS, &interface.mac);
        append(&mut link, libc::IFLA_MTU, &interface.mtu.to_ne_bytes());
        self.ask(libc::RTM_SETLINK, 0, &link)?;
        // `struct ifaddrmsg`: family, prefix length, flags, scope; index.
        let mut address = [
            [AF_INET, interface.length, 0, libc::RT_SCOPE_UNIVERSE],
            index,
        ]
        .concat();
        for kind in [libc::IFA_LOCAL, libc::IFA_ADDRESS] {
            append(&mut address, kind, &interface.address.octets());
        }
        self.ask(libc::RTM_NEWADDR, PUT, &address)?;
        // `struct ndmsg`: family, pads; index; state, flags, type.
        let [low, high] = libc::NUD_PERMANENT.to_ne_bytes();
        let mut neighbour = [[AF_INET, 0, 0, 0], index, [low, high, 0, 0]].concat();
        append(&mut neighbour, libc::NDA_DST, &interface.neighbour.octets());
        append(&mut neighbour, libc::NDA_LLADDR, &interface.neighbour_mac);
        self.ask(libc::RTM_NEWNEIGH, PUT, &neighbour)
    }

    /// Adds or replaces routes. Returns how many the kernel refused.
    pub fn put_routes(&mut self, routes: &[Route]) -> usize {
        let mut refused = 0;
        for route in routes {
            // `struct rtmsg`: family, prefix lengths, type of service; table, protocol, scope,
            // type; flags.
            let mut body = [
                [AF_INET, route.length, 0, 0],
                [
                    libc::RT_TABLE_MAIN,
                    libc::RTPROT_STATIC,
                    libc::RT_SCOPE_UNIVERSE,
                    libc::RTN_UNICAST,
                ],
                [0; 4],
            ]
            .concat();
            append(&mut body, libc::RTA_DST, &route.network.octets());
            append(&mut body, libc::RTA_GATEWAY, &route.via.octets());
            refused += usize::from(self.ask(libc::RTM_NEWROUTE, PUT, &body).is_err());
        }
        refused
    }

    fn ask(&mut self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        let flags = libc::NLM_F_ACK as u16 | flags;
        let answered = |message: Message<'_>| refused(message.payload);
        self.socket
            .ask(kind, flags, body, answered)?
            .map_or(Ok(()), Err)
    }
}
