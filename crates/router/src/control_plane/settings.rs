//! The kernel's settings of the links that frames come in by: several files for each, so a thread
//! reads them ([`Reader`](super::reader::Reader)).
//!
//! The kernel announces some changes ([`Changes`]): upon these, and upon a new link, the thread
//! reads at once. The rest it finds when it reads again.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use fastpath::forward::{Accepts, Flows};
use host::netlink::{Message, ROUTE, Received, Socket, attributes, number};

use super::sysctl;

const RTNLGRP_IPV4_NETCONF: u32 = 24;
const RTNLGRP_IPV6_NETCONF: u32 = 25;
/// Announcements read in one turn at most, in datagrams.
const TURN: usize = 256;
/// Bytes of `struct netconfmsg`, with what fills them up; `NETCONFA_IFINDEX`, and its value for all
/// interfaces.
const NETCONF: usize = 4;
const IFINDEX: u16 = 1;
const ALL: u32 = -1_i32 as u32;

/// A port or a VLAN sub-interface of one.
#[derive(Debug, Clone)]
pub struct Watched {
    /// Name.
    pub name: String,
    /// Interface index.
    pub index: u32,
    /// Is it a port?
    pub is_port: bool,
    /// How many programs the engine has of its own at tc there.
    pub own_at_tc: u32,
    /// Does what the engine sends there pass its queueing discipline, filters and programs?
    pub passes_discipline: bool,
}

/// What the settings of a link say.
#[derive(Debug)]
pub struct Setting {
    /// The link.
    pub link: Watched,
    /// What it accepts.
    pub accepts: Accepts,
    /// The MTU of IPv6 in bytes, where there is IPv6.
    pub mtu6: Option<u32>,
    /// Routers behind it are believed when they name a better one.
    pub believes: bool,
}

/// What all of them say.
#[derive(Debug, Default)]
pub struct Settings {
    /// What makes a flow.
    pub flows: Flows,
    /// What others said of MTUs counts.
    pub uses_path_mtu: bool,
    /// The links that were asked about.
    pub links: Vec<Setting>,
}

impl Settings {
    /// Does the kernel learn ways of IPv4 from others? It announces them to nobody.
    pub fn learns(&self) -> bool {
        self.uses_path_mtu || self.links.iter().any(|setting| setting.believes)
    }

    /// Reads those of these links, in the calling thread's network namespace.
    ///
    /// # Errors
    /// When one is there and cannot be read: then nobody knows what it says.
    pub fn read(links: Vec<Watched>) -> io::Result<Self> {
        let all = sysctl::All::read()?;
        let read = |link: Watched| {
            Ok(Setting {
                accepts: all.accepts(&link.name)?,
                mtu6: sysctl::mtu6(&link.name)?,
                believes: all.believes(&link.name)?,
                link,
            })
        };
        Ok(Self {
            flows: sysctl::flows()?,
            uses_path_mtu: sysctl::uses_path_mtu()?,
            links: links.into_iter().map(read).collect::<io::Result<_>>()?,
        })
    }
}

/// What tells of changes: forwarding and `rp_filter` of an interface or of all.
#[derive(Debug)]
pub struct Changes(Socket);

impl AsFd for Changes {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Changes {
    /// Listens from now on, in the calling thread's network namespace.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn listen() -> io::Result<Self> {
        let groups = [RTNLGRP_IPV4_NETCONF, RTNLGRP_IPV6_NETCONF];
        Ok(Self(Socket::open(ROUTE, &groups)?))
    }

    /// Has one of these interfaces another setting since this was last asked? When announcements
    /// were lost, it may.
    pub fn concern(&mut self, is_watched: impl Fn(u32) -> bool) -> bool {
        let mut concern = false;
        let take = |concern: &mut bool, message: Message<'_>| {
            let index = interface(message.payload);
            *concern |= index.is_some_and(|index| index == ALL || is_watched(index));
        };
        for _ in 0..TURN {
            match self.0.receive(|message| take(&mut concern, message)) {
                Ok(Received::Messages(_)) => {}
                Ok(Received::Overrun) => concern = true,
                Ok(Received::Nothing) | Err(_) => break,
            }
        }
        concern
    }
}

/// Whose settings a message is about.
fn interface(payload: &[u8]) -> Option<u32> {
    let mut attributes = attributes(payload.get(NETCONF..)?);
    let (_, index) = attributes.find(|(kind, _)| *kind == IFINDEX)?;
    Some(number(index))
}
