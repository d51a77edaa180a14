//! The engines inside the kernel: `xdp`, with our own table, `xdp-kernel-fib`, which asks the
//! kernel for every packet, and `tc`, where segments pass whole.
//!
//! All are [`fastpath::forward::Forwarder`] behind the trait; see there for who owns which memory
//! and what it cannot do. Ports are attached when the engine is opened, and again when an interface
//! has come back under another index.

use std::time::{Duration, Instant};

use bpf::attach::{Attachment, Mode, Request, index_of};
use fastpath::forward::{Capacity, Device, Forwarder, Lookup, NotCarried, Place, PuntLimits, Room};

use super::failed::Failed;
use super::{Answers, Change, Counters, Engine, EngineError, EngineKind, Port, PortMode, tables};

/// An engine of programs in the kernel, attached to its ports as long as it lives.
#[derive(Debug)]
pub(super) struct InKernel {
    forwarder: Forwarder,
    kind: EngineKind,
    request: Request,
    /// Index by name, as attached, in their order on the command line.
    ports: Vec<(String, u32)>,
    failed: Failed,
}

impl InKernel {
    /// Attaches to the named ports in the calling thread's network namespace. They forward nothing
    /// until told to.
    ///
    /// # Errors
    /// What stands in the way and what to do: another XDP program, no native mode although
    /// required, a program that this kernel refuses (with the end of its explanation), missing
    /// rights.
    pub(super) fn open(
        kind: EngineKind,
        ports: &[String],
        request: Request,
        capacity: Capacity,
    ) -> Result<Self, EngineError> {
        let lookup = match kind {
            EngineKind::XdpKernelFib => Lookup::Kernel,
            _ => Lookup::Own,
        };
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
        let forwarder = Forwarder::new(lookup, capacity).map_err(failed)?;
        let mut engine = Self {
            forwarder,
            kind,
            request,
            ports: Vec::with_capacity(ports.len()),
            failed: Failed::default(),
        };
        for name in ports {
            let doing = |error| EngineError::new(format!("attaching to port {name}"), error);
            let ifindex = index_of(name).map_err(doing)?;
            engine.attach(name, ifindex)?;
            engine.ports.push((name.clone(), ifindex));
        }
        Ok(engine)
    }

    fn place(&self) -> Place {
        match self.kind {
            EngineKind::Tc => Place::Tc,
            _ => Place::Xdp(self.request),
        }
    }

    fn attach(&mut self, name: &str, ifindex: u32) -> Result<(), EngineError> {
        match self.forwarder.attach_at(name, ifindex, self.place()) {
            Ok(_) => Ok(()),
            Err(error) => Err(EngineError::new(format!("attaching to port {name}"), error)),
        }
    }

    /// Sets a port up. One that cannot be is the kernel's, and is tried again.
    fn port(&mut self, port: &Port) {
        let now = Instant::now();
        if self.failed.waits(port, now) {
            return;
        }
        let Err(error) = self.set_up(port) else {
            self.failed.succeeded(&port.name);
            return;
        };
        self.forwarder.detach(port.ifindex);
        // The kernel will say that an interface is gone.
        if port.is_there() {
            self.failed.add(port, &error, now);
        }
    }

    /// Goes on without a port.
    fn forget(&mut self, name: &str, ifindex: u32) {
        self.failed.forget(name);
        self.ports.retain(|(known, _)| known != name);
        self.forwarder.detach(ifindex);
    }

    fn set_up(&mut self, port: &Port) -> Result<(), EngineError> {
        if !port.settings.enabled && !port.is_there() {
            self.forwarder.detach(port.ifindex);
            return Ok(());
        }
        if self.forwarder.place(port.ifindex).is_err() {
            if !port.settings.enabled {
                return Ok(());
            }
            match self.ports.iter_mut().find(|(name, _)| *name == port.name) {
                Some((_, ifindex)) => {
                    let old = std::mem::replace(ifindex, port.ifindex);
                    self.forwarder.detach(old);
                }
                None => self.ports.push((port.name.clone(), port.ifindex)),
            }
            // Its frames are the kernel's meanwhile, and changes of routes do not wait for it.
            let place = self.place();
            if !self.forwarder.is_loaded(port.ifindex, place) {
                self.failed.load(port);
                return Ok(());
            }
            self.attach(&port.name, port.ifindex)?;
        }
        let done = self.forwarder.set_port(port.ifindex, &port.settings);
        done.map_err(|error| EngineError::new(format!("setting up port {}", port.name), error))
    }
}

impl Engine for InKernel {
    fn name(&self) -> &'static str {
        self.kind.name()
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
                        Mode::Tc => "tc",
                    },
                })
            })
            .collect()
    }

    fn keeps_table(&self) -> bool {
        self.kind != EngineKind::XdpKernelFib
    }

    fn apply(&mut self, changes: &[Change]) -> Result<(), EngineError> {
        let (port, gone) = (Self::port, Self::forget);
        tables::apply_all(self, changes, |this| &mut this.forwarder, port, gone)
    }

    fn programs_at_tc(&self, ifindex: u32) -> u32 {
        let mut attachments = self.forwarder.attachments();
        let is_at_tc = |one: &Attachment| one.ifindex() == ifindex && one.mode() == Mode::Tc;
        attachments.any(is_at_tc).into()
    }

    fn set_device(&mut self, ifindex: u32, device: Device) {
        self.forwarder.set_device(ifindex, device);
    }

    fn hides_tags(&self, ifindex: u32) -> bool {
        self.forwarder.hides_tags(ifindex)
    }

    fn check(&mut self) -> Result<(), EngineError> {
        let _in_the_next_turn = self.forwarder.tend();
        for port in self.failed.due(Instant::now()) {
            self.port(&port);
        }
        self.failed.next_unsaid()
    }

    fn not_carried(&self) -> NotCarried {
        self.forwarder.not_carried()
    }

    fn room(&self) -> Vec<Room> {
        self.forwarder.room().into()
    }

    fn tables_with_room(&self, size: &dyn Fn(u32, bool) -> usize) -> Vec<u32> {
        self.forwarder.tables_with_room(size)
    }

    fn failed_ports(&self) -> Vec<(String, String)> {
        self.failed.list()
    }

    fn vouch(&mut self, bound: Option<Duration>) -> Result<(), EngineError> {
        tables::vouch(&self.forwarder, bound)
    }

    fn set_punt_limits(&mut self, limits: &PuntLimits) {
        self.forwarder.set_punt_limits(limits);
    }

    fn answers(&self) -> &dyn Answers {
        &self.forwarder
    }

    fn counters(&self) -> Result<Counters, EngineError> {
        let ports = self.forwarder.port_counters();
        Ok(Counters {
            reasons: ports.iter().flat_map(tables::reasons).collect(),
            ports,
            vlans: self.forwarder.vlan_counts(),
            tables: self.forwarder.table_counts(),
            next_hops: tables::carried(&self.forwarder).collect(),
        })
    }
}
