//! A forwarder takes the ports of another over, that of another process, while frames pass.
//!
//! The new one has maps and programs of its own, filled and ready, for ports
//! [elsewhere](super::Place::Elsewhere). Then the old one puts the new one's programs in the
//! place of its own ([`Forwarder::give`]), which is one exchange of a pointer for each port: a
//! frame gets the old program with the old tables, or the new one with the new tables. Until the
//! new one holds the links ([`Forwarder::receive`]), the old one can take everything back. Only
//! then does it let go.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bpf::attach::Attachment;
use bpf::map::{Map, MappedArray};

use super::{Forwarder, LinkCount, Port, PortCounts, counters};
use crate::{Error, Result};

/// All that a forwarder has counted of frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// By interface index and core.
    pub ports: PortCounts,
    /// By the interface index of a VLAN sub-interface.
    pub vlans: BTreeMap<u32, LinkCount>,
    /// By the caller's number of the table.
    pub tables: BTreeMap<u32, LinkCount>,
}

impl Forwarder {
    /// The program of each port, by interface index, for who holds the port's link.
    pub fn programs(&self) -> impl Iterator<Item = (u32, BorrowedFd<'_>)> {
        let ports = self.ports.iter().flatten();
        ports.map(|port| (port.ifindex, port.program.as_fd()))
    }

    /// From the next frame on, a port runs the program of another forwarder.
    ///
    /// # Errors
    /// [`Error::NoPort`]; the kernel's, for a program of another kind and where no link is held.
    pub fn give(&self, ifindex: u32, program: &OwnedFd) -> Result<()> {
        Ok(self.port(ifindex)?.attachment.exchange(program)?)
    }

    /// From the next frame on, a port runs its own program again.
    ///
    /// # Errors
    /// As [`Forwarder::give`].
    pub fn take_back(&self, ifindex: u32) -> Result<()> {
        let port = self.port(ifindex)?;
        Ok(port.attachment.exchange(&port.program)?)
    }

    /// A port's attachment is held here from now on, by these copies of its descriptors
    /// ([`Attachment::descriptors`]).
    ///
    /// # Errors
    /// [`Error::NoPort`].
    pub fn receive(&mut self, ifindex: u32, link: OwnedFd, only: Option<OwnedFd>) -> Result<()> {
        self.attachment_mut(ifindex)?.receive(link, only);
        Ok(())
    }

    /// A port's attachment is left to whoever has copies of its descriptors.
    ///
    /// # Errors
    /// [`Error::NoPort`].
    pub fn let_go(&mut self, ifindex: u32) -> Result<()> {
        self.attachment_mut(ifindex)?.let_go();
        Ok(())
    }

    /// All that has been counted, and what had been before.
    pub fn counted(&self) -> Counted {
        Counted {
            ports: self.port_counters(),
            vlans: self.vlan_counts(),
            tables: self.table_counts(),
        }
    }

    /// What each port and CPU has counted since the program was loaded.
    pub fn own_counters(&self) -> PortCounts {
        self.rows(&self.counters, &self.counter_places())
    }

    /// The place of each port among the counters, by interface index.
    pub fn counter_places(&self) -> BTreeMap<u32, usize> {
        let ports = self.ports.iter().enumerate();
        let ports = ports.filter_map(|(number, port)| Some((port.as_ref()?.ifindex, number)));
        ports.collect()
    }

    /// The counters' map. With a copy of it, and the [`Forwarder::counter_places`], another forwarder reads
    /// ([`Forwarder::counters_of`]) what our programs count when this one has gone.
    pub fn counters_map(&self) -> BorrowedFd<'_> {
        self.maps["counters"].as_fd()
    }

    /// What the programs of another forwarder have counted since they were loaded. It has the same
    /// reasons in the same order.
    ///
    /// # Errors
    /// When it is no such map.
    pub fn counters_of(&self, map: OwnedFd, places: &BTreeMap<u32, usize>) -> Result<PortCounts> {
        let map = Map::received(self.maps["counters"].definition().clone(), map);
        let rows = counters::rows(&map)?;
        if let Some((_, &place)) = places.iter().find(|(_, place)| **place >= counters::PORTS) {
            let remedy = format!("at most {}", counters::PORTS - 1);
            return Err(Error::value("place of a port", place, remedy));
        }
        Ok(self.rows(&rows, places))
    }

    fn rows(&self, rows: &MappedArray<u64>, places: &BTreeMap<u32, usize>) -> PortCounts {
        let cpus = 0..self.cpus;
        let all = places.iter().flat_map(|(&ifindex, &place)| {
            let count = move |cpu| counters::port(rows, cpu, place);
            cpus.clone()
                .map(move |cpu| ((ifindex, cpu as u32), count(cpu)))
        });
        all.collect()
    }

    /// What other forwarders have counted of the same ports before ([`Forwarder::count_on`]).
    pub fn counted_before(&self) -> &Counted {
        &self.before
    }

    /// Counts go on from what another forwarder has counted. `strangers` is what had been counted
    /// here when no program of ours ran: what devices refused of the other's frames, which it has
    /// counted too.
    pub fn count_on(&mut self, counted: Counted, strangers: &PortCounts) {
        self.before = counted;
        for (&place, count) in strangers {
            let before = self.before.ports.entry(place).or_default();
            *before = before.since(count);
        }
    }

    fn attachment_mut(&mut self, ifindex: u32) -> Result<&mut Attachment> {
        let number = self.number_of(ifindex)?;
        let port: &mut Option<Port> = &mut self.ports[number];
        let port = port.as_mut().ok_or(Error::NoPort(ifindex))?;
        Ok(&mut port.attachment)
    }
}
