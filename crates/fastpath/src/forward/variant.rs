//! A port's program in other variants, so that a bench can tell what its steps cost. No router uses
//! this.
//!
//! The variants share the port's maps: the same tables at the same places in memory, and the same
//! counters. Where they lie would else be a difference of its own.

use bpf::program::Program;

use super::{Forwarder, Port};
use crate::{Error, Result};

impl Forwarder {
    /// Loads for a port at XDP what `object` has in the place of the forwarder's program.
    ///
    /// # Errors
    /// [`Error::NoPort`]; the loader's, for an object that is not compiled from the same source.
    pub fn variant(&self, ifindex: u32, object: &[u8]) -> Result<Program> {
        let number = self.number_of(ifindex)?;
        let port = self.port(ifindex)?;
        let load = self.load_as(number, port);
        Ok(load
            .loader(object, &self.maps)?
            .load()?
            .program("forward")?)
    }

    /// The program that a port was attached with.
    ///
    /// # Errors
    /// [`Error::NoPort`].
    pub fn shipped(&self, ifindex: u32) -> Result<Program> {
        Ok(self.port(ifindex)?.program.clone())
    }

    /// The program by which a port shows frames now.
    ///
    /// # Errors
    /// [`Error::NoPort`], for one that shows none.
    pub fn showing(&self, ifindex: u32) -> Result<Program> {
        let shows = self.shows.as_ref();
        let program = shows.and_then(|shows| shows.program(ifindex));
        program.cloned().ok_or(Error::NoPort(ifindex))
    }

    /// Has a port run this program from the next frame on.
    ///
    /// # Errors
    /// [`Error::NoPort`]; the kernel's, for a program of another kind.
    pub fn exchange(&self, ifindex: u32, program: &Program) -> Result<()> {
        Ok(self.port(ifindex)?.attachment.exchange(program)?)
    }

    /// Attaches what listens at the kernel's tracepoints, as it does from the start, or takes it away.
    /// It runs for every burst that anybody on the machine redirects. Without it nobody counts the
    /// frames that devices refuse, and no worker may send.
    ///
    /// # Errors
    /// When the kernel does not attach it again.
    pub fn listen(&self, listen: bool) -> Result<()> {
        if let Some(refusals) = &self.refusals {
            refusals.listen(listen)?;
        }
        if let Some(sends) = &self.sends {
            sends.listen(listen)?;
        }
        Ok(())
    }

    /// Whether this kernel tells of frames that devices refuse.
    pub fn is_told_of_refusals(&self) -> bool {
        self.refusals.is_some()
    }

    pub(super) fn port(&self, ifindex: u32) -> Result<&Port> {
        let port = self.ports[self.number_of(ifindex)?].as_ref();
        port.ok_or(Error::NoPort(ifindex))
    }
}
