//! One end of the tester.

use host::{Namespace, bed};

use crate::engine::Macs;
use crate::places::Counters;
use crate::rig::Result;

/// One end of the tester.
#[derive(Debug, Clone)]
pub struct End {
    /// Where the interface is; `None` for the namespace of the process.
    pub namespace: Option<Namespace>,
    /// Its name.
    pub interface: String,
    /// Its index there.
    pub index: u32,
    /// Hardware addresses on both sides of the cable.
    pub macs: Macs,
}

impl End {
    /// An interface in the namespace of the calling thread.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn here(interface: &str, macs: Macs) -> Result<Self, bpf::Error> {
        Ok(Self {
            namespace: None,
            interface: interface.to_owned(),
            index: bpf::attach::index_of(interface)?,
            macs,
        })
    }

    /// The near end of a cable.
    pub(super) fn of_cable(near: &bed::End, far: &bed::End) -> Self {
        Self {
            namespace: Some(near.namespace.clone()),
            interface: near.interface.clone(),
            index: near.index,
            macs: Macs {
                tester: near.mac,
                device: far.mac,
            },
        }
    }

    /// Frames that the interface has sent, as the kernel counts them; `None` where it does not
    /// tell.
    pub(super) fn transmitted(&self) -> Result<Option<u64>> {
        let counters = Counters::read(self.namespace.as_ref(), &self.interface)?;
        Ok(counters.map(|counters| counters.transmitted))
    }

    /// Runs something in the namespace of this end.
    ///
    /// # Errors
    /// The namespace cannot be joined.
    pub fn enter<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R> {
        match &self.namespace {
            Some(namespace) => Ok(namespace.enter(work)?),
            None => Ok(work()),
        }
    }
}
