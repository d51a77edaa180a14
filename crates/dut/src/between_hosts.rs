//! Devices between two hosts that transfer over the kernel's own sockets.
//!
//! Here the router has its control plane, for programs' packets need more of it than a bench's:
//! neighbours, local addresses, ports as the kernel has them. It follows the kernel's own routes,
//! one to each host.

use std::time::Duration;

use fastpath::forward::Capacity;
use host::CoreId;
use router::control_plane::follower::Follower;
use router::engine::{self, EngineKind, Require, SocketOptions};
use transfer::site::PORTS;
use transfer::{Carried, Offloads, Site, Transfer};

use crate::error::Error;
use crate::kind::Kind;

/// Something that forwards between the hosts.
pub struct BetweenHosts {
    /// Dropped before the interfaces that its engine is attached to.
    router: Option<Follower>,
    site: Site,
    cores: Vec<CoreId>,
}

/// What a transfer gave, and who forwarded it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// What arrived, and at which cost.
    pub carried: Carried,
    /// Share of what came to the router's ports that its engine forwarded; the kernel forwarded the
    /// rest. `None` for Linux alone, and where nothing came.
    pub by_engine: Option<f64>,
}

impl BetweenHosts {
    /// Lays hosts and cables of `mtu` bytes and opens what is to forward between them, by a thread
    /// that may use `cores` alone. Senders and receivers share these.
    ///
    /// # Errors
    /// Without root, for a kind that knows no network, or when the kernel or the engine refuses.
    pub fn open(kind: Kind, mtu: u16, offloads: Offloads, cores: &[CoreId]) -> Result<Self, Error> {
        let site = Site::lay(kind.engine(), mtu, offloads)?;
        let router = match kind {
            Kind::Memory(_) => return Err("memory ports carry nothing between hosts".into()),
            Kind::Kernel => None,
            Kind::Router(kind) => Some(start(kind, &site, cores)?),
        };
        let opened = Self {
            router,
            site,
            cores: cores.to_vec(),
        };
        opened.listen(false)?;
        Ok(opened)
    }

    /// Transfers for `warm_up`, then for `duration`, which alone counts.
    ///
    /// # Errors
    /// As [`transfer::carry()`]; the engine has failed; a signal came.
    pub fn carry(
        &mut self,
        transfer: Transfer,
        warm_up: Duration,
        duration: Duration,
    ) -> Result<Sample, Error> {
        if let Some(router) = &mut self.router {
            self.site.router().enter(|| router.follow())?;
        }
        let before = self.counts()?;
        self.listen(true)?;
        let carried = transfer::carry(&self.site, &self.cores, transfer, warm_up, duration);
        self.listen(false)?;
        let carried = carried?;
        let after = self.counts()?;
        if let Some(router) = &mut self.router {
            router.check_engine()?;
        }
        let [received, forwarded] = [0, 1].map(|at| after[at].saturating_sub(before[at]));
        let by_engine = (received > 0).then(|| forwarded as f64 / received as f64);
        Ok(Sample { carried, by_engine })
    }

    /// As [`crate::router::listen`].
    fn listen(&self, listen: bool) -> Result<(), Error> {
        let router = self.router.as_ref();
        router.map_or(Ok(()), |router| {
            crate::router::listen(router.engine(), listen)
        })
    }

    /// What has come to the router's ports, and what of it its engine has forwarded.
    fn counts(&self) -> Result<[u64; 2], Error> {
        let Some(router) = &self.router else {
            return Ok([0; 2]);
        };
        let counters = router.engine().counters()?;
        let sum = |of: fn(&fastpath::forward::PortCount) -> u64| counters.ports.values().map(of);
        Ok([
            sum(|port| port.received).sum(),
            sum(|port| port.forwarded).sum(),
        ])
    }
}

/// Opens an engine as `corelane run` does, and has it filled from the kernel's tables.
fn start(kind: EngineKind, site: &Site, cores: &[CoreId]) -> Result<Follower, Error> {
    let ports = PORTS.map(str::to_owned);
    site.router().enter(|| {
        host::cores::bind(0, cores)?;
        let engine = engine::open(
            kind,
            &ports,
            Require::Any,
            SocketOptions::default(),
            Capacity::default(),
            true,
        )?;
        Ok(Follower::start(&ports, engine)?)
    })?
}

#[cfg(test)]
#[path = "../tests/unit/between_hosts.rs"]
mod tests;
