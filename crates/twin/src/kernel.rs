//! What the kernel of a bed's router is asked directly: no tool waits for its workers, and `ip
//! neigh flush` gives up at a neighbour that goes by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use host::Namespace;
use host::netlink::{Socket, append, attributes, short};

use crate::Error;

/// Bytes of the fixed part of a neighbour in netlink (`struct ndmsg`), and where its state is.
const NEIGHBOUR: usize = 12;
const STATE: usize = 8;
/// The same of addresses and routes, and where a route's type is.
const ADDRESS: usize = 8;
const ROUTE: usize = 12;
const ROUTE_TYPE: usize = 7;
/// The same of links, and where the count of frames that one could not send is in its statistics
/// (`struct rtnl_link_stats64`).
const LINK: usize = 16;
const NOT_SENT: std::ops::Range<usize> = 56..64;
const V6: u8 = libc::AF_INET6 as u8;
const ACKNOWLEDGE: u16 = libc::NLM_F_ACK as u16;
/// The loopback interface's index, in every namespace.
const LOOPBACK: u32 = 1;
/// How long an IPv6 address may take until it is delivered to.
const ADDRESS_PATIENCE: Duration = Duration::from_secs(3);
/// Pause between two looks at it.
const PAUSE: Duration = Duration::from_millis(5);

/// A namespace's kernel.
pub(crate) struct Kernel(Socket);

impl Kernel {
    pub(crate) fn of(namespace: &Namespace) -> Result<Self, Error> {
        let socket = namespace.enter(|| Socket::open(None, &[]))?;
        Ok(Self(socket.map_err(Error::Tool)?))
    }

    /// Waits until the kernel has finished with new IPv6 addresses. It makes the route that
    /// delivers to one in a worker, which takes a while on a busy machine, and joins the anycast
    /// group of its network: an address that goes before takes the membership of another with it.
    /// An address of a link that is down has no route.
    pub(crate) fn await_addresses(&mut self) -> Result<(), Error> {
        let deadline = Instant::now() + ADDRESS_PATIENCE;
        loop {
            let [mut addresses, mut routes] = [BTreeSet::new(), BTreeSet::new()];
            self.dump(V6, libc::RTM_GETADDR, ADDRESS, |message| {
                let found = attributes(&message[ADDRESS..]);
                let found = found.filter(|(kind, _)| *kind == libc::IFA_ADDRESS);
                addresses.extend(found.map(own));
            })?;
            self.dump(V6, libc::RTM_GETROUTE, ROUTE, |message| {
                let found = attributes(&message[ROUTE..]);
                if message[ROUTE_TYPE] == libc::RTN_LOCAL {
                    routes.extend(found.filter(|(kind, _)| *kind == libc::RTA_DST).map(own));
                }
            })?;
            if addresses.is_subset(&routes) || Instant::now() > deadline {
                // The worker has the lock until all that goes with the last one is there.
                let up = libc::IFF_UP as u32;
                let link = [0, LOOPBACK, up, up].map(u32::to_ne_bytes).concat();
                return self.order(libc::RTM_SETLINK, &link);
            }
            thread::sleep(PAUSE);
        }
    }

    /// The states of the neighbours, by interface and address (`NUD_*`).
    pub(crate) fn neighbours(&mut self) -> Result<BTreeMap<Vec<u8>, u16>, Error> {
        let mut found = BTreeMap::new();
        self.dump(0, libc::RTM_GETNEIGH, NEIGHBOUR, |message| {
            if let Some(address) = address(message) {
                found.insert([&message[4..8], address].concat(), short(&message[STATE..]));
            }
        })?;
        Ok(found)
    }

    /// Frames that the interfaces could not send: the other end of a veth had no room.
    pub(crate) fn not_sent(&mut self) -> Result<u64, Error> {
        let mut sum = 0;
        self.dump(0, libc::RTM_GETLINK, LINK, |message| {
            let statistics = attributes(&message[LINK..])
                .find(|(kind, _)| *kind == libc::IFLA_STATS64)
                .and_then(|(_, statistics)| statistics.get(NOT_SENT)?.try_into().ok());
            sum += statistics.map_or(0, u64::from_ne_bytes);
        })?;
        Ok(sum)
    }

    /// Whether a neighbour is in this state. `NUD_INCOMPLETE`: the kernel waits for its answer, and
    /// holds packets for it until it comes or is given up. `NUD_FAILED`: it has been given up.
    pub(crate) fn has_neighbour_in(&mut self, state: u16) -> Result<bool, Error> {
        Ok(self.neighbours()?.values().any(|own| *own == state))
    }

    /// Forgets all neighbours. One that is still in use stays without an answer.
    pub(crate) fn forget_neighbours(&mut self) -> Result<(), Error> {
        let mut found = Vec::new();
        self.dump(0, libc::RTM_GETNEIGH, NEIGHBOUR, |message| {
            if let Some(address) = address(message) {
                let mut one = message[..NEIGHBOUR].to_vec();
                append(&mut one, libc::NDA_DST, address);
                found.push(one);
            }
        })?;
        // It may have gone by itself.
        found
            .iter()
            .try_for_each(|one| self.order(libc::RTM_DELNEIGH, one))
    }

    /// Has the kernel do something, whatever it answers.
    fn order(&mut self, kind: u16, body: &[u8]) -> Result<(), Error> {
        let asked = self.0.ask(kind, ACKNOWLEDGE, body, |_| ());
        asked.map_err(Error::Tool)
    }

    /// Hands everything of a family (0: of all) and kind to `take`; `fixed` are the bytes before
    /// its attributes.
    fn dump(
        &mut self,
        family: u8,
        kind: u16,
        fixed: usize,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        let mut body = vec![0; fixed];
        body[0] = family;
        let dumped = self.0.dump(kind, &body, |message| {
            if message.payload.len() >= fixed {
                take(message.payload);
            }
        });
        dumped.map(|_| ()).map_err(Error::Tool)
    }
}

/// How often the machine's tables of neighbours were full, or swept for room before their time
/// (`forced_gc_runs` and `table_fulls` of each core, hexadecimal). 0 where the kernel does not say.
pub(crate) fn crowding() -> u64 {
    let files = ["arp_cache", "ndisc_cache"].map(|name| format!("/proc/net/stat/{name}"));
    let texts = files
        .iter()
        .filter_map(|file| std::fs::read_to_string(file).ok());
    texts.map(|text| crowding_in(&text)).sum()
}

fn crowding_in(text: &str) -> u64 {
    let mut lines = text.lines();
    let names: Vec<_> = lines
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let counts = lines.flat_map(|line| names.iter().zip(line.split_whitespace()));
    let counts = counts.filter(|(name, _)| ["forced_gc_runs", "table_fulls"].contains(name));
    counts
        .filter_map(|(_, count)| u64::from_str_radix(count, 16).ok())
        .sum()
}

/// A neighbour's address.
fn address(neighbour: &[u8]) -> Option<&[u8]> {
    let mut attributes = attributes(&neighbour[NEIGHBOUR..]);
    let found = attributes.find(|(kind, _)| *kind == libc::NDA_DST);
    found.map(|(_, address)| address)
}

fn own((_, bytes): (u16, &[u8])) -> Vec<u8> {
    bytes.to_vec()
}

#[cfg(test)]
#[path = "../tests/unit/kernel.rs"]
mod tests;
