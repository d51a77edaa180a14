//! The engines inside the kernel: `xdp`, with our own table, `xdp-kernel-fib`, which asks the
//! kernel for every packet, `tc`, where segments pass whole, and `auto`, where each port's program
//! is where it is fastest.
//!
//! All are [`fastpath::forward::Forwarder`] behind the trait; see there for who owns which memory
//! and what it cannot do. Ports are attached when the engine is opened, and again when an interface
//! has come back under another index.

use std::collections::BTreeMap;
use std::time::Instant;

use bpf::attach::{Attachment, Mode, Request};
use fastpath::forward::{Capacity, Device, Forwarder, Lookup, Place, Suits};

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
    /// What the devices were like when places were chosen, by index; only where they are.
    suits: BTreeMap<u32, Suits>,
    /// By index, as last told.
    told: BTreeMap<u32, Port>,
    failed: Failed,
}

impl InKernel {
    /// Attaches to the named ports in the calling thread's network namespace, to `all` or to those
    /// that it can. They forward nothing until told to.
    ///
    /// # Errors
    /// What stands in the way and what to do: another XDP program, no native mode although
    /// required, a program that this kernel refuses (with the end of its explanation), missing
    /// rights.
    pub(super) fn open(
        kind: EngineKind,
        ports: &[String],
        request: Request,
        all: bool,
        capacity: Capacity,
    ) -> Result<Self, EngineError> {
        let mut engine = Self::empty(kind, request, capacity)?;
        let mut failed = Failed::default();
        failed.start(ports, all, |name, ifindex| {
            let place = engine.place(ifindex);
            let attached = engine.forwarder.attach_at(name, ifindex, place).map(drop);
            engine.attached(name, ifindex, attached)?;
            engine.ports.push((name.to_owned(), ifindex));
            Ok(())
        })?;
        engine.failed = failed;
        Ok(engine)
    }

    /// The same for ports that another process is attached to, in these modes: its links come later.
    ///
    /// # Errors
    /// As above.
    pub(super) fn open_elsewhere(
        kind: EngineKind,
        ports: &[(String, u32, Mode)],
        request: Request,
        capacity: Capacity,
    ) -> Result<Self, EngineError> {
        let mut engine = Self::empty(kind, request, capacity)?;
        for (name, ifindex, mode) in ports {
            let place = Place::Elsewhere(*mode);
            let attached = engine.forwarder.attach_at(name, *ifindex, place).map(drop);
            engine.attached(name, *ifindex, attached)?;
            engine.ports.push((name.clone(), *ifindex));
        }
        Ok(engine)
    }

    fn empty(kind: EngineKind, request: Request, capacity: Capacity) -> Result<Self, EngineError> {
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
        Ok(Self {
            forwarder,
            kind,
            request,
            ports: Vec::new(),
            suits: BTreeMap::new(),
            told: BTreeMap::new(),
            failed: Failed::default(),
        })
    }

    /// Where the program of a port goes: chosen once, until its device is another.
    fn place(&self, ifindex: u32) -> Place {
        match (self.kind, self.request) {
            (EngineKind::Tc, _) => Place::Tc,
            (EngineKind::Auto, Request::Any) => Place::Suiting(self.suits.get(&ifindex).copied()),
            (_, request) => Place::Xdp(request),
        }
    }

    /// A port is attached, or cannot be.
    fn attached(
        &mut self,
        name: &str,
        ifindex: u32,
        outcome: fastpath::Result<()>,
    ) -> Result<(), EngineError> {
        let doing = |error| EngineError::new(format!("attaching to port {name}"), error);
        outcome.map_err(doing)?;
        if let (Place::Suiting(None), Some(device)) =
            (self.place(ifindex), self.forwarder.device(ifindex))
        {
            self.suits.insert(ifindex, device.suits);
        }
        Ok(())
    }

    /// How a port is attached, and why, where that was chosen.
    fn mode(&self, attachment: &Attachment) -> &'static str {
        match (attachment.mode(), self.suits.get(&attachment.ifindex())) {
            (Mode::Native, _) => "native",
            (Mode::Generic, _) => "generic",
            (Mode::Tc, None) => "tc",
            (Mode::Tc, Some(Suits::Software)) => "tc,software-device",
            (Mode::Tc, Some(Suits::Host)) => "tc,virtio-offloads",
            (Mode::Tc, Some(Suits::Native | Suits::NoNative)) => "tc,no-native-xdp",
        }
    }

    /// Sets a port up. One that cannot be is the kernel's, and is tried again.
    fn port(&mut self, port: &Port) {
        self.told.insert(port.ifindex, port.clone());
        let now = Instant::now();
        if self.failed.waits(port, now) {
            return;
        }
        let Err(error) = self.set_up(port) else {
            self.failed.succeeded(port);
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
        self.suits.remove(&ifindex);
        self.told.remove(&ifindex);
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
                Some((_, ifindex)) if *ifindex != port.ifindex => {
                    let old = std::mem::replace(ifindex, port.ifindex);
                    self.forwarder.detach(old);
                    self.suits.remove(&old);
                    self.told.remove(&old);
                }
                Some(_) => {}
                None => self.ports.push((port.name.clone(), port.ifindex)),
            }
            // Its frames are the kernel's meanwhile, and changes of routes do not wait for it.
            let place = self.place(port.ifindex);
            let attached = self.forwarder.attach_soon(&port.name, port.ifindex, place);
            let Some(attached) = attached.map(|attached| attached.map(drop)) else {
                self.failed.comes(port);
                return Ok(());
            };
            self.attached(&port.name, port.ifindex, attached)?;
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
                    mode: self.mode(attachment),
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
        let mut attached = self.forwarder.attachments();
        let attached = attached.find(|one| one.ifindex() == ifindex);
        let at_tc = match (attached, self.place(ifindex)) {
            (Some(attached), _) => attached.mode() == Mode::Tc,
            // In a moment, perhaps.
            (None, Place::Suiting(suits)) => suits.is_none_or(|suits| suits.place() == Place::Tc),
            (None, place) => place == Place::Tc,
        };
        at_tc.into()
    }

    fn passes_disciplines(&self) -> bool {
        let mut ports = self.ports.iter();
        ports.all(|(_, ifindex)| self.programs_at_tc(*ifindex) > 0)
    }

    fn set_device(&mut self, ifindex: u32, device: Device) {
        self.forwarder.set_device(ifindex, device);
        let chosen = self.suits.get_mut(&ifindex);
        let Some(before) = chosen.map(|suits| std::mem::replace(suits, device.suits)) else {
            return;
        };
        let place = device.suits.place();
        if let Some(port) = self.told.get(&ifindex).filter(|_| before.place() != place) {
            // Its frames are the kernel's until it is attached at the other place.
            let doing = format!("port {}", port.name);
            let why = format!("its device has changed: it moves to {place}");
            self.failed.say(EngineError::new(doing, why));
            self.failed.comes(port);
            self.forwarder.detach(ifindex);
        }
    }

    fn forwarder(&self) -> Option<&Forwarder> {
        Some(&self.forwarder)
    }

    fn forwarder_mut(&mut self) -> Option<&mut Forwarder> {
        Some(&mut self.forwarder)
    }

    fn check(&mut self) -> Result<(), EngineError> {
        let _in_the_next_turn = self.forwarder.tend();
        for port in self.failed.due(Instant::now()) {
            self.port(&port);
        }
        self.failed.next_unsaid()
    }

    fn failed_ports(&self) -> Vec<(String, String)> {
        self.failed.list()
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
        })
    }
}
