//! The user plane in user space: every frame comes up through a packet socket, is checked, looked
//! up and rewritten by our own worker, and goes down again.

use std::io;
use std::net::Ipv4Addr;

use engines::engine::plain_sockets::PlainSockets;
use fib::next_hop::{Kind, NextHopEntry};
use fib::organisation::{Change, Options, Organisation, Shared};
use fib::{NextHop, Prefix};

use crate::protocol::{Interface, Route};

/// A worker between two interfaces, and its routes.
pub struct Passthrough {
    engine: PlainSockets,
    tables: Shared,
    neighbours: Vec<(Ipv4Addr, NextHop)>,
}

impl Passthrough {
    /// Starts one worker between `interfaces`, with their indices in the same order. It runs on the
    /// first core that the process may use.
    ///
    /// # Errors
    /// Memory, interfaces or cores that cannot be had.
    pub fn start(interfaces: &[(Interface, u32)]) -> io::Result<Self> {
        let tables = Shared::new(&Options::for_workers(1)).map_err(io::Error::other)?;
        let mut neighbours = Vec::new();
        let mut changes = Vec::new();
        for (number, (interface, index)) in (1..).zip(interfaces) {
            let next_hop = NextHop(number);
            let entry = NextHopEntry {
                kind: Kind::Adjacency,
                mtu: u16::try_from(interface.mtu).unwrap_or(u16::MAX),
                port: *index,
                destination_mac: interface.neighbour_mac,
                source_mac: interface.mac,
                ..NextHopEntry::default()
            };
            changes.push(Change::NextHop(next_hop, entry));
            changes.push(route(interface.neighbour, 32, next_hop)?);
            neighbours.push((interface.neighbour, next_hop));
        }
        tables.apply(&changes).map_err(io::Error::other)?;
        let names: Vec<&str> = interfaces.iter().map(|(i, _)| i.name.as_str()).collect();
        let cores = host::allowed_cores()?;
        let core = cores.first().ok_or(io::ErrorKind::NotFound)?;
        let engine = PlainSockets::start(&tables, &names, &[*core]).map_err(io::Error::other)?;
        Ok(Self {
            engine,
            tables,
            neighbours,
        })
    }

    /// Adds or replaces routes; returns how many were refused because their next hop is no
    /// neighbour of ours, or the table is full.
    pub fn take(&self, routes: &[Route]) -> usize {
        let changes: Vec<Change> = routes
            .iter()
            .filter_map(|route| self.change(route))
            .collect();
        let refused = routes.len() - changes.len();
        match self.tables.apply(&changes) {
            Ok(()) => refused,
            Err(error) => refused + changes.len() - error.applied,
        }
    }

    /// Frames in and out so far.
    pub fn counts(&self) -> (u64, u64) {
        let ports = self.engine.counts();
        ports.iter().fold((0, 0), |(received, sent), port| {
            (received + port.received, sent + port.forwarded)
        })
    }

    fn change(&self, of: &Route) -> Option<Change> {
        let (_, next_hop) = self
            .neighbours
            .iter()
            .find(|(address, _)| *address == of.via)?;
        route(of.network, of.length, *next_hop).ok()
    }
}

fn route(network: Ipv4Addr, length: u8, next_hop: NextHop) -> io::Result<Change> {
    let prefix = Prefix::new(u32::from(network), length).map_err(io::Error::other)?;
    Ok(Change::V4(prefix, next_hop))
}
