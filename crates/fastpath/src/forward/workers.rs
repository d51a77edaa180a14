//! Workers in user space that read the same tables as the program.
//!
//! With them, the program forwards nothing: it finds out, by the tables, whether a frame can be
//! forwarded, and gives such a frame, as it is, to the `AF_XDP` socket of its queue. Everything
//! else stays in the kernel under the same reasons as ever: no frame has to be handed back, so none
//! can come back changed, out of order, on another interface, or twice. A frame costs one look-up
//! more for that. Program and workers read the same arrays, so there is no moment at which one
//! knows a route and the other does not.
//!
//! Packet sockets get a copy of every frame, and the kernel would forward its own, too. There the
//! program runs at tc, behind the sockets, and drops the kernel's copy of exactly those frames that
//! the sockets' filter has let through ([`Forwarder::for_copies`]).
//!
//! A queue without a socket, and a port whose worker has died, is the kernel's (reason
//! `no-worker`): the kernel empties a socket's place in the map when the socket closes, however its
//! owner ended.

use std::os::fd::{AsFd, AsRawFd};

use bpf::program::Program;
use fib::organisation::TableReader;

use super::{Capacity, Forwarder, Lookup, Target, Way};
use crate::{Error, Result};

/// `QUEUES` of the C source.
const QUEUES: u32 = 64;

impl Forwarder {
    /// Creates maps and tables for `workers` workers, whose sockets take frames of up to `longest`
    /// bytes; those of several buffers, too, if `scattered`.
    ///
    /// # Errors
    /// As [`Forwarder::new`].
    pub fn for_workers(
        capacity: Capacity,
        workers: usize,
        longest: u16,
        scattered: bool,
    ) -> Result<Self> {
        let target = Target::Sockets { longest, scattered };
        Self::with_readers(target, capacity, workers)
    }

    /// The same for workers behind packet sockets, which get frames of up to `longest` bytes
    /// through [`Forwarder::filter`]: of what they have got, the program at tc drops the
    /// kernel's copy.
    ///
    /// # Errors
    /// As [`Forwarder::new`].
    pub fn for_copies(capacity: Capacity, workers: usize, longest: u16) -> Result<Self> {
        Self::with_readers(Target::Copies { longest }, capacity, workers)
    }

    fn with_readers(target: Target, capacity: Capacity, workers: usize) -> Result<Self> {
        let tables = capacity.tables();
        let mut forwarder = Self::create(Lookup::Own, target, capacity, workers * tables)?;
        forwarder.make_tables(tables);
        Ok(forwarder)
    }

    /// The readers of one more worker, one for each table by its place
    /// ([`Forwarder::table_place`]). Dropping them makes room for another worker's. They do not
    /// count: the program has ([`Forwarder::carried`]). In the entries of next hops, `port` is the
    /// egress's place ([`Forwarder::place`]), and `u32::MAX` for an interface that is no port.
    ///
    /// # Errors
    /// [`Error::Value`] when there are more workers than the forwarder was made for.
    pub fn readers(&self) -> Result<Vec<TableReader>> {
        let reader = |tables: &super::Tables| {
            let refuse = |full| Error::value("number of workers", "one more", format!("{full}"));
            let quiescent = self.domain.reader().map_err(refuse)?;
            let (v4, v6) = (tables.v4.view(0), tables.v6.view(0));
            Ok(TableReader::new(v4, v6, self.next_hops.view(), quiescent))
        };
        self.tables.iter().map(reader).collect()
    }

    /// Where a table (the caller's number) is among the readers; the place is made when the table
    /// is first named. None when there is none left: the table's frames are the kernel's.
    pub fn table_place(&mut self, table: u32) -> Option<u32> {
        self.table(table).map(|place| place as u32)
    }

    /// The place of a port: what `port` says in the entries that workers read.
    ///
    /// # Errors
    /// [`Error::NoPort`].
    pub fn place(&self, ifindex: u32) -> Result<u32> {
        self.number_of(ifindex).map(|number| number as u32)
    }

    /// The filter for the packet sockets of a port: it lets through what can be forwarded.
    ///
    /// # Errors
    /// [`Error::NoPort`].
    pub fn filter(&self, ifindex: u32) -> Result<&Program> {
        let port = self.ports[self.number_of(ifindex)?].as_ref();
        port.map(|port| &port.program).ok_or(Error::NoPort(ifindex))
    }

    /// The way out of a port for bursts of workers; none where the kernel or the device has no such
    /// way.
    pub fn way(&self, ifindex: u32) -> Option<Way> {
        let port = self.ports[self.number_of(ifindex).ok()?].as_ref()?;
        port.way.clone()
    }

    /// Gives the frames of a queue to this socket, which is bound to that queue of the port. It
    /// ends when the socket is closed.
    ///
    /// # Errors
    /// [`Error::NoPort`], [`bpf::Error::Map`]; [`Error::Value`] for a queue above 63.
    pub fn set_socket(&self, ifindex: u32, queue: u32, socket: impl AsFd) -> Result<()> {
        if queue >= QUEUES {
            let remedy = format!("at most {QUEUES} queues: ethtool -L INTERFACE combined {QUEUES}");
            return Err(Error::value("receive queue", queue, remedy));
        }
        let key = self.place(ifindex)? * QUEUES + queue;
        Ok(self.maps["sockets"].set(key, &(socket.as_fd().as_raw_fd() as u32))?)
    }
}
