//! Devices of our own making in namespaces: the kernel's forwarding between veth pairs, and cables
//! for the self-test.
//!
//! The tester's ends are in one namespace, the device's in another. Neighbours are permanent and
//! routes static, so that nothing is learnt while a trial runs. With two cores or more the device's
//! receive paths run in threads on the last core, apart from the generator's; with one core
//! everything shares it, and the description says so.

use std::sync::atomic::{AtomicU32, Ordering};

use host::bed::{self, Bed, Plan, side};
use host::favour::Rank;
use host::offload::Offload;
use host::{CoreId, Namespace, Veth, napi};

use super::rig::{End, XdpRig};
use crate::addresses;
use crate::engine::Macs;
use crate::rig::RigError;

/// Names of the namespaces.
const TESTER: &str = "tester";
const DEVICE: &str = "device";
/// Benches made by this process: their interfaces' names must differ.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// One port of the device: its side of a veth pair.
#[derive(Debug, Clone)]
pub struct Port {
    /// In [`Device::namespace`].
    pub interface: String,
    /// Its hardware address.
    pub mac: [u8; 6],
}

impl End {
    /// The near end of a cable.
    fn new(near: &bed::End, far: &bed::End) -> Self {
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

    /// Runs something in the namespace of this end.
    ///
    /// # Errors
    /// The namespace cannot be joined.
    pub fn enter<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R, RigError> {
        match &self.namespace {
            Some(namespace) => Ok(namespace.enter(work)?),
            None => Ok(work()),
        }
    }
}

/// A device in a namespace of its own.
#[derive(Debug)]
pub struct Device {
    /// Where it is.
    pub namespace: Namespace,
    /// Its ports.
    pub ports: Vec<Port>,
    /// The core of its receive path, when it has one of its own.
    pub core: Option<CoreId>,
}

/// Namespaces and cables of a test, removed when dropped.
#[derive(Debug)]
pub struct Bench {
    bed: Bed,
    tester: Namespace,
    /// The device.
    pub device: Device,
    ends: Vec<End>,
    wire: Vec<End>,
    generator: CoreId,
    /// Of the device's ports, and of the wire's far end.
    threads: Vec<u32>,
    wire_threads: Vec<u32>,
}

impl Bench {
    /// Makes namespaces, cables, addresses, routes and neighbours for a device with two ports;
    /// `mtu` in bytes. The kernel forwards between them when `forwarding` is set.
    ///
    /// # Errors
    /// Without root, or when the kernel refuses.
    pub fn new(mtu: u16, forwarding: bool) -> Result<Self, RigError> {
        Self::with_ports(2, mtu, forwarding)
    }

    /// As [`Bench::new`], with any even number of ports.
    ///
    /// # Errors
    /// As [`Bench::new`].
    pub fn with_ports(ports: u8, mtu: u16, forwarding: bool) -> Result<Self, RigError> {
        let count_of_ports = ports.next_multiple_of(2).max(2);
        let cores = host::allowed_cores().unwrap_or_else(|_| vec![CoreId(0)]);
        let generator = cores.first().copied().unwrap_or(CoreId(0));
        let other = cores.last().copied().filter(|&core| core != generator);
        let bed = plan(count_of_ports, mtu, forwarding).lay()?;
        let (cables, wires) = bed.cables().split_at(usize::from(count_of_ports));
        let ends = cables.iter().map(|Veth { a, b }| End::new(a, b)).collect();
        let wire: Vec<End> = wires
            .iter()
            .flat_map(|Veth { a, b }| [End::new(a, b), End::new(b, a)])
            .collect();
        let port = |cable: &Veth| Port {
            interface: cable.b.interface.clone(),
            mac: cable.b.mac,
        };
        let device = Device {
            namespace: bed.namespace(DEVICE)?.clone(),
            ports: cables.iter().map(port).collect(),
            core: other,
        };
        let tester = bed.namespace(TESTER)?.clone();
        let threads = device.place();
        let mut wire_threads = Vec::new();
        if let Some(core) = other {
            // The sinks' ends of the wire: their work must not be the generator's in the self-test
            // either.
            for end in wire.iter().skip(1).step_by(2) {
                wire_threads.extend(receive_on(&tester, &end.interface, core));
            }
        }
        Ok(Self {
            bed,
            tester,
            device,
            ends,
            wire,
            generator,
            threads,
            wire_threads,
        })
    }

    /// A rig with the device between its first two ends.
    ///
    /// # Errors
    /// As [`XdpRig::new`].
    pub fn rig(&self, what: &str, seed: u64) -> Result<XdpRig, RigError> {
        let rig = XdpRig::new(pair(&self.ends), self.generator, what, seed)?;
        Ok(rig.watching(&self.threads))
    }

    /// A rig with a cable in the device's place.
    ///
    /// # Errors
    /// As [`XdpRig::new`].
    pub fn wire(&self, seed: u64) -> Result<XdpRig, RigError> {
        let rig = XdpRig::new(pair(&self.wire), self.generator, "a cable (veth)", seed)?;
        Ok(rig.watching(&self.wire_threads))
    }

    /// Sets the device's ports down and up again, and restores the addresses, routes and neighbours
    /// that go with that.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn flap(&self) -> Result<(), RigError> {
        self.bed.flap(DEVICE)?;
        // The threads that worked for the ports ended when these went down.
        self.device.place();
        Ok(())
    }

    /// Gives the device a route to each of the 256 networks that hold more than 192 IPv4
    /// destinations behind a port.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn widen(&mut self) -> Result<(), RigError> {
        let ports = self.device.ports.len() as u8;
        let mut plan = Bed::plan();
        for (number, port) in (0_u8..).zip(&self.device.ports) {
            let (via, interface) = (addresses::tester_v4(number), &port.interface);
            for (network, length) in addresses::wide_networks_v4(number, ports) {
                let line = format!("route replace {network}/{length} via {via} dev {interface}");
                plan = plan.ip(DEVICE, line);
            }
        }
        Ok(self.bed.add(&plan)?)
    }

    /// Gives the device default routes through its second port: for captures, whose destinations
    /// are anywhere.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn route_everything(&mut self) -> Result<(), RigError> {
        let Some(Port { interface, .. }) = self.device.ports.get(1) else {
            return Ok(());
        };
        let (v4, v6) = (addresses::tester_v4(1), addresses::tester_v6(1));
        let default = |via: &dyn std::fmt::Display| {
            format!("route replace default via {via} dev {interface}")
        };
        let plan = Bed::plan()
            .ip(DEVICE, default(&v4))
            .ip(DEVICE, default(&v6));
        Ok(self.bed.add(&plan)?)
    }

    /// Where the tester's ends are.
    pub fn tester(&self) -> &Namespace {
        &self.tester
    }

    /// The tester's ends towards the device.
    pub fn ends(&self) -> &[End] {
        &self.ends
    }

    /// Ends of cables, each joined to its neighbour: what a self-test sends through.
    pub fn cable_ends(&self) -> &[End] {
        &self.wire
    }

    /// Kernel threads that do the device's work.
    pub fn device_threads(&self) -> &[u32] {
        &self.threads
    }

    /// Kernel threads at the far ends of the cables.
    pub fn cable_threads(&self) -> &[u32] {
        &self.wire_threads
    }

    /// The core that frames are made on.
    pub fn generator_core(&self) -> CoreId {
        self.generator
    }

    /// Which core does what, in words.
    pub fn cores(&self) -> String {
        match self.device.core {
            Some(core) => format!(
                "generator on core {}, device and sink on core {core}",
                self.generator
            ),
            None => format!("generator, device and sink share core {}", self.generator),
        }
    }
}

/// The first two of the ends, of which there are always as many.
fn pair(ends: &[End]) -> &[End; 2] {
    ends.first_chunk()
        .unwrap_or_else(|| unreachable!("a bench has two ports at least"))
}

impl Device {
    /// Has the ports' work done on the device's core. Returns the threads that do so.
    fn place(&self) -> Vec<u32> {
        let ports = self.ports.iter().map(|port| port.interface.as_str());
        let core = self.core.iter();
        core.flat_map(|&core| {
            ports
                .clone()
                .flat_map(move |port| receive_on(&self.namespace, port, core))
        })
        .collect()
    }
}

/// Has an interface's work done in threads on `core` that ordinary work does not keep waiting: a
/// thread that loses its core for a tick of the scheduler, 4 ms, overflows a veth's ring of 256
/// frames from 64 000 frames/s on. Without threaded NAPI there are none, and the sender's core does
/// the work.
fn receive_on(namespace: &Namespace, interface: &str, core: CoreId) -> Vec<u32> {
    napi::to_core(namespace, interface, core, Rank::Favoured, true).unwrap_or_default()
}

/// The device between as many cables as it has ports, and half as many cables without one. Kernel
/// threads are found by the interface's name, so each is the only one of this name on the machine.
fn plan(ports: u8, mtu: u16, forwarding: bool) -> Plan {
    let mark = std::process::id() & 0xFFFF;
    let count = COUNT.fetch_add(1, Ordering::Relaxed) & 0xF;
    let name = |kind: &str, port: u8| format!("{kind}{port}{mark:04x}{count:x}");
    let mut plan = Bed::plan().mtu(mtu.into());
    if forwarding {
        plan = plan.forwarding(DEVICE);
    }
    for port in 0..ports {
        let (v4, v6) = (addresses::tester_v4(port), addresses::tester_v6(port));
        let mut end = side(DEVICE, &name("d", port))
            .address(format!("{}/24", addresses::device_v4(port)))
            .address(format!("{}/64", addresses::device_v6(port)))
            .neighbour(v4)
            .neighbour(v6)
            // So that the port takes redirected frames.
            .switch(Offload::GenericReceive, true);
        for (network, length) in addresses::behind_v4(port, ports) {
            end = end.route(format!("{network}/{length}"), v4);
        }
        let (network, length) = addresses::behind_v6(port);
        end = end.route(format!("{network}/{length}"), v6);
        plan = plan.cable(side(TESTER, &name("t", port)), end);
    }
    for port in (0..ports).step_by(2) {
        let [near, far] = [port, port + 1].map(|port| side(TESTER, &name("w", port)));
        plan = plan.cable(near, far);
    }
    plan
}
