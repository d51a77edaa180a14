//! The engines inside the kernel: `xdp`, with our own table, and `xdp-kernel-fib`, which asks the
//! kernel for every packet.
//!
//! Both are [`fastpath::forward::Forwarder`] behind the trait; see there for who owns which memory
//! and what it cannot do. Ports are attached when the engine is opened, and again when an interface
//! has come back under another index.

use std::time::Duration;

use bpf::attach::{Mode, Request};
use fastpath::forward::{Capacity, Forwarder, Lookup};

use super::{Answers, Change, Counters, Engine, EngineError, Port, PortMode, tables};

/// An engine of XDP programs, attached to its ports as long as it lives.
#[derive(Debug)]
pub(super) struct Xdp {
    forwarder: Forwarder,
    lookup: Lookup,
    request: Request,
    /// Index by name, as attached, in their order on the command line.
    ports: Vec<(String, u32)>,
}

impl Xdp {
    /// Attaches to the named ports in the calling thread's network namespace. They forward nothing
    /// until told to.
    ///
    /// # Errors
    /// What stands in the way and what to do: another XDP program, no native mode although
    /// required, a program that this kernel refuses (with the end of its explanation), missing
    /// rights.
    pub(super) fn open(
        lookup: Lookup,
        ports: &[String],
        request: Request,
    ) -> Result<Self, EngineError> {
        let failed = |error| match (lookup, &error) {
            (Lookup::Own, fastpath::Error::Bpf(bpf::Error::CreateMap { error: cause, .. }))
                if cause.kind() != std::io::ErrorKind::PermissionDenied =>
            {
                EngineError::new(
                    "starting the engine",
                    format!(
                        "{error}; --engine xdp-kernel-fib keeps no table and needs no such memory"
                    ),
                )
            }
            _ => EngineError::new("starting the engine", error),
        };
        let forwarder = Forwarder::new(lookup, Capacity::default()).map_err(failed)?;
        let mut engine = Self {
            forwarder,
            lookup,
            request,
            ports: Vec::with_capacity(ports.len()),
        };
        for name in ports {
            let ifindex = engine.attach(name)?;
            engine.ports.push((name.clone(), ifindex));
        }
        Ok(engine)
    }

    fn attach(&mut self, name: &str) -> Result<u32, EngineError> {
        self.forwarder
            .attach(name, self.request)
            .map(bpf::attach::Attachment::ifindex)
            .map_err(|error| EngineError::new(format!("attaching to port {name}"), error))
    }

    fn port(&mut self, port: &Port) -> Result<(), EngineError> {
        let known = self.ports.iter().position(|(name, _)| *name == port.name);
        let attached = known.map(|at| self.ports[at].1);
        if attached != Some(port.ifindex) {
            if let Some(old) = attached {
                self.forwarder.detach(old);
            }
            if !port.settings.enabled {
                return Ok(());
            }
            let ifindex = self.attach(&port.name)?;
            match known {
                Some(at) => self.ports[at].1 = ifindex,
                None => self.ports.push((port.name.clone(), ifindex)),
            }
        }
        let doing = || format!("setting up port {}", port.name);
        self.forwarder
            .set_port(port.ifindex, &port.settings)
            .and_then(|()| self.forwarder.refresh_ports())
            .map_err(|error| EngineError::new(doing(), error))
    }
}

impl Engine for Xdp {
    fn name(&self) -> &'static str {
        match self.lookup {
            Lookup::Own => "xdp",
            Lookup::Kernel => "xdp-kernel-fib",
        }
    }

    fn modes(&self) -> Vec<PortMode> {
        self.ports
            .iter()
            .filter_map(|(name, ifindex)| {
                let attachment = self
                    .forwarder
                    .attachments()
                    .find(|attachment| attachment.ifindex() == *ifindex)?;
                Some(PortMode {
                    port: name.clone(),
                    mode: match attachment.mode() {
                        Mode::Native => "native",
                        Mode::Generic => "generic",
                    },
                })
            })
            .collect()
    }

    fn keeps_table(&self) -> bool {
        self.lookup == Lookup::Own
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), EngineError> {
        tables::apply_all(self, changes, |this| &mut this.forwarder, Self::port)
    }

    fn vouch(&mut self, bound: Option<Duration>) -> Result<(), EngineError> {
        tables::vouch(&self.forwarder, bound)
    }

    fn answers(&self) -> &dyn Answers {
        &self.forwarder
    }

    fn counters(&self) -> Result<Counters, EngineError> {
        let ports = self.forwarder.port_counters();
        Ok(Counters {
            reasons: ports.iter().flat_map(tables::reasons).collect(),
            ports,
            next_hops: tables::carried(&self.forwarder).collect(),
        })
    }
}
