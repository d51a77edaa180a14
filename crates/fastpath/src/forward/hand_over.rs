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

use super::{Forwarder, LinkCount, Port, PortCounts};
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
