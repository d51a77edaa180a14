//! One flow: two ends and what they tell each other and whoever measures them.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::counts::Counts;
use crate::datagrams::Datagrams;
use crate::error::Error;
use crate::load::{Load, Transfer};
use crate::site::Site;
use crate::tcp::Connection;

/// What moves the payload.
enum Ends {
    Tcp(Connection),
    Datagrams(Datagrams),
}

/// A flow whose sockets are open.
pub(crate) struct Flow {
    number: usize,
    ends: Ends,
    pub(crate) counts: Counts,
}

impl Flow {
    /// Opens the `number`-th of a transfer, counted from 1.
    pub(crate) fn open(site: &Site, transfer: Transfer, number: usize) -> Result<Self, Error> {
        let ends = match transfer.load {
            Load::Tcp => Ends::Tcp(Connection::open(site, number)?),
            Load::Segments | Load::Mix(_) => {
                Ends::Datagrams(Datagrams::open(site, transfer, number)?)
            }
        };
        Ok(Self {
            number,
            ends,
            counts: Counts::default(),
        })
    }

    /// Sends until told to stop.
    pub(crate) fn send(&self, stop: &AtomicBool) -> Result<(), Error> {
        let sent = match &self.ends {
            Ends::Tcp(connection) => connection.send(&self.counts, stop),
            Ends::Datagrams(datagrams) => datagrams.send(&self.counts, stop),
        };
        self.counts.done.store(true, Ordering::Release);
        self.explain("send", sent, stop)
    }

    /// Receives until the other end has stopped.
    pub(crate) fn receive(&self, stop: &AtomicBool) -> Result<(), Error> {
        let received = match &self.ends {
            Ends::Tcp(connection) => connection.receive(&self.counts),
            Ends::Datagrams(datagrams) => datagrams.receive(&self.counts),
        };
        self.explain("receive", received, stop)
    }

    /// An end that was told to stop may fail in any way.
    fn explain(
        &self,
        doing: &'static str,
        result: io::Result<()>,
        stop: &AtomicBool,
    ) -> Result<(), Error> {
        match result {
            Err(source) if !stop.load(Ordering::Relaxed) => Err(Error::Flow {
                flow: self.number,
                doing,
                source,
            }),
            _ => Ok(()),
        }
    }

    /// Ends what waits in the kernel; those who send have been told to stop.
    pub(crate) fn end(&self) {
        if let Ends::Tcp(connection) = &self.ends {
            connection.end();
        }
    }

    /// Segments that TCP has sent again so far.
    pub(crate) fn repeated(&self) -> u64 {
        match &self.ends {
            Ends::Tcp(connection) => connection.repeated(),
            Ends::Datagrams(_) => 0,
        }
    }

    /// Bytes of datagrams that never arrived. What TCP has not delivered is on its way or in
    /// buffers, and none of it lost.
    pub(crate) fn lost(&self) -> u64 {
        match self.ends {
            Ends::Tcp(_) => 0,
            Ends::Datagrams(_) => self
                .counts
                .sent
                .get()
                .saturating_sub(self.counts.arrived.get()),
        }
    }
}
