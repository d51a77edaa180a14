//! The few things a plane asks of its own kernel: interfaces up, addresses, neighbours, routes.
//!
//! Requests go one at a time, each answered before the next: what failed is known by name. For the
//! routes of a control plane that changes thousands a second, [`Netlink::send_routes`] sends many
//! in one datagram and counts the refusals.

use std::io;
use std::net::{IpAddr, Ipv4Addr};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage as Request};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

/// A route of the control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Route {
    /// Network.
    pub network: Ipv4Addr,
    /// Prefix length.
    pub length: u8,
    /// Next hop.
    pub via: Ipv4Addr,
}

/// A connection to the kernel of the calling thread's namespace.
pub struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    /// Opens the connection.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self {
            socket,
            sequence: 0,
        })
    }

    /// Sets the interface's hardware address and MTU, then sets it up.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn bring_up(&mut self, index: u32, mac: [u8; 6], mtu: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes = vec![
            LinkAttribute::Address(mac.to_vec()),
            LinkAttribute::Mtu(mtu),
        ];
        self.ask(Request::SetLink(message), 0)?;
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        self.ask(Request::SetLink(message), 0)
    }

    /// Gives the interface an address.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn add_address(&mut self, index: u32, address: Ipv4Addr, length: u8) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.prefix_len = length;
        message.header.index = index;
        message.attributes = vec![
            AddressAttribute::Local(IpAddr::V4(address)),
            AddressAttribute::Address(IpAddr::V4(address)),
        ];
        self.ask(Request::NewAddress(message), NLM_F_CREATE | NLM_F_REPLACE)
    }

    /// Tells the kernel a neighbour's hardware address for good.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn add_neighbour(&mut self, index: u32, address: Ipv4Addr, mac: [u8; 6]) -> io::Result<()> {
        let mut message = NeighbourMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.ifindex = index;
        message.header.state = NeighbourState::Permanent;
        message.attributes = vec![
            NeighbourAttribute::Destination(NeighbourAddress::Inet(address)),
            NeighbourAttribute::LinkLayerAddress(mac.to_vec()),
        ];
        self.ask(Request::NewNeighbour(message), NLM_F_CREATE | NLM_F_REPLACE)
    }

    /// Adds or replaces routes, many in one datagram. Returns how many the kernel refused.
    ///
    /// # Errors
    /// What the kernel says to the datagram as a whole.
    pub fn send_routes(&mut self, routes: &[Route]) -> io::Result<usize> {
        let mut bytes = Vec::with_capacity(routes.len() * 64);
        for route in routes {
            let mut message = RouteMessage::default();
            message.header = RouteHeader {
                address_family: AddressFamily::Inet,
                destination_prefix_length: route.length,
                table: RouteHeader::RT_TABLE_MAIN,
                protocol: RouteProtocol::Static,
                scope: RouteScope::Universe,
                kind: RouteType::Unicast,
                ..RouteHeader::default()
            };
            message.attributes = vec![
                RouteAttribute::Destination(RouteAddress::Inet(route.network)),
                RouteAttribute::Gateway(RouteAddress::Inet(route.via)),
            ];
            self.append(
                &mut bytes,
                Request::NewRoute(message),
                NLM_F_CREATE | NLM_F_REPLACE,
            );
        }
        self.socket.send(&bytes, 0)?;
        let mut refused = 0;
        for _ in routes {
            refused += usize::from(self.answer().is_err());
        }
        Ok(refused)
    }

    fn ask(&mut self, request: Request, flags: u16) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.append(&mut bytes, request, flags);
        self.socket.send(&bytes, 0)?;
        self.answer()
    }

    fn append(&mut self, bytes: &mut Vec<u8>, request: Request, flags: u16) {
        self.sequence += 1;
        let mut message = NetlinkMessage::from(request);
        message.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        message.header.sequence_number = self.sequence;
        message.finalize();
        let start = bytes.len();
        bytes.resize(start + message.buffer_len(), 0);
        message.serialize(&mut bytes[start..]);
    }

    /// The kernel's answer to one request: each comes as a datagram of its own.
    fn answer(&mut self) -> io::Result<()> {
        let (bytes, _) = self.socket.recv_from_full()?;
        let message = NetlinkMessage::<Request>::deserialize(&bytes)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
        match message.payload {
            NetlinkPayload::Error(answer) if answer.code.is_some() => Err(answer.to_io()),
            _ => Ok(()),
        }
    }
}

/// Group of the kernel's announcements of IPv4 routes (`RTNLGRP_IPV4_ROUTE`,
/// `include/uapi/linux/rtnetlink.h`).
const IPV4_ROUTES: u32 = 7;
/// Room for announcements that nobody has read yet, bytes.
const ANNOUNCED: usize = 8 << 20;

/// What the kernel of the calling thread's namespace says of its routes.
pub struct RouteEvents {
    socket: Socket,
}

impl RouteEvents {
    /// Listens from now on.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.set_rx_buf_sz(ANNOUNCED)?;
        socket.add_membership(IPV4_ROUTES)?;
        socket.set_non_blocking(true)?;
        Ok(Self { socket })
    }

    /// Routes through a next hop that came since the last call, in order. Does not wait.
    ///
    /// # Errors
    /// What the kernel says; `ENOBUFS` when announcements were lost.
    pub fn take(&mut self) -> io::Result<Vec<Route>> {
        let mut routes = Vec::new();
        loop {
            match self.socket.recv_from_full() {
                Ok((bytes, _)) => routes.extend(announced(&bytes)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(routes),
                Err(error) => return Err(error),
            }
        }
    }
}

/// The route that a datagram announces: the kernel sends one in each.
fn announced(bytes: &[u8]) -> Option<Route> {
    let message = NetlinkMessage::<Request>::deserialize(bytes).ok()?;
    let NetlinkPayload::InnerMessage(Request::NewRoute(message)) = message.payload else {
        return None;
    };
    let (mut network, mut via) = (None, None);
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Destination(RouteAddress::Inet(address)) => network = Some(*address),
            RouteAttribute::Gateway(RouteAddress::Inet(address)) => via = Some(*address),
            _ => {}
        }
    }
    Some(Route {
        network: network?,
        length: message.header.destination_prefix_length,
        via: via?,
    })
}
